//! One open connection, and sending a request over it.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use servemark_core::{
    Arrival, ArrivalClock, Clock, Connection, MonotonicClock, Recorder, SocketFacts, Stamp,
    Unprocessed,
};
use servemark_http1::Head;
use servemark_target::{Http1Stack, HttpVersion};

use crate::boxed::BoxFuture;
use crate::dial::dial;
use crate::direct::{Direct, Encoded, Progress};
use crate::error::ClientError;
use crate::failure::ConnectionLoss;
use crate::http2::Http2Sender;
use crate::precise::PreciseSender;
use crate::reuse::KeptLife;
use crate::stamp_io::Wire;
use crate::stream::{Probe, Stream};
use crate::target::Target;

/// An encoded request, body included: encoding is done before the request is due.
#[derive(Debug)]
pub(crate) enum WholeRequest {
    Direct(Encoded),
    Hyper(Box<HyperRequest>),
}

pub(crate) type HyperRequest = Request<Full<Bytes>>;

/// An open connection. A connection of hyper's is driven by a task of the runtime until it is
/// closed or dropped.
#[derive(Debug)]
pub(crate) struct Link {
    sender: Sender,
    wire: Arc<Wire>,
    opened: Stamp,
    /// When the connection's last answer was over, if it carried any.
    freed: Option<Stamp>,
}

#[derive(Debug)]
enum Sender {
    Direct(Box<Direct>),
    /// hyper owns the stream and notices its end when its task runs; the probe checks at once.
    Http1(http1::SendRequest<Full<Bytes>>, Probe),
    Http2(Http2Sender),
}

/// The result of sending a request.
#[derive(Debug)]
pub(crate) enum Sending {
    /// The head of an answer was read.
    Answered(Answered),
    /// The connection turned out to be closed and nothing was written.
    NeverLeft(ConnectionLoss),
    /// The connection was lost after at least a part of the request was sent.
    Lost(ConnectionLoss),
}

/// The head of an answer, and its body if hyper reads it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Incoming>,
}

