//! The connections to one target.
//!
//! HTTP/1.1 connections wait in a stack: the last one used is the warmest and the least likely to
//! have been closed. HTTP/2 connections are few and shared. A pool belongs to one runtime, whose
//! tasks drive its connections. No lock is held across an await, except that the first streams of
//! an HTTP/2 connection wait for it together.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servemark_core::{Clock, Connection, MonotonicClock, Stamp};
use servemark_pacer::{Pacer, SystemPacer};
use servemark_target::{HttpVersion, Timeouts};
use tokio::task::JoinSet;

use crate::boxed::BoxFuture;
use crate::error::{ClientError, ClientErrorKind};
use crate::link::Link;
use crate::opening::Turns;
use crate::precise::PreciseSender;
use crate::reuse::Reuse;
use crate::target::Target;
use crate::watch::{TimeoutStage, Watch};

/// The connections to one target.
#[derive(Debug)]
pub(crate) struct Pool {
    target: Target,
    clock: MonotonicClock,
    idle: Arc<Waiting>,
    shared: Vec<tokio::sync::Mutex<Option<Link>>>,
    turn: AtomicUsize,
    /// Spaces the openings of connections ahead of the first request, across all shards.
    openings: Arc<Turns>,
    /// Whether connections are still reused. All shards share it.
    reuse: Arc<Reuse>,
    /// Writes requests that are handed over before they are due.
    precise: Option<PreciseSender>,
}

/// HTTP/1.1 connections that wait for a request.
#[derive(Debug, Default)]
struct Waiting {
    links: Mutex<Vec<Idle>>,
    /// Whether a spare connection is being opened.
    is_opening: AtomicBool,
}

/// An unused HTTP/1.1 connection.
#[derive(Debug)]
struct Idle {
    link: Link,
    /// When the connection began to age: the end of its last answer, from which servers count their
    /// keep-alive time. A spare connection ages from its opening; a connection opened ahead of a
    /// run does not age.
    since: Option<Stamp>,
}

impl Pool {
    pub(crate) fn new(target: Target, clock: MonotonicClock) -> Self {
        let openings = Arc::new(Turns::new(target.opening()));
        let reuse = Arc::new(Reuse::new(target.reuse()));
        Self::sharing(openings, reuse, target, clock)
    }

    /// Creates a pool for another thread, which shares the rate at which connections are opened.
    pub(crate) fn for_shard(&self) -> Self {
        let (openings, reuse) = (Arc::clone(&self.openings), Arc::clone(&self.reuse));
        let precise = self.precise.clone();
        Self { precise, ..Self::sharing(openings, reuse, self.target.clone(), self.clock) }
    }

    /// Sets the sender that writes requests exactly at their due times.
    pub(crate) fn with_precise(self, precise: PreciseSender) -> Self {
        Self { precise: Some(precise), ..self }
    }

    /// Returns the sender that writes requests exactly at their due times.
    pub(crate) fn precise(&self) -> Option<&PreciseSender> {
        self.precise.as_ref()
    }

