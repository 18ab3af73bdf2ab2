//! One HTTP request and its answer: a head, then pieces of a body, each with its arrival time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use hyper::body::{Body, Incoming};
use servemark_core::{
    Arrival, ArrivalClock, Clock, Connection, MonotonicClock, SocketFacts, Stamp, Unprocessed,
};

use servemark_target::Timeouts;

use crate::boxed::BoxFuture;
use crate::direct::Progress;
use crate::error::{ClientError, ClientErrorKind};
use crate::failure::ConnectionLoss;
use crate::link::{Answered, Link, SendObserver, Sending, WholeRequest};
use crate::pool::Pool;
use crate::watch::{TimeoutStage, Watch};

/// Source of an answer's body: the connection itself, or hyper.
#[derive(Debug)]
struct AnswerSource {
    link: Link,
    body: Option<Incoming>,
}

/// An answer that is being read.
///
/// Dropping it closes the connection; only [`release`](Self::release) returns the connection to the
/// pool.
#[derive(Debug)]
pub(crate) struct Exchange {
    status: StatusCode,
    headers: HeaderMap,
    source: AnswerSource,
    head_at: Stamp,
    arrival_clock: ArrivalClock,
    stage: TimeoutStage,
    /// When the current stage began, from which its time-out counts.
    since: Stamp,
    /// Whether the body was read to its end.
    is_over: bool,
}

impl Exchange {
    /// Sends a request and waits for the head of its answer.
    ///
    /// The server may have closed a pooled connection without the client knowing yet. If none of
    /// the request had been written to it, the request is sent over a new connection and its time
    /// starts there; this does not count as a second sending.
    ///
    /// A request that was written and that the server did not process ([`Unprocessed`]) is sent
    /// once more on a new connection, unless the target forbids it. This never happens after a byte
    /// of its answer, after a time-out, or for a second time. Only where HTTP/2 says that a stream
    /// was not processed is the request sent more often: the streams that are left over from one
    /// connection meet the limits of the next one together.
    pub(crate) async fn begin(
        pool: &Pool,
        request: WholeRequest,
        watch: &mut Watch,
        observer: &mut impl SendObserver,
    ) -> Result<Self, ClientError> {
        let (mut waiting, mut replaced) = (pool.waiting(), None);
        let mut tries = 0;
        loop {
            tries += 1;
            let (mut link, cost) = match waiting.take() {
                Some(waiting) => waiting,
                None => connect(pool, watch, replaced.as_ref()).await?,
            };
            observer.connected(cost);
            pool.open_spare();
            let since = pool.clock().now();
            let sent = {
                let sending = pin!(link.send(&request, since, pool.precise(), observer));
                watch.guard(TimeoutStage::FirstByte, since, sending).await?
            };
            match Outcome::of(sent, &link, cost, since) {
                Outcome::Answered(answered) => {
                    if cost == Connection::Reused {
                        pool.reuse().carried();
                    }
                    return Ok(Self::new(answered, link, since));
                }
                Outcome::NeverLeft(_) if tries < MOST_STREAMS && is_older(cost) => {}
                Outcome::NeverLeft(lost) | Outcome::Lost(lost) => {
                    let base = pool.target().base_url();
                    return Err(if link.is_answered_in_tls() && !base.is_https() {
                        lost.in_tls(base)
                    } else {
                        lost.before_head(base)
                    });
                }
                Outcome::Unprocessed(reason, cause) => {
                    if tries >= most_tries(reason) || !pool.target().reuse().resend {
                        let base = pool.target().base_url();
                        return Err(ConnectionLoss::unprocessed_error(cause, reason, base));
                    }
                    observer.resent(reason);
                }
            }
            pool.lost(&link, pool.clock().now());
            replaced = link.share();
        }
    }

