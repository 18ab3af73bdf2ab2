//! One request and its answer, as HTTP sees them: a head, then frames of a body, each with its
//! arrival.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use servemark_core::{Arrival, ArrivalClock, Clock, Connection, Stamp};

use crate::error::{ClientError, ClientErrorKind};
use crate::failure;
use crate::link::{Departure, Link, Sending, WholeRequest};
use crate::pool::Pool;
use crate::timeouts::Timeouts;
use crate::watch::{Stage, Watch};

/// An answer that is being read.
///
/// Dropping it before its end gives the connection up; only [`release`](Self::release) puts one
/// back into the pool.
#[derive(Debug)]
pub(crate) struct Exchange {
    head: http::response::Parts,
    body: Incoming,
    link: Link,
    head_at: Stamp,
    arrival_clock: ArrivalClock,
    stage: Stage,
    /// From when the stage's limit counts.
    since: Stamp,
}

impl Exchange {
    /// Sends a request and waits for the head of its answer.
    ///
    /// A connection from the pool may have been closed by the server without our knowing yet. If
    /// nothing of the request had been written to it, the request is sent over a new one and its
    /// clock starts there; that is no second attempt, because there was no first. Nothing is ever
    /// sent twice.
    pub(crate) async fn begin(
        pool: &Pool,
        request: WholeRequest,
        watch: &mut Watch,
        observer: &mut impl Departure,
    ) -> Result<Self, ClientError> {
        let (mut link, cost) = connect(pool.checkout(), pool, watch).await?;
        observer.connected(cost);
        let mut since = pool.clock().now();
        let mut sending = send(&mut link, request, since, watch, observer).await?;
        if !matches!(cost, Connection::New { .. })
            && let Sending::NeverLeft(request, _) = sending
        {
            let (fresh, cost) = connect(pool.fresh(), pool, watch).await?;
            observer.connected(cost);
            link = fresh;
            since = pool.clock().now();
            sending = send(&mut link, *request, since, watch, observer).await?;
        }
        match sending {
            Sending::Answered(response) => Ok(Self::new(response, link, since)),
            Sending::NeverLeft(_, error) | Sending::Lost(error) => {
                Err(failure::before_head(pool.target().base_url(), error))
            }
        }
    }

    fn new(response: Response<Incoming>, link: Link, since: Stamp) -> Self {
        let (head, body) = response.into_parts();
        let (head_at, arrival_clock) = (link.last_read().at(), link.arrival_clock());
        Self { head, body, link, head_at, arrival_clock, stage: Stage::FirstByte, since }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// When the head was complete.
    pub(crate) fn head_at(&self) -> Stamp {
        self.head_at
    }

    /// By whose clock the arrivals so far are known: the weakest of them all.
    pub(crate) fn arrival_clock(&self) -> ArrivalClock {
        self.arrival_clock
    }

    /// The next bytes of the body with their arrival; `None` at its end.
    pub(crate) async fn next(
        &mut self,
        watch: &mut Watch,
    ) -> Result<Option<(Arrival, Bytes)>, ClientError> {
        while let Some(frame) = watch.guard(self.stage, self.since, self.body.frame()).await? {
            let at = self.link.last_read();
            (self.stage, self.since) = (Stage::Idle, at.seen());
            self.arrival_clock = self.arrival_clock.min(self.link.arrival_clock());
            if let Ok(bytes) = frame.map_err(failure::in_body)?.into_data() {
                return Ok(Some((at, bytes)));
            }
        }
        Ok(None)
    }

    /// The rest of the body, or as much of it as `limit` allows. Whether all of it was read is
    /// for [`release`](Self::release) to find out.
    pub(crate) async fn collect(
        &mut self,
        watch: &mut Watch,
        limit: usize,
    ) -> Result<Vec<u8>, ClientError> {
        let mut whole = Vec::new();
        while let Some((_, bytes)) = self.next(watch).await? {
            let room = limit.saturating_sub(whole.len());
            whole.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() > room {
                break;
            }
        }
        Ok(whole)
    }

    /// Puts the connection back if the answer is over, or nearly so.
    pub(crate) async fn release(mut self, pool: &Pool) {
        let mut watch = Watch::start(pool.clock(), Timeouts::all(DRAIN_TIME));
        let now = pool.clock().now();
        if self.drain(&mut watch).await
            && matches!(watch.guard(Stage::Idle, now, self.link.is_free()).await, Ok(true))
        {
            pool.checkin(self.link);
        }
    }

    /// Whether the body came to its end soon.
    async fn drain(&mut self, watch: &mut Watch) -> bool {
        let mut room = DRAIN_BYTES;
        while !self.body.is_end_stream() {
            match self.next(watch).await {
                Ok(None) => return true,
                Ok(Some((_, bytes))) if bytes.len() <= room => room -= bytes.len(),
                _ => return false,
            }
        }
        true
    }
}

async fn connect(
    connecting: impl Future<Output = Result<(Link, Connection), ClientError>>,
    pool: &Pool,
    watch: &mut Watch,
) -> Result<(Link, Connection), ClientError> {
    let timed = watch.guard(Stage::Connect, pool.clock().now(), connecting).await;
    timed.map_err(|error| {
        let message = format!("cannot connect to {}", pool.target().base_url());
        ClientError::new(ClientErrorKind::Timeout, message).caused_by(error)
    })?
}

async fn send(
    link: &mut Link,
    request: WholeRequest,
    since: Stamp,
    watch: &mut Watch,
    observer: &mut impl Departure,
) -> Result<Sending, ClientError> {
    watch.guard(Stage::FirstByte, since, link.send(request, since, observer)).await
}

/// After the dialect's end mark only the framing's own end is missing; a server that sends much
/// more, or takes its time, costs us the connection and not the run its pace.
const DRAIN_BYTES: usize = 64 << 10;
const DRAIN_TIME: std::time::Duration = std::time::Duration::from_millis(250);