impl Link {
    /// Opens a connection; also returns what it cost.
    pub(crate) fn open(
        target: &Target,
        clock: MonotonicClock,
    ) -> BoxFuture<'_, Result<(Self, Connection), ClientError>> {
        Box::pin(async move {
            let dialed = dial(target, clock).await?;
            let sender = Sender::handshake(dialed.stream, target).await;
            let sender = sender.map_err(|lost| lost.before_head(target.base_url()))?;
            Ok((Self { sender, wire: dialed.wire, opened: clock.now(), freed: None }, dialed.cost))
        })
    }

    /// Sends a request at `now` and waits for the head of its answer. If `precise` is set and the
    /// request is not due yet, the precise sender writes it at its due time.
    ///
    /// The send time is reported to `observer` when this future ends, in any way. If it is dropped,
    /// an HTTP/1.1 connection is closed and an HTTP/2 stream is reset.
    pub(crate) async fn send(
        &mut self,
        request: &WholeRequest,
        now: Stamp,
        precise: Option<&PreciseSender>,
        observer: &mut impl SendObserver,
    ) -> Sending {
        match (&mut self.sender, request) {
            (Sender::Direct(direct), WholeRequest::Direct(request)) => {
                self.wire.arm();
                let ahead = precise.zip(observer.due().filter(|due| *due > now));
                let _report = ReportSendOnDrop { wire: &self.wire, observer };
                match ahead {
                    None => ask(direct, request, Ok(0), &self.wire).await,
                    Some((sender, due)) => {
                        let begun = sender.write(due, direct, request, &self.wire).await;
                        ask(direct, request, begun, &self.wire).await
                    }
                }
            }
            (Sender::Http1(sender, _), WholeRequest::Hyper(request)) => {
                self.wire.arm();
                let _report = ReportSendOnDrop { wire: &self.wire, observer };
                let sent = ask_http1(sender, request).await;
                sent.map_or_else(|error| unsent(error, Some(&self.wire)), answered)
            }
            // Streams share the connection, so a write belongs to no single one; the hand-over time
            // counts.
            (Sender::Http2(sender), WholeRequest::Hyper(request)) => {
                observer.sent(now);
                let sent = sender.ask(request).await;
                sent.map_or_else(|error| unsent(error, None), answered)
            }
            (Sender::Direct(_), WholeRequest::Hyper(_))
            | (Sender::Http1(..) | Sender::Http2(_), WholeRequest::Direct(_)) => {
                unreachable!("a target's requests are made for its connections")
            }
        }
    }

    /// Reads on in the body of the answer, unless hyper reads it.
    pub(crate) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        mut visit: impl FnMut(Arrival, &[u8]),
    ) -> Poll<Result<Progress, ConnectionLoss>> {
        match &mut self.sender {
            Sender::Direct(direct) => {
                let wire = &self.wire;
                direct.poll_body(cx, |bytes| visit(wire.last_read(), bytes))
            }
            Sender::Http1(..) | Sender::Http2(_) => Poll::Ready(Ok(Progress::End)),
        }
    }

    /// Returns when the last bytes arrived.
    pub(crate) fn last_read(&self) -> Arrival {
        self.wire.last_read()
    }

    /// Returns which clock produced the last arrival stamp.
    pub(crate) fn arrival_clock(&self) -> ArrivalClock {
        match &self.sender {
            _ if !self.wire.is_stamped() => ArrivalClock::User,
            Sender::Direct(_) | Sender::Http1(..) => ArrivalClock::Kernel,
            Sender::Http2(_) => ArrivalClock::KernelBound,
        }
    }

    /// Returns when the last byte of the request left, if the kernel reports it.
    pub(crate) fn transmit_time(&self) -> Option<Stamp> {
        match &self.sender {
            Sender::Direct(direct) => direct.transmit_time(),
            Sender::Http1(..) | Sender::Http2(_) => None,
        }
    }

    /// Returns the kernel's counts since the last call. They are unknown for sockets that hyper
    /// reads and for those that streams share.
    pub(crate) fn facts(&mut self) -> Option<SocketFacts> {
        match &mut self.sender {
            Sender::Direct(direct) => direct.facts(),
            Sender::Http1(..) | Sender::Http2(_) => None,
        }
    }

    /// Returns whether any byte of the answer to the last request was read, on a connection that is
    /// not shared.
    pub(crate) fn is_answered(&self) -> bool {
        self.wire.is_answered()
    }

    /// Returns whether the answer to a request without TLS began as TLS does.
    pub(crate) fn is_answered_in_tls(&self) -> bool {
        self.wire.is_tls()
    }

    /// Returns whether other requests are sent over the connection at the same time.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Returns whether both links use one connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.wire, &other.wire)
    }

    /// Records that the connection's last answer ended at `now` and that it waits for another
    /// request.
    pub(crate) fn free_at(&mut self, now: Stamp) {
        self.freed = Some(now);
    }

    /// Returns when the connection was opened, and when its last answer ended, if it carried any.
    pub(crate) fn kept_life(&self) -> Option<KeptLife> {
        self.freed.map(|freed| KeptLife { opened: self.opened, freed })
    }

    /// Returns whether the connection is known to be closed, or holds bytes that belong to no
    /// request.
    pub(crate) fn is_closed(&mut self) -> bool {
        match &mut self.sender {
            Sender::Direct(direct) => direct.is_closed(),
            Sender::Http1(sender, probe) => sender.is_closed() || probe.is_spent(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Waits until another request can be sent; returns false if none can.
    pub(crate) async fn is_free(&mut self) -> bool {
        match &mut self.sender {
            Sender::Direct(direct) => direct.is_free(),
            Sender::Http1(sender, _) => sender.ready().await.is_ok(),
            Sender::Http2(sender) => sender.is_free().await,
        }
    }

    /// Returns a handle of the same connection for another stream; `None` for HTTP/1.1.
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
    /// Performs the protocol handshake; a connection of hyper's is given to a task.
    async fn handshake(mut stream: Stream, target: &Target) -> Result<Self, ConnectionLoss> {
        match (target.http_version(), target.http1_stack()) {
            (HttpVersion::Http1, Http1Stack::Direct) => {
                if target.send_stamps() {
                    stream.enable_transmit_stamps();
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
            (HttpVersion::Http2, _) => Ok(Self::Http2(Http2Sender::handshake(stream).await?)),
        }
    }
}

/// Drives a connection of hyper's. Its error reaches its requests too, so it is only traced here.
pub(crate) async fn drive(connection: impl Future<Output = hyper::Result<()>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Sends a request over our own connection, on which `begun` bytes of it are already written.
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
            let Head { summary, headers } = head;
            Sending::Answered(Answered { status: summary.status, headers, body: None })
        }
        Err(lost) if wire.first_write().is_none() => Sending::NeverLeft(lost),
        Err(lost) => Sending::Lost(lost),
    }
}

/// The answer of hyper to a request.
pub(crate) type HyperAnswer = Result<Response<Incoming>, TrySendError<HyperRequest>>;

fn ask_http1<'a>(
    sender: &'a mut http1::SendRequest<Full<Bytes>>,
    request: &HyperRequest,
) -> BoxFuture<'a, HyperAnswer> {
    Box::pin(sender.try_send_request(request.clone()))
}

