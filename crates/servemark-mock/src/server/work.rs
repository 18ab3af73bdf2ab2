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
    computed_prompt_tokens: AtomicU64,
    preemptions: AtomicU64,
    requests: AtomicU64,
    times: Mutex<WorkTimes>,
    /// When requests that are not served yet reach the queue, and when they get their place.
    ahead: Mutex<Ahead>,
}

/// The requests that are not served yet.
#[derive(Debug, Default)]
struct Ahead {
    queued: BinaryHeap<Reverse<Stamp>>,
    begins: BinaryHeap<Reverse<Stamp>>,
}

impl Ahead {
    /// Returns the number of requests in the front end and in the queue at `now`.
    fn counts(&mut self, now: Stamp) -> [u64; 2] {
        for line in [&mut self.queued, &mut self.begins] {
            while line.peek().is_some_and(|Reverse(until)| *until <= now) {
                line.pop();
            }
        }
        let (in_front, all) = (self.queued.len(), self.begins.len());
        [in_front as u64, all.saturating_sub(in_front) as u64]
    }
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
    /// The part of `prompt_tokens` that was not found in the prefix cache.
    pub(super) computed_prompt_tokens: u64,
    /// Output tokens that were written.
    pub(super) generated_tokens: u64,
    /// Answers that were put back into the queue.
    pub(super) preemptions: u64,
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

/// The number of tokens in a prompt, and of those that were found in the prefix cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PromptTokens {
    pub(super) all: u32,
    pub(super) cached: u32,
}

impl Work {
    /// Counts a request that arrived at `now`, is in the queue from `queued` and served from
    /// `begins` on, and has this prompt.
    pub(super) fn open(
        self: &Arc<Self>,
        now: Stamp,
        (queued, begins): (Stamp, Stamp),
        prompt: PromptTokens,
    ) -> OpenWork {
        self.open.fetch_add(1, Ordering::Relaxed);
        if begins > now {
            let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
            ahead.queued.push(Reverse(queued));
            ahead.begins.push(Reverse(begins));
        }
        OpenWork { work: Some(Arc::clone(self)), prompt }
    }

    /// Returns the times of the requests that were answered whole.
    pub(super) fn times(&self) -> WorkTimes {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn observe(&self, times: &TrueTimes, first: Stamp, last: Stamp) {
        let seconds = |earlier: Stamp, later: Stamp| later.since(earlier).as_secs_f64();
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut all = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        all.ttft.add(seconds(times.received, first - times.network));
        all.e2e.add(seconds(times.received, last - times.network));
        all.queue.add(seconds(times.queued, times.begins));
        all.prefill.add(seconds(times.begins, times.prefilled));
    }

    /// Returns the counts at `now`.
    pub(super) fn counts(&self, now: Stamp) -> WorkCounts {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let [in_front, waiting] = ahead.counts(now);
        // A client that left while it waited keeps its place in the queue until its turn, although
        // its request is no longer open; so the difference could be negative.
        let running = self.open.load(Ordering::Relaxed).saturating_sub(waiting + in_front);
        WorkCounts {
            running,
            waiting,
            prompt_tokens: self.prompt_tokens.load(Ordering::Relaxed),
            computed_prompt_tokens: self.computed_prompt_tokens.load(Ordering::Relaxed),
            generated_tokens: self.generated_tokens.load(Ordering::Relaxed),
            preemptions: self.preemptions.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
        }
    }
}

/// A request that is being answered, until it is closed or dropped.
#[derive(Debug)]
pub(super) struct OpenWork {
    work: Option<Arc<Work>>,
    /// Prompt tokens that are not counted yet.
    prompt: PromptTokens,
}

impl OpenWork {
    /// Counts `tokens` tokens of output in `pieces` pieces, which are about to be written.
    pub(super) fn count_sent(&mut self, pieces: usize, tokens: u64) {
        let Some(work) = self.work.as_ref().filter(|_| pieces > 0) else { return };
        let PromptTokens { all, cached } = std::mem::take(&mut self.prompt);
        work.prompt_tokens.fetch_add(all.into(), Ordering::Relaxed);
        let computed = all.saturating_sub(cached).into();
        work.computed_prompt_tokens.fetch_add(computed, Ordering::Relaxed);
        work.generated_tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    /// Counts that the answer was put back into the queue.
    pub(super) fn preempted(&self) {
        if let Some(work) = &self.work {
            work.preemptions.fetch_add(1, Ordering::Relaxed);
        }
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
        let mut first = work.open(at(10), (at(10), at(10)), PromptTokens::default());
        let second = work.open(at(11), (at(15), at(50)), PromptTokens::default());
        assert_eq!(counts(12), (1, 0), "the second is in the front end");
        assert_eq!((counts(20), counts(50)), ((1, 1), (2, 0)));
        first.close();
        first.close();
        drop(second);
        assert_eq!(counts(60), (0, 0));
    }

    #[test]
    fn a_prompt_counts_once_and_only_if_it_is_answered() {
        let work = Arc::new(Work::default());
        let mut answered = work.open(at(0), (at(0), at(0)), PromptTokens { all: 5, cached: 3 });
        let mut refused = work.open(at(0), (at(0), at(0)), PromptTokens { all: 7, cached: 0 });
        answered.count_sent(0, 0);
        answered.count_sent(2, 4);
        answered.count_sent(1, 1);
        refused.count_sent(0, 0);
        let counts = work.counts(at(1));
        assert_eq!((counts.prompt_tokens, counts.generated_tokens), (5, 5));
        assert_eq!(counts.computed_prompt_tokens, 2);
    }
}