    fn sharing(
        openings: Arc<Turns>,
        reuse: Arc<Reuse>,
        target: Target,
        clock: MonotonicClock,
    ) -> Self {
        let shared = (0..target.http2_connections()).map(|_| tokio::sync::Mutex::default());
        let (shared, turn) = (shared.collect(), AtomicUsize::new(0));
        let (idle, precise) = (Arc::default(), None);
        Self { target, clock, idle, shared, turn, openings, reuse, precise }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn clock(&self) -> MonotonicClock {
        self.clock
    }

    /// Returns the state that decides whether connections are still reused.
    pub(crate) fn reuse(&self) -> &Reuse {
        &self.reuse
    }

    /// Takes an unused open connection. HTTP/2 connections are shared and never wait here. Each
    /// connection is checked right before it is returned.
    pub(crate) fn waiting(&self) -> Option<(Link, Connection)> {
        let now = self.clock.now();
        let is_reused = self.reuse.is_on();
        let mut idle = self.idle.links();
        while let Some(Idle { mut link, since }) = idle.pop() {
            let life = link.kept_life();
            if !is_young(since, now) || (life.is_some() && !is_reused) {
                continue;
            }
            if link.is_closed() {
                self.lost(&link, now);
                continue;
            }
            let used = if life.is_some() { Connection::Reused } else { Connection::Ahead };
            return Some((link, used));
        }
        None
    }

    /// Records that a connection turned out to be closed at `now`.
    pub(crate) fn lost(&self, link: &Link, now: Stamp) {
        if let Some(life) = link.kept_life() {
            self.reuse.closed(life, now);
        }
    }

    /// Opens an unused connection; over HTTP/2 returns one that is not known to be closed and is
    /// not the `replaced` one.
    pub(crate) fn open<'a>(
        &'a self,
        replaced: Option<&'a Link>,
    ) -> BoxFuture<'a, Result<(Link, Connection), ClientError>> {
        match self.target.http_version() {
            HttpVersion::Http1 => Link::open(&self.target, self.clock),
            HttpVersion::Http2 => Box::pin(self.stream(replaced)),
        }
    }

    /// Takes back a free connection whose last answer was read to its end.
    pub(crate) fn checkin(&self, mut link: Link) {
        if self.target.http_version() == HttpVersion::Http1 && self.reuse.is_on() {
            let now = self.clock.now();
            link.free_at(now);
            self.idle.push(link, Some(now));
        }
    }

    /// Opens a spare connection for the next request while this one is answered, if connections are
    /// not reused.
    ///
    /// There is one spare per shard: a server with a thread per connection, such as llama.cpp's,
    /// uses a thread for each waiting connection, and more of them would keep its threads from
    /// requests.
    pub(crate) fn open_spare(&self) {
        if self.reuse.is_on() || self.target.http_version() != HttpVersion::Http1 {
            return;
        }
        if !self.idle.links().is_empty() || self.idle.is_opening.swap(true, Ordering::Relaxed) {
            return;
        }
        let (target, clock, idle) = (self.target.clone(), self.clock, Arc::clone(&self.idle));
        tokio::spawn(async move {
            match open(target, clock).await {
                Ok(link) => idle.push(link, Some(clock.now())),
                // The next request opens its own connection and reports its own failure.
                Err(error) => tracing::debug!(%error, "no spare connection"),
            }
            idle.is_opening.store(false, Ordering::Relaxed);
        });
    }

    /// Opens connections ahead of the first request, until `connections` of them wait.
    pub(crate) fn preconnect(&self, connections: usize) -> BoxFuture<'_, Result<(), ClientError>> {
        match self.target.http_version() {
            HttpVersion::Http1 => Box::pin(self.preconnect_alone(connections)),
            HttpVersion::Http2 => Box::pin(self.preconnect_shared(connections)),
        }
    }

    async fn preconnect_alone(&self, connections: usize) -> Result<(), ClientError> {
        let start = self.clock.now();
        // Tokio's own timer is up to two milliseconds late; the openings are a tenth of one apart.
        let pacer = SystemPacer::new(self.clock).map_err(no_timer)?;
        let (mut opening, most) = (JoinSet::new(), self.target.opening().at_once.get());
        let missing = connections.saturating_sub(self.idle.links().len());
        for _ in 0..missing {
            if opening.len() == most {
                self.keep(opening.join_next().await)?;
            }
            let turn = self.openings.take(pacer.now());
            if turn > pacer.now() + TOGETHER {
                pacer.until(turn).await;
            }
            opening.spawn(open(self.target.clone(), self.clock));
        }
        while !opening.is_empty() {
            self.keep(opening.join_next().await)?;
        }
        let took = self.clock.now().since(start);
        tracing::debug!(connections = missing, ?took, "connections were opened ahead");
        Ok(())
    }

    async fn preconnect_shared(&self, connections: usize) -> Result<(), ClientError> {
        for _ in 0..connections.min(self.shared.len()) {
            self.stream(None).await?;
        }
        Ok(())
    }

    fn keep(&self, opened: Option<Opened>) -> Result<(), ClientError> {
        // A panic of the task was reported already; there is one connection less.
        if let Some(Ok(link)) = opened {
            self.idle.push(link?, None);
        }
        Ok(())
    }

    /// Returns a stream of the next shared connection in turn. Opens the connection if it is
    /// missing, closed, or the `replaced` one.
    async fn stream(&self, replaced: Option<&Link>) -> Result<(Link, Connection), ClientError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.shared.len();
        let mut slot = self.shared[turn].lock().await;
        if let Some(open) = slot.as_mut()
            && !open.is_closed()
            && !replaced.is_some_and(|replaced| replaced.is_same(open))
            && let Some(link) = open.share()
        {
            return Ok((link, Connection::Reused));
        }
        let (link, cost) = Link::open(&self.target, self.clock).await?;
        *slot = link.share();
        Ok((link, cost))
    }
}

impl Waiting {
    fn links(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, link: Link, since: Option<Stamp>) {
        self.links().push(Idle { link, since });
    }
}

fn is_young(since: Option<Stamp>, now: Stamp) -> bool {
    since.is_none_or(|since| now.since(since) < MOST_IDLE)
}

/// Returns the error of a missing timer, which means that the machine has no descriptor left.
fn no_timer(error: io::Error) -> ClientError {
    ClientError::new(
        ClientErrorKind::Capacity,
        "cannot create the timer that paces new connections",
    )
    .caused_by(error)
}

type Opened = Result<Result<Link, ClientError>, tokio::task::JoinError>;

async fn open(target: Target, clock: MonotonicClock) -> Result<Link, ClientError> {
    let limit = Timeouts::all(target.timeouts().connect);
    let link = Watch::start(clock, limit)
        .guard(TimeoutStage::Connect, clock.now(), Link::open(&target, clock))
        .await??;
    Ok(link.0)
}

/// Connections whose times are at most this far ahead are opened at once: a timer for each would
/// cost more than the connection.
const TOGETHER: Duration = Duration::from_millis(1);

/// uvicorn, used by SGLang and vLLM, closes a connection that was idle for five seconds. A
/// connection that is nearly as old might be closed while a request is on its way.
pub(crate) const MOST_IDLE: Duration = Duration::from_secs(4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ages_from_the_end_of_its_last_answer() {
        let since = Stamp::from_nanos(7);
        assert!(is_young(Some(since), since + Duration::from_millis(3999)));
        assert!(!is_young(Some(since), since + MOST_IDLE));
        assert!(is_young(None, since + Duration::from_secs(3600)));
    }
}