fn answered(response: Response<Incoming>) -> Sending {
    let (head, body) = response.into_parts();
    Sending::Answered(Answered { status: head.status, headers: head.headers, body: Some(body) })
}

/// Returns the result of a request that hyper did not answer. `wire` is that of a connection that
/// carries only this request.
fn unsent(mut error: TrySendError<HyperRequest>, wire: Option<&Wire>) -> Sending {
    let is_back = error.take_message().is_some();
    let error = error.into_error();
    // Over HTTP/2 a stream that waits for the server's limit of streams has not been opened yet. If
    // its connection ends, hyper reports an error of the caller.
    let never_opened = wire.is_none() && error.is_user();
    let lost = error.into();
    if is_back || never_opened || wire.is_some_and(|wire| wire.first_write().is_none()) {
        return Sending::NeverLeft(lost);
    }
    Sending::Lost(lost)
}

/// Receives the events of sending a request.
pub(crate) trait SendObserver {
    /// Returns when the request is due; `None` for a call without a due time.
    fn due(&self) -> Option<Stamp>;
    /// Reports the connection that the request uses.
    fn connected(&mut self, cost: Connection);
    /// Reports when the request's first byte was sent.
    fn sent(&mut self, at: Stamp);
    /// Reports that the server did not process the request, which is sent once more.
    fn resent(&mut self, reason: Unprocessed);
}

impl SendObserver for Recorder {
    fn due(&self) -> Option<Stamp> {
        Some(Self::due(self))
    }

    fn connected(&mut self, cost: Connection) {
        Self::connected(self, cost);
    }

    fn sent(&mut self, at: Stamp) {
        Self::record_sent(self, at);
    }

    fn resent(&mut self, reason: Unprocessed) {
        Self::resent(self, reason);
    }
}

/// Ignores the events of a call that is not measured.
#[derive(Debug)]
pub(crate) struct Unobserved;

impl SendObserver for Unobserved {
    fn due(&self) -> Option<Stamp> {
        None
    }

    fn connected(&mut self, _cost: Connection) {}
    fn sent(&mut self, _at: Stamp) {}
    fn resent(&mut self, _reason: Unprocessed) {}
}

/// Reports the send time when it is dropped, so that a request that timed out, failed or was
/// abandoned has one too.
struct ReportSendOnDrop<'a, D: SendObserver> {
    wire: &'a Wire,
    observer: &'a mut D,
}

impl<D: SendObserver> Drop for ReportSendOnDrop<'_, D> {
    fn drop(&mut self) {
        if let Some(at) = self.wire.first_write() {
            self.observer.sent(at);
        }
    }
}
