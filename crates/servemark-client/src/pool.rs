//! The connections to one target.
//!
//! HTTP/1.1 connections wait in a stack: the last one used is the warmest and the least likely to
//! have been closed. HTTP/2 connections are few and shared. A pool belongs to one runtime, whose
//! tasks drive its connections; nothing is locked while something is awaited, except that the
//! first streams of an HTTP/2 connection wait for it together.

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servemark_core::{Clock, Connection, MonotonicClock, Stamp};
use servemark_pacer::{Pacer, SystemPacer};
use tokio::task::JoinSet;

use crate::error::{ClientError, ClientErrorKind};
use crate::link::Link;
use crate::opening::Turns;
use crate::precise::PreciseSender;
use crate::target::{HttpVersion, Target};
use crate::timeouts::Timeouts;
use crate::watch::{Stage, Watch};

/// The connections to one target.
#[derive(Debug)]
pub(crate) struct Pool {
    target: Target,
    clock: MonotonicClock,
    idle: Mutex<Vec<Idle>>,
    shared: Vec<tokio::sync::Mutex<Option<Link>>>,
    turn: AtomicUsize,
    /// Whose turn it is to open a connection ahead of the first request.
    openings: Arc<Turns>,
    /// Who writes what is handed over before it is due.
    precise: Option<PreciseSender>,
}

/// An HTTP/1.1 connection nobody uses.
#[derive(Debug)]
struct Idle {
    link: Link,
    /// When its last answer ended. Servers count their keep-alive time from there, so a
    /// connection that has carried nothing yet does not age.
    since: Option<Stamp>,
}

impl Pool {
    pub(crate) fn new(target: Target, clock: MonotonicClock) -> Self {
        let openings = Arc::new(Turns::new(target.opening()));
        Self::opening(openings, target, clock)
    }

    /// A pool of its own for another thread. Together they open connections no faster than one.
    pub(crate) fn for_shard(&self) -> Self {
        let openings = Arc::clone(&self.openings);
        let precise = self.precise.clone();
        Self { precise, ..Self::opening(openings, self.target.clone(), self.clock) }
    }

    /// The same pool, whose requests are written at their very instant.
    pub(crate) fn with_precise(self, precise: PreciseSender) -> Self {
        Self { precise: Some(precise), ..self }
    }

    /// Who writes what is handed over before it is due.
    pub(crate) fn precise(&self) -> Option<&PreciseSender> {
        self.precise.as_ref()
    }

    fn opening(openings: Arc<Turns>, target: Target, clock: MonotonicClock) -> Self {
        let shared = (0..target.http2_connections()).map(|_| tokio::sync::Mutex::default());
        let (shared, turn) = (shared.collect(), AtomicUsize::new(0));
        Self { target, clock, idle: Mutex::default(), shared, turn, openings, precise: None }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn clock(&self) -> MonotonicClock {
        self.clock
    }

    /// A connection that was opened before and that nobody uses. Over HTTP/2 none waits: they are
    /// shared.
    pub(crate) fn waiting(&self) -> Option<(Link, Connection)> {
        let now = self.clock.now();
        let mut idle = self.idle();
        while let Some(Idle { mut link, since }) = idle.pop() {
            if is_young(since, now) && !link.is_closed() {
                let used = if since.is_some() { Connection::Reused } else { Connection::Ahead };
                return Some((link, used));
            }
        }
        None
    }

    /// A connection that nobody has used before; over HTTP/2 one that is not known to be closed.
    pub(crate) async fn open(&self) -> Result<(Link, Connection), ClientError> {
        match self.target.http_version() {
            HttpVersion::Http1 => Link::open(&self.target, self.clock).await,
            HttpVersion::Http2 => self.stream().await,
        }
    }

    /// Takes back a connection whose last answer was read to its end and which is free.
    pub(crate) fn checkin(&self, link: Link) {
        if self.target.http_version() == HttpVersion::Http1 {
            self.idle().push(Idle { link, since: Some(self.clock.now()) });
        }
    }

    /// Opens connections ahead of the first request, until so many wait.
    pub(crate) async fn preconnect(&self, connections: usize) -> Result<(), ClientError> {
        if self.target.http_version() == HttpVersion::Http2 {
            return self.preconnect_shared(connections).await;
        }
        let start = self.clock.now();
        // Tokio's own timer is up to two milliseconds late, and turns are a tenth of one apart.
        let pacer = SystemPacer::new(self.clock).map_err(no_timer)?;
        let (mut opening, most) = (JoinSet::new(), self.target.opening().at_once.get());
        let missing = connections.saturating_sub(self.idle().len());
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
            self.stream().await?;
        }
        Ok(())
    }

    fn keep(&self, opened: Option<Opened>) -> Result<(), ClientError> {
        // A task that panicked has said so on its own; there is merely one connection less.
        if let Some(Ok(link)) = opened {
            self.idle().push(Idle { link: link?, since: None });
        }
        Ok(())
    }

    /// The next shared connection's turn; opens it if it is not there or no longer.
    async fn stream(&self) -> Result<(Link, Connection), ClientError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.shared.len();
        let mut slot = self.shared[turn].lock().await;
        if let Some(open) = slot.as_mut()
            && !open.is_closed()
            && let Some(link) = open.share()
        {
            return Ok((link, Connection::Reused));
        }
        let (link, cost) = Link::open(&self.target, self.clock).await?;
        *slot = link.share();
        Ok((link, cost))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_young(since: Option<Stamp>, now: Stamp) -> bool {
    since.is_none_or(|since| now.since(since) < MOST_IDLE)
}

/// Only a machine that has no descriptor left has no timer left.
fn no_timer(error: io::Error) -> ClientError {
    ClientError::new(ClientErrorKind::Capacity, "cannot have a timer to open connections by")
        .caused_by(error)
}

type Opened = Result<Result<Link, ClientError>, tokio::task::JoinError>;

async fn open(target: Target, clock: MonotonicClock) -> Result<Link, ClientError> {
    let limit = Timeouts::all(target.timeouts().connect);
    let link = Watch::start(clock, limit)
        .guard(Stage::Connect, clock.now(), pin!(Link::open(&target, clock)))
        .await??;
    Ok(link.0)
}

/// Connections whose turns are no farther ahead than this are opened at once: a timer for each costs
/// more than the connection.
const TOGETHER: Duration = Duration::from_millis(1);

/// uvicorn, under SGLang and vLLM alike, closes a connection that was idle for five seconds. One
/// that is nearly as old might be closed while a request is on its way to it.
const MOST_IDLE: Duration = Duration::from_secs(4);

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
