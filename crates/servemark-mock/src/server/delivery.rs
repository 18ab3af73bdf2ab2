//! An answer being sent, with its truth and its share of the server's metrics.

use std::num::{NonZeroU32, NonZeroUsize};

use servemark_core::{Clock, Stamp};
use servemark_pacer::MachineClock;

use super::work::OpenWork;
use crate::answer::{MockAnswer, Step, TrueTimes};
use crate::http::End;
use crate::truth::OpenTruth;

/// An answer that is being sent on a connection.
#[derive(Debug)]
pub(super) struct Delivery {
    answer: MockAnswer,
    truth: OpenTruth,
    work: OpenWork,
    times: TrueTimes,
    /// When the first output was written, if any was.
    first_sent: Option<Stamp>,
    /// The number of pieces that were written.
    sent: usize,
    /// Number of written pieces after which the answer is preempted, if that is to come.
    preempted_at: Option<u32>,
}

impl Delivery {
    pub(super) fn new(
        answer: MockAnswer,
        truth: OpenTruth,
        work: OpenWork,
        times: TrueTimes,
    ) -> Self {
        Self { answer, truth, work, times, first_sent: None, sent: 0, preempted_at: None }
    }

    /// Sets after how many pieces the answer is preempted.
    pub(super) fn preempted_at(self, preempted_at: Option<u32>) -> Self {
        Self { preempted_at, ..self }
    }

    /// Returns when the next step is due.
    pub(super) fn due(&self) -> Stamp {
        self.answer.due()
    }

    /// The largest size of one write in bytes; without one, each call of
    /// [`write_down`](Self::write_down) is one write.
    pub(super) fn split(&self) -> Option<NonZeroUsize> {
        self.answer.split()
    }

    /// Appends the next step to `out`, and further steps that are due by `now` while all together
    /// have at most `most` pieces of output. Stamps the pieces with the current time, as they are
    /// about to be written. Returns how the answer ends, if these are its last bytes.
    pub(super) fn write_down(
        &mut self,
        now: Stamp,
        most: NonZeroU32,
        out: &mut Vec<u8>,
    ) -> Option<End> {
        let at = MachineClock.now();
        let mut step = self.answer.step(at, out);
        while self.is_joined(&step, now, most) {
            let next = self.answer.step(at, out);
            step = Step {
                pieces: step.pieces + next.pieces,
                tokens: step.tokens + next.tokens,
                end: next.end,
            };
        }
        let written = MachineClock.now();
        self.truth.record_sent(written, step.pieces);
        self.work.count_sent(step.pieces, step.tokens);
        self.sent += step.pieces;
        if step.pieces > 0 {
            self.first_sent.get_or_insert(written);
        }
        if self.preempted_at.take_if(|after| self.sent >= *after as usize).is_some() {
            self.work.preempted();
        }
        if step.end.is_some() {
            self.truth.close();
            match self.first_sent.filter(|_| self.sent >= self.answer.pieces()) {
                Some(first) => self.work.finish(&self.times, first, written),
                None => self.work.close(),
            }
        }
        step.end
    }

    /// Whether the next step joins the write of `step`.
    fn is_joined(&self, step: &Step, now: Stamp, most: NonZeroU32) -> bool {
        let pieces = step.pieces + self.answer.next_pieces();
        let is_due = step.end.is_none() && self.due() <= now;
        is_due && self.split().is_none() && pieces <= most.get() as usize
    }
}
