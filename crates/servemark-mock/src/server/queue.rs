//! A queue by due time; entries with equal times keep their order. Time is a parameter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use servemark_core::Stamp;

/// Connections by the due time of their next step.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The due time, the insertion number that orders equal times, and the connection's slot.
    heap: BinaryHeap<Reverse<(Stamp, u64, usize)>>,
    pushed: u64,
}

impl Queue {
    pub(super) fn push(&mut self, due: Stamp, slot: usize) {
        self.pushed += 1;
        self.heap.push(Reverse((due, self.pushed, slot)));
    }

    /// Removes and returns the connection that has been due longest, if any is due by `now`.
    pub(super) fn pop_due(&mut self, now: Stamp) -> Option<usize> {
        let first = self.heap.peek_mut().filter(|first| first.0.0 <= now)?;
        let Reverse((.., slot)) = PeekMut::pop(first);
        Some(slot)
    }

    pub(super) fn next_due(&self) -> Option<Stamp> {
        self.heap.peek().map(|Reverse((due, ..))| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    #[test]
    fn nothing_leaves_early() {
        let mut queue = Queue::default();
        queue.push(at(20), 2);
        queue.push(at(10), 1);
        assert_eq!((queue.next_due(), queue.pop_due(at(9))), (Some(at(10)), None));
        assert_eq!((queue.pop_due(at(10)), queue.pop_due(at(19))), (Some(1), None));
        assert_eq!((queue.pop_due(at(20)), queue.next_due()), (Some(2), None));
    }

    #[test]
    fn equals_leave_in_their_order() {
        let mut queue = Queue::default();
        (0..50).for_each(|place| queue.push(at(5), place));
        let left: Vec<_> = std::iter::from_fn(|| queue.pop_due(at(5))).collect();
        assert_eq!(left, (0..50).collect::<Vec<_>>());
    }
}
