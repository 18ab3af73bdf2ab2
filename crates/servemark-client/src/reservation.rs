//! Limits on the memory of answers in flight: of each, and of all together.
//!
//! What counts is what grows while an answer is read: an incomplete line or event, a document, and
//! the output in the record. All shards share the counter, which is updated when an answer outgrows
//! what it has reserved, not for every token.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use servemark_core::{ErrorKind, RequestError};
use servemark_target::AnswerLimits;

/// The limits and the memory in use. All shards of a run share one.
#[derive(Debug)]
pub(crate) struct AnswerBudget {
    each: usize,
    together: usize,
    /// Number of bytes reserved by the answers in flight.
    reserved: AtomicUsize,
    /// Number of answers in flight.
    answers: AtomicUsize,
}

impl AnswerBudget {
    pub(crate) fn new(limits: AnswerLimits) -> Arc<Self> {
        let together = limits.together.unwrap_or_else(usual_budget);
        let (reserved, answers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { each: limits.each, together, reserved, answers })
    }

    /// Returns the limit of one answer in bytes.
    pub(crate) fn each(&self) -> usize {
        self.each
    }

    /// Returns the failure of an answer above the limit of one answer.
    pub(crate) fn too_large(&self) -> RequestError {
        let limit = self.each;
        too_large(&format!(
            "the answer is larger than {limit} bytes, the limit of `server.at.answers.each`"
        ))
    }
}

/// The bytes that one answer has reserved of the budget; dropping it releases them.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<AnswerBudget>,
    reserved: usize,
    is_open: bool,
}

impl Reservation {
    /// Creates the reservation of an answer that is not being read yet, with no bytes reserved.
    pub(crate) fn new(budget: Arc<AnswerBudget>) -> Self {
        Self { budget, reserved: 0, is_open: false }
    }

    /// Counts the answer as one that is being read.
    pub(crate) fn open(&mut self) {
        self.is_open = true;
        self.budget.answers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn budget(&self) -> &AnswerBudget {
        &self.budget
    }

    /// Returns an error if `pieces` pieces of output exceed the answer's limit. A piece counts with
    /// all the memory that it takes while the run is logged and scored, so a flood of tiny pieces
    /// is stopped before it has cost seconds.
    #[inline]
    pub(crate) fn check_pieces(&self, pieces: usize) -> Result<(), RequestError> {
        if pieces <= self.budget.each / PIECE { Ok(()) } else { Err(self.budget.too_large()) }
    }

    /// Reserves memory so that the answer holds `bytes` bytes; an error if that exceeds a limit.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), RequestError> {
        if bytes <= self.reserved { Ok(()) } else { self.grow(bytes) }
    }

    /// Reserves more memory. If the budget is used up, only an answer that holds more than an equal
    /// share of it is refused, so that a large answer does not fail the small ones beside it. All
    /// answers together therefore hold at most twice the budget.
    #[cold]
    fn grow(&mut self, bytes: usize) -> Result<(), RequestError> {
        let budget = &*self.budget;
        if bytes > budget.each {
            return Err(budget.too_large());
        }
        let wanted = (bytes + bytes / 8).next_multiple_of(STEP).min(budget.each);
        let more = wanted - self.reserved;
        let all = budget.reserved.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        let share = budget.together / budget.answers.load(Ordering::Relaxed).max(1);
        if all > budget.together && bytes > share {
            budget.reserved.fetch_sub(more, Ordering::Relaxed);
            let limit = budget.together;
            return Err(too_large(&format!(
                "the answers in flight hold more than {limit} bytes together, the limit of \
                 `server.at.answers.together`, and this one holds more than its share"
            )));
        }
        self.reserved = wanted;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.reserved.fetch_sub(self.reserved, Ordering::Relaxed);
        self.budget.answers.fetch_sub(usize::from(self.is_open), Ordering::Relaxed);
    }
}

fn too_large(message: &str) -> RequestError {
    let message = format!("{message}; what was read of it is not kept");
    RequestError::new(ErrorKind::AnswerTooLarge, message)
}

