//! The part of a run that belongs to one process, and to one shard of it.

use std::iter::StepBy;
use std::num::NonZeroUsize;
use std::ops::Range;

/// One shard's part of a sequence.
///
/// A run may be shared by several processes (ranks) and by the shards of each: session `i` belongs
/// to rank `i mod n`, and the sessions of a rank are dealt to its shards in the same way. Every part
/// is therefore every `step`-th item of the sequence, from a first one on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// Zero-based index of the shard in its process.
    shard: usize,
    /// Number of shards in the process.
    shards: NonZeroUsize,
    /// Index of the first item.
    first: usize,
    /// Distance between two items.
    step: NonZeroUsize,
}

impl Share {
    /// The whole sequence.
    pub const WHOLE: Self =
        Self { shard: 0, shards: NonZeroUsize::MIN, first: 0, step: NonZeroUsize::MIN };

    /// Returns the part of the process with the zero-based index `rank` among `ranks` processes.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub const fn of_rank(rank: usize, ranks: NonZeroUsize) -> Self {
        assert!(rank < ranks.get(), "a rank is below the number of ranks");
        Self { shard: 0, shards: NonZeroUsize::MIN, first: rank, step: ranks }
    }

    /// Divides a process's part among its shards, in order.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use servemark_runner::Share;
    ///
    /// let [two, three] = [2, 3].map(|n| NonZeroUsize::new(n).unwrap());
    /// let dealt: Vec<usize> = Share::WHOLE.among(three).map(|share| share.of(8)).collect();
    /// assert_eq!(dealt, [3, 3, 2]);
    /// // Rank 1 of two has items 1, 3, 5 and 7.
    /// let dealt: Vec<usize> = Share::of_rank(1, two).among(three).map(|part| part.of(8)).collect();
    /// assert_eq!(dealt, [2, 1, 1]);
    /// ```
    pub fn among(self, shards: NonZeroUsize) -> impl Iterator<Item = Self> {
        (0..shards.get()).map(move |shard| Self {
            shard,
            shards,
            first: self.first + self.step.get() * shard,
            step: self.step.saturating_mul(shards),
        })
    }

    /// Returns the part of the first of `shards` shards.
    #[must_use]
    pub fn first_among(self, shards: NonZeroUsize) -> Self {
        Self { shards, step: self.step.saturating_mul(shards), ..self }
    }

    /// Returns the zero-based index of the shard in its process.
    pub fn shard(self) -> usize {
        self.shard
    }

    /// Returns how many of `total` items belong to the part.
    pub fn of(self, total: usize) -> usize {
        total.saturating_sub(self.first).div_ceil(self.step.get())
    }

    /// Returns which of `total` items belong to the part.
    pub fn indices(self, total: usize) -> StepBy<Range<usize>> {
        (self.first.min(total)..total).step_by(self.step.get())
    }

    /// Returns the part's items of `all`, each with its position in `all`.
    pub(crate) fn of_all<I: Iterator>(self, all: I) -> impl Iterator<Item = (usize, I::Item)> {
        all.enumerate().skip(self.first).step_by(self.step.get())
    }

    /// Returns the shard's part of a limit that holds for all shards of its process together; at
    /// least one.
    pub(crate) fn of_bound(self, bound: NonZeroUsize) -> NonZeroUsize {
        let part = bound.get().saturating_sub(self.shard).div_ceil(self.shards.get());
        NonZeroUsize::new(part).unwrap_or(NonZeroUsize::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> impl Iterator<Item = NonZeroUsize> {
        (1..6).filter_map(NonZeroUsize::new)
    }

    #[test]
    fn everything_is_dealt_out_once() {
        for (ranks, shards) in numbers().flat_map(|ranks| numbers().map(move |n| (ranks, n))) {
            for total in 0..30 {
                let mut dealt = Vec::new();
                for rank in 0..ranks.get() {
                    for share in Share::of_rank(rank, ranks).among(shards) {
                        let part = share.indices(total);
                        assert_eq!(part.len(), share.of(total));
                        assert!(part.clone().all(|index| index % ranks == rank));
                        assert!(
                            share.of_all(0..total).eq(part.clone().map(|index| (index, index)))
                        );
                        dealt.extend(part);
                    }
                }
                dealt.sort_unstable();
                assert!(dealt.into_iter().eq(0..total), "{total} to {ranks} of {shards}");
            }
        }
    }

    #[test]
    fn the_first_shards_part_is_the_first_part() {
        for (ranks, shards) in numbers().flat_map(|ranks| numbers().map(move |n| (ranks, n))) {
            let rank = Share::of_rank(ranks.get() - 1, ranks);
            assert_eq!(rank.among(shards).next(), Some(rank.first_among(shards)));
        }
    }

    #[test]
    fn a_bound_leaves_each_shard_something() {
        let shards = NonZeroUsize::new(4).unwrap();
        let of = |bound| Share::WHOLE.among(shards).map(move |share| share.of_bound(bound).get());
        assert!(of(NonZeroUsize::MIN).eq([1, 1, 1, 1]));
        assert!(of(NonZeroUsize::new(10).unwrap()).eq([3, 3, 2, 2]));
        // A rank's own memory is its own, however many ranks there are.
        let rank = Share::of_rank(2, shards);
        assert_eq!(rank.of_bound(NonZeroUsize::new(10).unwrap()).get(), 10);
    }
}
