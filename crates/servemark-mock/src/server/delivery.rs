//! An answer being sent, with its truth and its share of the server's metrics.

use std::num::{NonZeroU32, NonZeroUsize};

use servemark_core::{Clock, Stamp};
use servemark_pacer::MachineClock;

use super::work::OpenWork;
use crate::answer::{Answer, Step};
use crate::http::End;
use crate::truth::OpenTruth;

/// An answer that is being sent on a connection.
#[derive(Debug)]
pub(super) struct Delivery {
    answer: Answer,
    truth: OpenTruth,
    work: OpenWork,
}

impl Delivery {
    pub(super) fn new(answer: Answer, truth: OpenTruth, work: OpenWork) -> Self {
        Self { answer, truth, work }
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
        let mut step = self.answer.step(out);
        while self.is_joined(&step, now, most) {
            let next = self.answer.step(out);
            step = Step {
                pieces: step.pieces + next.pieces,
                tokens: step.tokens + next.tokens,
                end: next.end,
            };
        }
        self.truth.sent(MachineClock.now(), step.pieces);
        self.work.sent(step.pieces, step.tokens);
        if step.end.is_some() {
            self.truth.close();
            self.work.close();
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