/// Returns a quarter of the memory that this process may use, and at least 512 MiB.
fn usual_budget() -> usize {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory_of(&text));
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse::<usize>().ok());
    let memory = machine.into_iter().chain(group).min().unwrap_or_default();
    (memory / 4).max(LEAST)
}

/// Returns the total memory in bytes from the text of `/proc/meminfo`.
fn memory_of(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

const LEAST: usize = 512 << 20;

/// Bytes that a piece of output counts: seven when packed, about thirty as columns of a run log.
const PIECE: usize = 32;

/// Minimum number of bytes reserved at once: an answer of some hundred tokens reserves once.
const STEP: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(each: usize, together: usize) -> Arc<AnswerBudget> {
        AnswerBudget::new(AnswerLimits { each, together: Some(together) })
    }

    fn open(budget: &Arc<AnswerBudget>) -> Reservation {
        let mut holding = Reservation::new(Arc::clone(budget));
        holding.open();
        holding
    }

    fn reserved(budget: &AnswerBudget) -> usize {
        budget.reserved.load(Ordering::Relaxed)
    }

    #[test]
    fn an_answer_up_to_its_limit_is_held_and_given_back() {
        let budget = budget(100_000, 1 << 30);
        let mut one = open(&budget);
        one.hold(100_000).unwrap();
        assert_eq!(reserved(&budget), 100_000);
        let error = one.hold(100_001).unwrap_err();
        assert_eq!(error.kind, ErrorKind::AnswerTooLarge);
        assert!(
            error.message.contains("100000 bytes, the limit of `server.at.answers.each`"),
            "{error}"
        );
        drop(one);
        assert_eq!((reserved(&budget), budget.answers.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn a_million_pieces_fit_by_default_and_a_flood_does_not() {
        let holding = open(&AnswerBudget::new(AnswerLimits::default()));
        assert!(holding.check_pieces(1 << 20).is_ok());
        assert_eq!(holding.check_pieces(3 << 20).unwrap_err().kind, ErrorKind::AnswerTooLarge);
    }

    #[test]
    fn growing_by_a_token_does_not_touch_the_counter() {
        let budget = budget(1 << 20, 1 << 30);
        let mut one = open(&budget);
        one.hold(1).unwrap();
        let first = reserved(&budget);
        (2..=first).for_each(|bytes| one.hold(bytes).unwrap());
        assert_eq!((first, reserved(&budget)), (STEP, STEP));
    }

    #[test]
    fn a_spent_budget_refuses_the_large_answer_and_not_the_small_one() {
        let budget = budget(1 << 20, 1 << 20);
        let (mut large, mut small) = (open(&budget), open(&budget));
        large.hold(900_000).unwrap();
        small.hold(200_000).unwrap();
        let error = large.hold(1 << 20).unwrap_err();
        assert_eq!(error.kind, ErrorKind::AnswerTooLarge);
        assert!(error.message.contains("1048576 bytes together"), "{error}");
        assert!(error.message.contains("`server.at.answers.together`"), "{error}");
        drop(large);
        small.hold(1 << 20).unwrap();
    }

    #[test]
    fn all_answers_together_stay_within_twice_the_budget() {
        let together = 1 << 20;
        let budget = budget(1 << 20, together);
        let mut answers: Vec<_> = (0..10).map(|_| open(&budget)).collect();
        for bytes in (0..=together).step_by(10_000) {
            answers.retain_mut(|answer| answer.hold(bytes).is_ok());
            assert!(reserved(&budget) <= 2 * together, "{bytes}");
        }
        assert!(answers.len() <= 2, "{}", answers.len());
    }

    #[test]
    fn memory_is_read_from_linuxs_list() {
        assert_eq!(memory_of("MemTotal:       16000 kB\nMemFree: 1 kB\n"), Some(16_384_000));
        assert_eq!(memory_of("MemFree: 1 kB\n"), None);
        assert!(usual_budget() >= LEAST);
    }
}
