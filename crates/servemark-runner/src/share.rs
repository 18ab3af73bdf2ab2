//! The part of a run that belongs to one shard.

use std::iter::StepBy;
use std::num::NonZeroUsize;
use std::ops::Range;

/// One shard's part of a sequence: every `shards`-th item, starting with the shard's own index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    shard: usize,
    shards: NonZeroUsize,
}

impl Share {
    /// The whole sequence, as the part of a single shard.
    pub const WHOLE: Self = Self::first_of(NonZeroUsize::MIN);

    /// Returns the first shard's part.
    pub const fn first_of(shards: NonZeroUsize) -> Self {
        Self { shard: 0, shards }
    }

    /// Returns the part of every shard, in order.
    pub fn of_each(shards: NonZeroUsize) -> impl Iterator<Item = Self> {
        (0..shards.get()).map(move |shard| Self { shard, shards })
    }

    /// Returns the zero-based index of the shard.
    pub fn shard(self) -> usize {
        self.shard
    }

    /// Returns how many of `total` items belong to the shard.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use servemark_runner::Share;
    ///
    /// let three = NonZeroUsize::new(3).unwrap();
    /// let dealt: Vec<usize> = Share::of_each(three).map(|share| share.of(8)).collect();
    /// assert_eq!(dealt, [3, 3, 2]);
    /// ```
    pub fn of(self, total: usize) -> usize {
        total.saturating_sub(self.shard).div_ceil(self.shards.get())
    }

    /// Returns which of `total` items belong to the shard.
    pub(crate) fn indices(self, total: usize) -> StepBy<Range<usize>> {
        (self.shard.min(total)..total).step_by(self.shards.get())
    }

    /// Returns the shard's items of `all`, each with its position in `all`.
    pub(crate) fn of_all<I: Iterator>(self, all: I) -> impl Iterator<Item = (usize, I::Item)> {
        all.enumerate().skip(self.shard).step_by(self.shards.get())
    }

    /// Returns the shard's part of a limit that holds for all shards together; at least one.
    pub(crate) fn of_bound(self, bound: NonZeroUsize) -> NonZeroUsize {
        NonZeroUsize::new(self.of(bound.get())).unwrap_or(NonZeroUsize::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_dealt_out_once() {
        for shards in (1..9).filter_map(NonZeroUsize::new) {
            for total in 0..20 {
                let mut dealt = Vec::new();
                for share in Share::of_each(shards) {
                    let part = share.indices(total);
                    assert_eq!(part.len(), share.of(total));
                    dealt.extend(part);
                }
                dealt.sort_unstable();
                assert!(dealt.into_iter().eq(0..total), "{total} to {shards}");
            }
        }
    }

    #[test]
    fn a_bound_leaves_each_shard_something() {
        let shards = NonZeroUsize::new(4).unwrap();
        let of = |bound| Share::of_each(shards).map(move |share| share.of_bound(bound).get());
        assert!(of(NonZeroUsize::MIN).eq([1, 1, 1, 1]));
        assert!(of(NonZeroUsize::new(10).unwrap()).eq([3, 3, 2, 2]));
    }
}