    fn new(answered: Answered, link: Link, since: Stamp) -> Self {
        let Answered { status, headers, body } = answered;
        let (head_at, arrival_clock) = (link.last_read().at(), link.arrival_clock());
        let (source, stage) = (AnswerSource { link, body }, TimeoutStage::FirstByte);
        Self { status, headers, source, head_at, arrival_clock, stage, since, is_over: false }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns when the head was complete.
    pub(crate) fn head_at(&self) -> Stamp {
        self.head_at
    }

    /// Returns which clock stamped the arrivals so far: the least precise one of them.
    pub(crate) fn arrival_clock(&self) -> ArrivalClock {
        self.arrival_clock
    }

    /// Reads on and passes each piece of the body with its arrival time to `visit`. There may be no
    /// piece even if the body has more.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        watch: &mut Watch,
        mut visit: impl FnMut(Arrival, &[u8]),
    ) -> Poll<Result<Progress, ClientError>> {
        let mut last = None;
        let visit = |arrival, bytes: &[u8]| {
            last = Some(arrival);
            visit(arrival, bytes);
        };
        let Poll::Ready(progress) = self.source.poll_read(cx, visit) else {
            return watch.poll_late(self.stage, self.since, cx).map(Err);
        };
        if let Some(arrival) = last {
            (self.stage, self.since) = (TimeoutStage::Idle, arrival.read_at());
            self.arrival_clock = self.arrival_clock.min(self.source.link.arrival_clock());
        }
        self.is_over = matches!(progress, Ok(Progress::End));
        Poll::Ready(progress.map_err(ConnectionLoss::in_body))
    }

    /// Waits for the next read and passes each piece of the body with its arrival time to `visit`.
    pub(crate) async fn read(
        &mut self,
        watch: &mut Watch,
        mut visit: impl FnMut(Arrival, &[u8]),
    ) -> Result<Progress, ClientError> {
        poll_fn(|cx| self.poll_read(cx, watch, &mut visit)).await
    }

    /// Reads the rest of the body, up to `limit` bytes.
    pub(crate) async fn collect(
        &mut self,
        watch: &mut Watch,
        limit: usize,
    ) -> Result<Vec<u8>, ClientError> {
        let (mut whole, mut is_full) = (Vec::with_capacity(self.announced_length(limit)), false);
        let mut progress = Progress::More;
        while progress == Progress::More && !is_full {
            let keep = |_, bytes: &[u8]| {
                let room = limit - whole.len();
                whole.extend_from_slice(&bytes[..bytes.len().min(room)]);
                is_full |= bytes.len() > room;
            };
            progress = self.read(watch, keep).await?;
        }
        Ok(whole)
    }

    /// Returns the length that the answer's head announces, if it is plausible, and otherwise 0.
    fn announced_length(&self, limit: usize) -> usize {
        let length = self.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let length = length.and_then(|length| length.parse().ok()).unwrap_or_default();
        if length <= limit.min(MOST_RESERVED) { length } else { 0 }
    }

    /// Reads the rest of the answer if it is small and arrives soon. Usually all of it was read
    /// together with its end mark.
    pub(crate) async fn drain(&mut self, clock: MonotonicClock) {
        if !self.is_over() {
            self.read_on(clock).await;
        }
    }

    fn read_on(&mut self, clock: MonotonicClock) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut watch = Watch::start(clock, Timeouts::all(DRAIN_TIME));
            let mut drained = 0;
            while drained <= DRAIN_BYTES && !self.is_over() {
                if self.read(&mut watch, |_, bytes| drained += bytes.len()).await.is_err() {
                    return;
                }
            }
        })
    }

    /// Returns when the last byte of the request left, if the kernel reports it.
    pub(crate) fn transmit_time(&self) -> Option<Stamp> {
        self.source.link.transmit_time()
    }

    /// Returns the kernel's counts for this request, if it reports them.
    pub(crate) fn facts(&mut self) -> Option<SocketFacts> {
        self.source.link.facts()
    }

    /// Returns the connection to the pool if the answer was read to its end.
    pub(crate) async fn release(mut self, pool: &Pool) {
        if !self.is_over() {
            return;
        }
        let mut watch = Watch::start(pool.clock(), Timeouts::all(DRAIN_TIME));
        let (now, link) = (pool.clock().now(), &mut self.source.link);
        if matches!(watch.guard(TimeoutStage::Idle, now, pin!(link.is_free())).await, Ok(true)) {
            pool.checkin(self.source.link);
        }
    }

    fn is_over(&self) -> bool {
        self.is_over || self.source.is_over()
    }
}

