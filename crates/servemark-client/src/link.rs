//! One open connection, and the sending of a request over it.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use servemark_core::{
    Arrival, ArrivalClock, Clock, Connection, MonotonicClock, Recorder, SocketFacts, Stamp,
    Unprocessed,
};
use servemark_http1::Head;

use crate::dial::dial;
use crate::direct::{Direct, Encoded, Progress};
use crate::error::ClientError;
use crate::failure::Lost;
use crate::precise::PreciseSender;
use crate::reuse::KeptLife;
use crate::stamp_io::Wire;
use crate::stream::{Probe, Stream};
use crate::target::{Http1Stack, HttpVersion, Target};

/// A request whose body is in memory: what is sent was encoded before it was due.
#[derive(Debug)]
pub(crate) enum WholeRequest {
    Direct(Encoded),
    Hyper(Box<HyperRequest>),
}

pub(crate) type HyperRequest = Request<Full<Bytes>>;

/// An open connection. One of hyper's is driven by a task of the runtime until it is closed or
/// dropped.
#[derive(Debug)]
pub(crate) struct Link {
    sender: Sender,
    wire: Arc<Wire>,
    opened: Stamp,
    /// When its last answer was over, if it carried any.
    freed: Option<Stamp>,
}

#[derive(Debug)]
enum Sender {
    Direct(Box<Direct>),
    /// hyper owns the stream and looks at it when its task runs; the probe looks at once.
    Http1(http1::SendRequest<Full<Bytes>>, Probe),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Sending {
    /// The head of an answer is here.
    Answered(Answered),
    /// The connection turned out to be closed and nothing was written.
    NeverLeft(Lost),
    /// The connection was lost after the request, or a part of it, had left.
    Lost(Lost),
}

/// The head of an answer, and its body if that is not the connection's own to read.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Incoming>,
}

impl Link {
    /// Opens a connection and says what it cost.
    pub(crate) async fn open(
        target: &Target,
        clock: MonotonicClock,
    ) -> Result<(Self, Connection), ClientError> {
        let dialed = dial(target, clock).await?;
        let sender = Sender::greet(dialed.stream, target).await;
        let sender = sender.map_err(|lost| lost.before_head(target.base_url()))?;
        Ok((Self { sender, wire: dialed.wire, opened: clock.now(), freed: None }, dialed.cost))
    }

    /// Sends a request, which is handed over at `now`, and waits for the head of its answer. One
    /// that is not due yet is written by who is `precise`.
    ///
    /// The departure is told when this future is over, however it is over. If it is dropped, an
    /// HTTP/1.1 connection is closed and an HTTP/2 stream is reset.
    pub(crate) async fn send(
        &mut self,
        request: &WholeRequest,
        now: Stamp,
        precise: Option<&PreciseSender>,
        observer: &mut impl Departure,
    ) -> Sending {
        match (&mut self.sender, request) {
            (Sender::Direct(direct), WholeRequest::Direct(request)) => {
                self.wire.arm();
                let ahead = precise.zip(observer.due().filter(|due| *due > now));
                let _leaving = Leaving { wire: &self.wire, observer };
                match ahead {
                    None => ask(direct, request, Ok(0), &self.wire).await,
                    Some((sender, due)) => {
                        let begun = Box::pin(sender.write(due, direct, request, &self.wire)).await;
                        ask(direct, request, begun, &self.wire).await
                    }
                }
            }
            (Sender::Http1(sender, _), WholeRequest::Hyper(request)) => {
                self.wire.arm();
                let _leaving = Leaving { wire: &self.wire, observer };
                let sent = Box::pin(sender.try_send_request((**request).clone())).await;
                sent.map_or_else(|error| unsent(error, Some(&self.wire)), answered)
            }
            // Streams share the connection, so its writes are nobody's own; the hand-over is.
            (Sender::Http2(sender), WholeRequest::Hyper(request)) => {
                observer.sent(now);
                let sent = Box::pin(sender.try_send_request((**request).clone())).await;
                sent.map_or_else(|error| unsent(error, None), answered)
            }
            (Sender::Direct(_), WholeRequest::Hyper(_))
            | (Sender::Http1(..) | Sender::Http2(_), WholeRequest::Direct(_)) => {
                unreachable!("a target's requests are made for its connections")
            }
        }
    }

