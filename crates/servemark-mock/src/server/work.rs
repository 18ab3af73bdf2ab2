//! The server's load and its totals, for its metrics.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use servemark_core::Stamp;

use super::histogram::Histogram;
use crate::answer::TrueTimes;

/// The server's load and its totals. Counters change once per write and request, never per token.
#[derive(Debug, Default)]
pub(super) struct Work {
    open: AtomicU64,
    prompt_tokens: AtomicU64,
    generated_tokens: AtomicU64,
    requests: AtomicU64,
    times: Mutex<WorkTimes>,
    /// When each waiting request gets its place.
    turns: Mutex<BinaryHeap<Reverse<Stamp>>>,
}

/// The reported counts at one instant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct WorkCounts {
    /// Requests that are being answered.
    pub(super) running: u64,
    /// Requests that wait for a place.
    pub(super) waiting: u64,
    /// Prompt tokens of requests of which some output was written.
    pub(super) prompt_tokens: u64,
    /// Output tokens that were written.
    pub(super) generated_tokens: u64,
    /// Requests that were answered whole.
    pub(super) requests: u64,
}

/// The times of the requests that were answered whole, in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkTimes {
    /// From the reception to the first output.
    pub(super) ttft: Histogram,
    /// From the reception to the last output.
    pub(super) e2e: Histogram,
    /// In the queue for a place.
    pub(super) queue: Histogram,
    /// From the place to the end of the prompt's computation.
    pub(super) prefill: Histogram,
}

impl Work {
    /// Counts a request that arrived at `now`, is served from `begins` on, and has `prompt_tokens`
    /// tokens in its prompt.
    pub(super) fn open(
        self: &Arc<Self>,
        now: Stamp,
        begins: Stamp,
        prompt_tokens: u32,
    ) -> OpenWork {
        self.open.fetch_add(1, Ordering::Relaxed);
        if begins > now {
            self.turns.lock().unwrap_or_else(PoisonError::into_inner).push(Reverse(begins));
        }
        OpenWork { work: Some(Arc::clone(self)), prompt_tokens }
    }

    /// Returns the times of the requests that were answered whole.
    pub(super) fn times(&self) -> WorkTimes {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn observe(&self, times: &TrueTimes, first: Stamp, last: Stamp) {
        let seconds = |earlier: Stamp, later: Stamp| later.since(earlier).as_secs_f64();
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut all = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        all.ttft.add(seconds(times.received, first));
        all.e2e.add(seconds(times.received, last));
        all.queue.add(seconds(times.queued, times.begins));
        all.prefill.add(seconds(times.begins, times.prefilled));
    }

    /// Returns the counts at `now`.
    pub(super) fn counts(&self, now: Stamp) -> WorkCounts {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        while turns.peek().is_some_and(|Reverse(turn)| *turn <= now) {
            turns.pop();
        }
        let waiting = turns.len() as u64;
        // A client that left while it waited keeps its place in the line until its turn, although
        // its request is no longer open; so the difference could be negative.
        let running = self.open.load(Ordering::Relaxed).saturating_sub(waiting);
        WorkCounts {
            running,
            waiting,
            prompt_tokens: self.prompt_tokens.load(Ordering::Relaxed),
            generated_tokens: self.generated_tokens.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
        }
    }
}

/// A request that is being answered, until it is closed or dropped.
#[derive(Debug)]
pub(super) struct OpenWork {
    work: Option<Arc<Work>>,
    /// Prompt tokens that are not counted yet.
    prompt_tokens: u32,
}

impl OpenWork {
    /// Counts `tokens` tokens of output in `pieces` pieces, which are about to be written.
    pub(super) fn count_sent(&mut self, pieces: usize, tokens: u64) {
        let Some(work) = self.work.as_ref().filter(|_| pieces > 0) else { return };
        let prompt_tokens = std::mem::take(&mut self.prompt_tokens);
        work.prompt_tokens.fetch_add(prompt_tokens.into(), Ordering::Relaxed);
        work.generated_tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    /// Ends a request that was answered whole, with its first output at `first` and its last at
    /// `last`.
    pub(super) fn finish(&mut self, times: &TrueTimes, first: Stamp, last: Stamp) {
        if let Some(work) = &self.work {
            work.observe(times, first, last);
        }
        self.close();
    }

    /// Ends the request.
    pub(super) fn close(&mut self) {
        if let Some(work) = self.work.take() {
            work.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for OpenWork {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    #[test]
    fn requests_wait_until_their_turn_and_run_until_they_are_closed() {
        let work = Arc::new(Work::default());
        let counts = |nanos| {
            let counts = work.counts(at(nanos));
            (counts.running, counts.waiting)
        };
        let mut first = work.open(at(10), at(10), 5);
        let second = work.open(at(11), at(50), 5);
        assert_eq!((counts(20), counts(50)), ((1, 1), (2, 0)));
        first.close();
        first.close();
        drop(second);
        assert_eq!(counts(60), (0, 0));
    }

    #[test]
    fn a_prompt_counts_once_and_only_if_it_is_answered() {
        let work = Arc::new(Work::default());
        let mut answered = work.open(at(0), at(0), 5);
        let mut refused = work.open(at(0), at(0), 7);
        answered.count_sent(0, 0);
        answered.count_sent(2, 4);
        answered.count_sent(1, 1);
        refused.count_sent(0, 0);
        let counts = work.counts(at(1));
        assert_eq!((counts.prompt_tokens, counts.generated_tokens), (5, 5));
    }
}
