//! One open connection, and the sending of a request over it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::rt::{Read, Write};
use hyper_util::rt::{TokioExecutor, TokioIo};
use servemark_core::{Arrival, ArrivalClock, Connection, MonotonicClock, Recorder, Stamp};

use crate::dial::{Stream, dial};
use crate::error::ClientError;
use crate::failure;
use crate::stamp_io::Wire;
use crate::target::{HttpVersion, Target};

/// A request whose body is in memory: what is sent was encoded before it was due.
pub(crate) type WholeRequest = Request<Full<Bytes>>;

/// An open connection. A task of the runtime drives it until it is closed or dropped.
#[derive(Debug)]
pub(crate) struct Link {
    sender: Sender,
    wire: Arc<Wire>,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Sending {
    /// The head of an answer is here.
    Answered(Response<Incoming>),
    /// The connection turned out to be closed and nothing was written; here is the request.
    NeverLeft(Box<WholeRequest>, hyper::Error),
    /// The connection was lost after the request, or a part of it, had left.
    Lost(hyper::Error),
}

impl Link {
    /// Opens a connection and says what it cost.
    pub(crate) async fn open(
        target: &Target,
        clock: MonotonicClock,
    ) -> Result<(Self, Connection), ClientError> {
        let dialed = dial(target, clock).await?;
        let sender = match dialed.stream {
            Stream::Plain(io) => Sender::greet(TokioIo::new(io), target.http_version()).await,
            Stream::Tls(io) => Sender::greet(TokioIo::new(io), target.http_version()).await,
        };
        let sender = sender.map_err(|error| failure::before_head(target.base_url(), error))?;
        Ok((Self { sender, wire: dialed.wire }, dialed.cost))
    }

    /// Sends a request, which is handed over at `now`, and waits for the head of its answer.
    ///
    /// The departure is told when this future is over, however it is over. If it is dropped, an
    /// HTTP/1.1 connection is closed and an HTTP/2 stream is reset.
    pub(crate) async fn send(
        &mut self,
        request: WholeRequest,
        now: Stamp,
        observer: &mut impl Departure,
    ) -> Sending {
        let outcome = match &mut self.sender {
            Sender::Http1(sender) => {
                self.wire.arm();
                let _leaving = Leaving { wire: &self.wire, observer };
                sender.try_send_request(request).await
            }
            // Streams share the connection, so its writes are nobody's own; the hand-over is.
            Sender::Http2(sender) => {
                observer.sent(now);
                sender.try_send_request(request).await
            }
        };
        outcome.map_or_else(unsent, Sending::Answered)
    }

    /// When the last bytes arrived.
    pub(crate) fn last_read(&self) -> Arrival {
        self.wire.last_read()
    }

    /// By whose clock that is known.
    pub(crate) fn arrival_clock(&self) -> ArrivalClock {
        match &self.sender {
            _ if !self.wire.is_stamped() => ArrivalClock::User,
            Sender::Http1(_) => ArrivalClock::Kernel,
            Sender::Http2(_) => ArrivalClock::KernelBound,
        }
    }

    /// Whether it is known to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Waits until another request can be sent; `false` if there can be none.
    pub(crate) async fn is_free(&mut self) -> bool {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await.is_ok(),
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    /// The same connection for another stream; HTTP/1.1 has none to share.
    pub(crate) fn share(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => {
                Some(Self { sender: Sender::Http2(sender.clone()), wire: Arc::clone(&self.wire) })
            }
        }
    }
}

impl Sender {
    /// Agrees with the server on the protocol and leaves the connection to a task.
    async fn greet<I>(io: I, version: HttpVersion) -> hyper::Result<Self>
    where
        I: Read + Write + Unpin + Send + 'static,
    {
        match version {
            HttpVersion::Http1 => {
                let (sender, connection) = http1::Builder::new().handshake(io).await?;
                tokio::spawn(drive(connection));
                Ok(Self::Http1(sender))
            }
            HttpVersion::Http2 => {
                let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                    .initial_stream_window_size(STREAM_WINDOW)
                    .initial_connection_window_size(CONNECTION_WINDOW)
                    .handshake(io)
                    .await?;
                tokio::spawn(drive(connection));
                Ok(Self::Http2(sender))
            }
        }
    }
}

/// A connection's error reaches its requests too, so here it is only worth a line in a trace.
async fn drive(connection: impl Future<Output = hyper::Result<()>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection ended");
    }
}

fn unsent(mut error: TrySendError<WholeRequest>) -> Sending {
    match error.take_message() {
        Some(request) => Sending::NeverLeft(Box::new(request), error.into_error()),
        None => Sending::Lost(error.into_error()),
    }
}

/// Who is told how a request gets on its way.
pub(crate) trait Departure {
    /// A connection was had.
    fn connected(&mut self, cost: Connection);
    /// The request's first byte went out.
    fn sent(&mut self, at: Stamp);
}

impl Departure for Recorder {
    fn connected(&mut self, cost: Connection) {
        Self::connected(self, cost);
    }

    fn sent(&mut self, at: Stamp) {
        Self::sent(self, at);
    }
}

/// Nobody is told: the call is not measured.
#[derive(Debug)]
pub(crate) struct Unobserved;

impl Departure for Unobserved {
    fn connected(&mut self, _cost: Connection) {}
    fn sent(&mut self, _at: Stamp) {}
}

/// Tells the departure when it is dropped, so that a request that timed out, failed or was
/// abandoned has one too.
struct Leaving<'a, D: Departure> {
    wire: &'a Wire,
    observer: &'a mut D,
}

impl<D: Departure> Drop for Leaving<'_, D> {
    fn drop(&mut self) {
        if let Some(at) = self.wire.first_write() {
            self.observer.sent(at);
        }
    }
}

/// Windows so wide that flow control never throttles the server under test: the protocol's default
/// of 64 KiB for all streams together would.
const STREAM_WINDOW: u32 = 16 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;
