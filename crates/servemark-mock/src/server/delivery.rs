//! An answer on its way, and the truth of it.

use std::num::{NonZeroU32, NonZeroUsize};

use servemark_core::{Clock, Stamp};
use servemark_pacer::MachineClock;

use super::work::OpenWork;
use crate::answer::{Answer, Step};
use crate::http::End;
use crate::truth::OpenTruth;

/// An answer on its way to its connection.
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

    /// When the next step is due.
    pub(super) fn due(&self) -> Stamp {
        self.answer.due()
    }

    /// The size of its writes, where it is not one per call of [`write_down`](Self::write_down).
    pub(super) fn split(&self) -> Option<NonZeroUsize> {
        self.answer.split()
    }

    /// Appends what goes out next, and with it what else is due by `now`, with at most so many
    /// pieces of output. It is about to be written, so it is stamped. Says how the answer ends, if
    /// it does.
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

    /// Whether the next step goes out in the same write.
    fn is_joined(&self, step: &Step, now: Stamp, most: NonZeroU32) -> bool {
        let pieces = step.pieces + self.answer.next_pieces();
        let is_due = step.end.is_none() && self.due() <= now;
        is_due && self.split().is_none() && pieces <= most.get() as usize
    }
}
