//! Decides whether connections carry more than one request, and detects servers that do not keep
//! them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servemark_core::Stamp;
use servemark_target::ReuseSpec;

/// Whether the connections to a server are still reused. The pools of all shards share it.
#[derive(Debug)]
pub(crate) struct Reuse {
    keep_alive: bool,
    observed: Mutex<Observed>,
}

/// What was observed of a server that announces keep-alive.
#[derive(Debug, Default)]
struct Observed {
    /// Number of connections in a row that the server closed soon after a whole answer.
    closed_in_a_row: u32,
    /// When the last of those closed connections was noticed.
    noticed: Stamp,
    /// When reuse ended, if it did.
    ended: Option<Stamp>,
}

/// The life of a connection that was to be reused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptLife {
    /// When the connection was opened.
    pub(crate) opened: Stamp,
    /// When the connection's last answer was over.
    pub(crate) freed: Stamp,
}

impl Reuse {
    pub(crate) fn new(spec: ReuseSpec) -> Self {
        Self { keep_alive: spec.keep_alive, observed: Mutex::default() }
    }

    /// Returns whether a connection whose answer is over may carry another request.
    pub(crate) fn is_on(&self) -> bool {
        self.keep_alive && self.end_of_reuse().is_none()
    }

    /// Returns when reuse ended because the server closes connections after whole answers.
    pub(crate) fn end_of_reuse(&self) -> Option<Stamp> {
        self.observed().ended
    }

    /// Records that a reused connection carried an answer: the server does keep connections.
    pub(crate) fn carried(&self) {
        self.observed().closed_in_a_row = 0;
    }

    /// Records that a connection that was to be reused turned out to be closed at `now`.
    ///
    /// A server that is restarted closes all its connections at once, so a connection only counts
    /// if it was opened after the previous closed one was noticed.
    pub(crate) fn closed(&self, life: KeptLife, now: Stamp) {
        let mut observed = self.observed();
        if now.since(life.freed) >= SOON || life.opened < observed.noticed {
            return;
        }
        observed.noticed = now;
        observed.closed_in_a_row += 1;
        if observed.closed_in_a_row >= ENOUGH && observed.ended.is_none() {
            observed.ended = Some(now);
            tracing::debug!(
                "the server closes connections after each answer although it announces keep-alive; \
                 connections are not reused any more"
            );
        }
    }

    fn observed(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Servers give keep-alive times in whole seconds (gunicorn 2, uvicorn, Node.js and llama.cpp 5). A
/// server that closes sooner does not keep connections.
const SOON: Duration = Duration::from_secs(1);

/// Number of closed connections that ends reuse. One may be a replaced worker, two may be chance.
const ENOUGH: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Stamp {
        Stamp::ZERO + Duration::from_millis(millis)
    }

    fn life(opened: u64, freed: u64) -> KeptLife {
        KeptLife { opened: at(opened), freed: at(freed) }
    }

    #[test]
    fn reuse_ends_with_the_third_connection_in_a_row_that_is_closed_after_its_answer() {
        let reuse = Reuse::new(ReuseSpec::default());
        reuse.closed(life(0, 10), at(11));
        reuse.closed(life(12, 20), at(21));
        assert!(reuse.is_on());
        reuse.closed(life(22, 30), at(31));
        assert_eq!((reuse.is_on(), reuse.end_of_reuse()), (false, Some(at(31))));
    }

    #[test]
    fn an_answer_on_a_reused_connection_begins_the_count_anew() {
        let reuse = Reuse::new(ReuseSpec::default());
        for generation in 0..10 {
            reuse.closed(life(generation * 10 + 1, generation * 10 + 5), at(generation * 10 + 6));
            if generation % 2 == 1 {
                reuse.carried();
            }
        }
        assert!(reuse.is_on());
    }

    #[test]
    fn a_server_that_closes_all_its_connections_at_once_counts_once() {
        let reuse = Reuse::new(ReuseSpec::default());
        (0..50).for_each(|connection| reuse.closed(life(connection, 100), at(150 + connection)));
        assert!(reuse.is_on());
    }

    #[test]
    fn a_keep_alive_time_that_is_over_is_no_sign() {
        let reuse = Reuse::new(ReuseSpec::default());
        for generation in 0..10 {
            let opened = generation * 3000 + 1;
            reuse.closed(life(opened, opened + 1), at(opened + 1 + 1000));
        }
        assert!(reuse.is_on());
    }
}