    /// Reads on in the body of the answer, where nobody else does.
    pub(crate) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        mut visit: impl FnMut(Arrival, &[u8]),
    ) -> Poll<Result<Progress, Lost>> {
        match &mut self.sender {
            Sender::Direct(direct) => {
                let wire = &self.wire;
                direct.poll_body(cx, |bytes| visit(wire.last_read(), bytes))
            }
            Sender::Http1(..) | Sender::Http2(_) => Poll::Ready(Ok(Progress::End)),
        }
    }

    /// When the last bytes arrived.
    pub(crate) fn last_read(&self) -> Arrival {
        self.wire.last_read()
    }

    /// By whose clock that is known.
    pub(crate) fn arrival_clock(&self) -> ArrivalClock {
        match &self.sender {
            _ if !self.wire.is_stamped() => ArrivalClock::User,
            Sender::Direct(_) | Sender::Http1(..) => ArrivalClock::Kernel,
            Sender::Http2(_) => ArrivalClock::KernelBound,
        }
    }

    /// When the last byte of the request left, where the kernel says.
    pub(crate) fn left(&self) -> Option<Stamp> {
        match &self.sender {
            Sender::Direct(direct) => direct.left(),
            Sender::Http1(..) | Sender::Http2(_) => None,
        }
    }

    /// What the kernel has counted since it was last asked. Sockets that hyper reads are its own,
    /// and what streams share is none's.
    pub(crate) fn facts(&mut self) -> Option<SocketFacts> {
        match &mut self.sender {
            Sender::Direct(direct) => direct.facts(),
            Sender::Http1(..) | Sender::Http2(_) => None,
        }
    }

    /// Whether any byte of the answer to the last request was read, where that has a connection of
    /// its own.
    pub(crate) fn is_answered(&self) -> bool {
        self.wire.is_answered()
    }

    /// Whether the server answered in TLS what was asked without.
    pub(crate) fn is_answered_in_tls(&self) -> bool {
        self.wire.is_tls()
    }

    /// Whether other requests are sent over it at the same time.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Whether both are streams of one connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.wire, &other.wire)
    }

    /// Its last answer is over, and it waits for another request.
    pub(crate) fn free_at(&mut self, now: Stamp) {
        self.freed = Some(now);
    }

    /// When it was opened and when its last answer was over, if it carried any.
    pub(crate) fn kept_life(&self) -> Option<KeptLife> {
        self.freed.map(|freed| KeptLife { opened: self.opened, freed })
    }

    /// Whether it is known to be closed, or holds bytes that nobody asked for.
    pub(crate) fn is_closed(&mut self) -> bool {
        match &mut self.sender {
            Sender::Direct(direct) => direct.is_closed(),
            Sender::Http1(sender, probe) => sender.is_closed() || probe.is_spent(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Waits until another request can be sent; `false` if there can be none.
    pub(crate) async fn is_free(&mut self) -> bool {
        match &mut self.sender {
            Sender::Direct(direct) => direct.is_free(),
            Sender::Http1(sender, _) => sender.ready().await.is_ok(),
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    /// The same connection for another stream; HTTP/1.1 has none to share.
    pub(crate) fn share(&self) -> Option<Self> {
        match &self.sender {
            Sender::Direct(_) | Sender::Http1(..) => None,
            Sender::Http2(sender) => Some(Self {
                sender: Sender::Http2(sender.clone()),
                wire: Arc::clone(&self.wire),
                ..*self
            }),
        }
    }
}

impl Sender {
    /// Agrees with the server on the protocol and leaves a connection of hyper's to a task.
    async fn greet(mut stream: Stream, target: &Target) -> Result<Self, Lost> {
        match (target.http_version(), target.http1_stack()) {
            (HttpVersion::Http1, Http1Stack::Direct) => {
                if target.send_stamps() {
                    stream.stamp_departures();
                }
                Ok(Self::Direct(Box::new(Direct::new(stream))))
            }
            (HttpVersion::Http1, Http1Stack::Hyper) => {
                let probe = stream.probe()?;
                let io = TokioIo::new(stream);
                let (sender, connection) = http1::Builder::new().handshake(io).await?;
                tokio::spawn(drive(connection));
                Ok(Self::Http1(sender, probe))
            }
            (HttpVersion::Http2, _) => {
                let io = TokioIo::new(stream);
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

/// One request over our own connection, of which so much is written already.
async fn ask(
    direct: &mut Direct,
    request: &Encoded,
    begun: io::Result<usize>,
    wire: &Wire,
) -> Sending {
    let answer = match begun {
        Ok(written) => direct.ask(request, written).await,
        Err(error) => Err(error.into()),
    };
    match answer {
        Ok(head) => {
            let Head { status, headers, .. } = head;
            Sending::Answered(Answered { status, headers, body: None })
        }
        Err(lost) if wire.first_write().is_none() => Sending::NeverLeft(lost),
        Err(lost) => Sending::Lost(lost),
    }
}

fn answered(response: Response<Incoming>) -> Sending {
    let (head, body) = response.into_parts();
    Sending::Answered(Answered { status: head.status, headers: head.headers, body: Some(body) })
}

/// A request that was handed to hyper and got no answer. `wire` is that of a connection that only
/// this request used.
fn unsent(mut error: TrySendError<HyperRequest>, wire: Option<&Wire>) -> Sending {
    let is_back = error.take_message().is_some();
    let lost = error.into_error().into();
    if is_back || wire.is_some_and(|wire| wire.first_write().is_none()) {
        return Sending::NeverLeft(lost);
    }
    Sending::Lost(lost)
}

/// Who is told how a request gets on its way.
pub(crate) trait Departure {
    /// When the request is due, if it is due at any time.
    fn due(&self) -> Option<Stamp>;
    /// A connection was had.
    fn connected(&mut self, cost: Connection);
    /// The request's first byte went out.
    fn sent(&mut self, at: Stamp);
    /// The server did not process the request, which is sent once more.
    fn resent(&mut self, reason: Unprocessed);
}

impl Departure for Recorder {
    fn due(&self) -> Option<Stamp> {
        Some(Self::due(self))
    }

    fn connected(&mut self, cost: Connection) {
        Self::connected(self, cost);
    }

    fn sent(&mut self, at: Stamp) {
        Self::sent(self, at);
    }

    fn resent(&mut self, reason: Unprocessed) {
        Self::resent(self, reason);
    }
}

/// Nobody is told: the call is not measured.
#[derive(Debug)]
pub(crate) struct Unobserved;

impl Departure for Unobserved {
    fn due(&self) -> Option<Stamp> {
        None
    }

    fn connected(&mut self, _cost: Connection) {}
    fn sent(&mut self, _at: Stamp) {}
    fn resent(&mut self, _reason: Unprocessed) {}
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
