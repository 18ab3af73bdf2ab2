//! The limits on requests served at once: their number, and the memory for their keys and values.
//! Time is a parameter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_core::Stamp;

/// What requests have taken of a server's places and memory, and until when.
///
/// The duration of an answer is known when its request arrives, so the start of each request can be
/// computed at once and no other queue is needed. Requests start in the order of their arrival.
#[derive(Debug)]
pub(super) struct Slots {
    free_places: usize,
    free_blocks: usize,
    /// The number of blocks, if they are limited.
    blocks: Option<NonZeroUsize>,
    /// When requests end, and how many blocks each gives back; the earliest first.
    ends: BinaryHeap<Reverse<(Stamp, usize)>>,
    last_begin: Stamp,
    /// The memory of requests that may still be running: from when to when, and how many blocks.
    held: Vec<(Stamp, Stamp, usize)>,
}

impl Slots {
    /// Returns the state of a server without requests; `None` if nothing is limited.
    pub(super) fn of(places: Option<NonZeroUsize>, blocks: Option<NonZeroUsize>) -> Option<Self> {
        (places.is_some() || blocks.is_some()).then(|| Self {
            free_places: places.map_or(usize::MAX, NonZeroUsize::get),
            free_blocks: blocks.map_or(usize::MAX, NonZeroUsize::get),
            blocks,
            ends: BinaryHeap::new(),
            last_begin: Stamp::ZERO,
            held: Vec::new(),
        })
    }

    /// Takes a place and memory for a request that arrives at `now`, and keeps them for `lasts`.
    /// Returns when the request gets both. A request that needs more memory than there is takes all
    /// of it.
    pub(super) fn take(&mut self, now: Stamp, lasts: Duration, blocks: usize) -> Stamp {
        let blocks = self.blocks.map_or(0, |all| blocks.min(all.get()));
        let mut begin = now.max(self.last_begin);
        while let Some(Reverse((end, _))) = self.ends.peek()
            && (*end <= begin || self.free_places == 0 || self.free_blocks < blocks)
        {
            let Some(Reverse((end, returned))) = self.ends.pop() else { break };
            begin = begin.max(end);
            self.free_places = self.free_places.saturating_add(1);
            self.free_blocks = self.free_blocks.saturating_add(returned);
        }
        self.free_places -= 1;
        self.free_blocks -= blocks;
        self.last_begin = begin;
        self.ends.push(Reverse((begin + lasts, blocks)));
        if blocks > 0 {
            self.held.retain(|(_, end, _)| *end > now);
            self.held.push((begin, begin + lasts, blocks));
        }
        begin
    }

    /// Returns the share of the memory that is taken at `now`, if it is limited.
    pub(super) fn kv_use(&self, now: Stamp) -> Option<f64> {
        let all = self.blocks?.get();
        let is_held = |(begin, end, _): &&(Stamp, Stamp, usize)| *begin <= now && now < *end;
        let taken: usize = self.held.iter().filter(is_held).map(|(.., blocks)| blocks).sum();
        Some(taken as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    #[test]
    fn requests_are_served_in_order_and_wait_no_longer_than_slots_are_taken() {
        let mut places = Slots::of(NonZeroUsize::new(2), None).unwrap();
        let mut take = |now, lasts| places.take(at(now), Duration::from_nanos(lasts), 9).as_nanos();
        assert_eq!([take(5, 10), take(6, 3)], [5, 6], "both places were free");
        assert_eq!([take(7, 10), take(8, 1)], [9, 15], "free at 9 and at 15");
        assert_eq!(take(100, 1), 100);
        assert_eq!(places.kv_use(at(7)), None);
    }

    #[test]
    fn a_request_waits_for_its_memory_and_those_behind_it_wait_too() {
        let mut memory = Slots::of(None, NonZeroUsize::new(10)).unwrap();
        let mut take = |now, lasts, blocks| {
            memory.take(at(now), Duration::from_nanos(lasts), blocks).as_nanos()
        };
        assert_eq!([take(0, 20, 4), take(1, 9, 4)], [0, 1]);
        assert_eq!(take(2, 10, 6), 10, "four blocks come free at 10");
        assert_eq!(take(3, 1, 1), 20, "one that would fit is not let past it");
        assert_eq!(take(50, 5, 99), 50, "as much as there is");
        let used = |now| memory.kv_use(at(now)).unwrap();
        assert!((used(51) - 1.0).abs() < 1e-9 && used(60).abs() < 1e-9);
        assert!(Slots::of(None, None).is_none());
    }

    #[test]
    fn the_use_of_memory_is_that_of_running_requests() {
        let mut memory = Slots::of(None, NonZeroUsize::new(10)).unwrap();
        memory.take(at(0), Duration::from_nanos(20), 4);
        memory.take(at(5), Duration::from_nanos(20), 8);
        for (now, expected) in [(0, 0.4), (19, 0.4), (20, 0.8), (39, 0.8), (40, 0.0)] {
            assert!((memory.kv_use(at(now)).unwrap() - expected).abs() < 1e-9, "at {now}");
        }
    }
}