impl AnswerSource {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        mut visit: impl FnMut(Arrival, &[u8]),
    ) -> Poll<Result<Progress, ConnectionLoss>> {
        match &mut self.body {
            None => self.link.poll_body(cx, visit),
            Some(body) => match ready!(Pin::new(body).poll_frame(cx)?) {
                None => Poll::Ready(Ok(Progress::End)),
                Some(frame) => {
                    if let Some(bytes) = frame.data_ref() {
                        visit(self.link.last_read(), bytes);
                    }
                    Poll::Ready(Ok(Progress::More))
                }
            },
        }
    }

    /// Returns whether all of the body was read, as far as is known without reading on.
    fn is_over(&self) -> bool {
        self.body.as_ref().is_some_and(Body::is_end_stream)
    }
}

/// The result of sending a request over one connection.
enum Outcome {
    /// The head of its answer was read.
    Answered(Answered),
    /// None of the request was written.
    NeverLeft(ConnectionLoss),
    /// The connection was lost after the request was written, at least in part: the server may have
    /// processed it.
    Lost(ConnectionLoss),
    /// The request was written, at least in part, and the server cannot have processed it.
    Unprocessed(Unprocessed, Option<ConnectionLoss>),
}

impl Outcome {
    fn of(sent: Sending, link: &Link, cost: Connection, since: Stamp) -> Self {
        let is_alone_on_reused = cost == Connection::Reused && !link.is_shared();
        match sent {
            Sending::Answered(answered) => {
                let is_late = link.last_read().at().since(since) >= LONGEST_ROUND_TRIP;
                let is_for_idling = answered.status == StatusCode::REQUEST_TIMEOUT && !is_late;
                if is_alone_on_reused && is_for_idling {
                    return Self::Unprocessed(Unprocessed::RequestTimeout, None);
                }
                Self::Answered(answered)
            }
            Sending::NeverLeft(lost) => Self::NeverLeft(lost),
            Sending::Lost(lost) => {
                match lost.unprocessed(is_alone_on_reused && !link.is_answered()) {
                    Some(reason) => Self::Unprocessed(reason, Some(lost)),
                    None => Self::Lost(lost),
                }
            }
        }
    }
}

/// Returns whether the connection was open before its request.
fn is_older(cost: Connection) -> bool {
    !matches!(cost, Connection::New { .. })
}

/// Opens a new connection. Over HTTP/2 the connection is not the `replaced` one.
async fn connect(
    pool: &Pool,
    watch: &mut Watch,
    replaced: Option<&Link>,
) -> Result<(Link, Connection), ClientError> {
    let opening = pool.open(replaced);
    let timed = watch.guard(TimeoutStage::Connect, pool.clock().now(), opening).await;
    timed.map_err(|error| {
        let message = format!("cannot connect to {}", pool.target().base_url());
        ClientError::new(ClientErrorKind::Timeout, message).caused_by(error)
    })?
}

/// Returns how often a request is sent at most if it was not processed for `reason`.
fn most_tries(reason: Unprocessed) -> u32 {
    match reason {
        Unprocessed::GoAway => MOST_STREAMS,
        // The server has no room for the stream. It is not asked again and again.
        Unprocessed::RefusedStream => 4,
        _ => 2,
    }
}

/// Number of connections that may end, one after the other, before a request's stream is processed.
/// nginx ends a connection after `keepalive_requests`, whose streams may be fewer than the requests
/// in flight.
const MOST_STREAMS: u32 = 32;

/// A 408 that a server sent before it had the request arrives within one round trip. A later one
/// answers the request, and comes from a gateway whose upstream server was too slow.
const LONGEST_ROUND_TRIP: std::time::Duration = std::time::Duration::from_secs(1);

/// Largest announced length for which memory is reserved before the body arrives.
const MOST_RESERVED: usize = 1 << 20;

/// After the dialect's end mark only the end of the framing is missing. If a server sends much
/// more, or is slow, the connection is closed so that the run is not delayed.
const DRAIN_BYTES: usize = 64 << 10;
const DRAIN_TIME: std::time::Duration = std::time::Duration::from_millis(250);
