//! What is due when, first come first served among equals. Time is a parameter.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use servemark_core::Stamp;

/// Items by their due time.
#[derive(Debug)]
pub(super) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    pushed: u64,
}

impl<T> Queue<T> {
    pub(super) fn push(&mut self, due: Stamp, item: T) {
        self.pushed += 1;
        self.heap.push(Entry { due, place: self.pushed, item });
    }

    /// The item that has been due longest, if any is.
    pub(super) fn pop_due(&mut self, now: Stamp) -> Option<T> {
        let first = self.heap.peek_mut().filter(|entry| entry.due <= now)?;
        Some(PeekMut::pop(first).item)
    }

    pub(super) fn next_due(&self) -> Option<Stamp> {
        self.heap.peek().map(|entry| entry.due)
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), pushed: 0 }
    }
}

#[derive(Debug)]
struct Entry<T> {
    due: Stamp,
    place: u64,
    item: T,
}

/// The heap gives the greatest first, so the earliest is the greatest.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.place).cmp(&(self.due, self.place))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    #[test]
    fn nothing_leaves_early() {
        let mut queue = Queue::default();
        queue.push(at(20), "later");
        queue.push(at(10), "sooner");
        assert_eq!((queue.next_due(), queue.pop_due(at(9))), (Some(at(10)), None));
        assert_eq!((queue.pop_due(at(10)), queue.pop_due(at(19))), (Some("sooner"), None));
        assert_eq!((queue.pop_due(at(20)), queue.next_due()), (Some("later"), None));
    }

    #[test]
    fn equals_leave_in_their_order() {
        let mut queue = Queue::default();
        (0..50).for_each(|place| queue.push(at(5), place));
        let left: Vec<_> = std::iter::from_fn(|| queue.pop_due(at(5))).collect();
        assert_eq!(left, (0..50).collect::<Vec<_>>());
    }
}
