//! Order statistics: the values of a sample at some ranks, without sorting it.

/// Pairs of a zero-based rank and the value at that rank, sorted by rank.
#[derive(Clone, Debug)]
pub(crate) struct Ranked(Vec<(usize, f64)>);

impl Ranked {
    /// Returns the value at a rank, which must be one of those asked for.
    pub(crate) fn at(&self, rank: usize) -> f64 {
        let place = self.0.binary_search_by_key(&rank, |&(rank, _)| rank);
        self.0[place.expect("it was asked for")].1
    }
}

/// Sorts ranks and removes duplicates.
pub(crate) fn in_order(mut ranks: Vec<usize>) -> Vec<usize> {
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// Finds the values by selection, each in what lies above the previous one. The sample is
/// reordered.
pub(crate) fn select(sample: &mut [f64], ranks: &[usize]) -> Ranked {
    let (mut above, mut below) = (sample, 0);
    let values = ranks.iter().map(|&rank| {
        let rest = std::mem::take(&mut above);
        let (_, value, higher) = rest.select_nth_unstable_by(rank - below, f64::total_cmp);
        (above, below) = (higher, rank + 1);
        (rank, *value)
    });
    Ranked(values.collect())
}

/// Finds the values of a sample that is too large to store, in four passes. Each pass determines
/// sixteen more bits of every value: those of the bucket that contains its rank.
pub(crate) fn narrow<I: Iterator<Item = f64>>(values: impl Fn() -> I, ranks: &[usize]) -> Ranked {
    let mut sought: Vec<PartialValue> =
        ranks.iter().map(|&rank| PartialValue { head: 0, rank }).collect();
    for shift in [48, 32, 16, 0] {
        let mut buckets = Buckets::below(&sought, shift);
        values().for_each(|value| buckets.count(ordered_bits(value)));
        for sought in &mut sought {
            buckets.narrow(sought);
        }
    }
    let found = sought.iter().map(|sought| of_ordered_bits(sought.head));
    Ranked(ranks.iter().copied().zip(found).collect())
}

/// A value of which some bits are known.
struct PartialValue {
    /// The highest bits of the value, as far as they are known.
    head: u64,
    /// Rank of the value among those that begin with these bits.
    rank: usize,
}

/// Counts of the next sixteen bits among the values that begin with a sought head.
struct Buckets {
    shift: u32,
    heads: Vec<(u64, Vec<usize>)>,
    /// Bit set of the last six bits of each head. Most values begin with no head, and this set
    /// excludes nearly all of them without a search.
    ends: u64,
}

impl Buckets {
    fn below(sought: &[PartialValue], shift: u32) -> Self {
        let mut heads: Vec<u64> = sought.iter().map(|sought| sought.head).collect();
        heads.dedup();
        let ends = heads.iter().fold(0, |ends, head| ends | end(*head));
        let heads = heads.into_iter().map(|head| (head, vec![0; 1 << DIGIT])).collect();
        Self { shift, heads, ends }
    }

    fn of(&self, head: u64) -> Option<usize> {
        let may_be = self.ends & end(head) != 0;
        may_be.then(|| self.heads.iter().position(|&(known, _)| known == head))?
    }

    fn count(&mut self, bits: u64) {
        let known = bits >> self.shift;
        if let Some(place) = self.of(known >> DIGIT) {
            self.heads[place].1[usize::from(known as u16)] += 1;
        }
    }

    /// Appends the next bits of a value: those of the first bucket at which the cumulative count
    /// exceeds its rank.
    fn narrow(&self, sought: &mut PartialValue) {
        let counts = self.of(sought.head).map_or(&[][..], |place| &self.heads[place].1);
        let digit = counts.iter().position(|&count| {
            let is_within = sought.rank < count;
            sought.rank -= if is_within { 0 } else { count };
            is_within
        });
        sought.head = sought.head << DIGIT | digit.unwrap_or_default() as u64;
    }
}

fn end(head: u64) -> u64 {
    1 << (head % 64)
}

const DIGIT: u32 = 16;

/// Returns the bits of a float, changed so that their order is that of `total_cmp`.
fn ordered_bits(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn of_ordered_bits(bits: u64) -> f64 {
    f64::from_bits(if bits & SIGN == 0 { !bits } else { bits & !SIGN })
}

const SIGN: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = Vec<f64>> {
        let few = prop::collection::vec(prop::sample::select(vec![0.0, -0.0, 0.02, 1.5]), 1..60);
        prop_oneof![few, prop::collection::vec(any::<f64>(), 1..60)]
    }

    proptest! {
        #[test]
        fn both_ways_find_what_sorting_finds(
            mut values in values(),
            ranks in prop::collection::vec(any::<prop::sample::Index>(), 1..8),
        ) {
            let ranks = in_order(ranks.iter().map(|rank| rank.index(values.len())).collect());
            let narrowed = narrow(|| values.iter().copied(), &ranks);
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let selected = select(&mut values, &ranks);
            for rank in ranks {
                let expected = sorted[rank].to_bits();
                let found = [narrowed.at(rank).to_bits(), selected.at(rank).to_bits()];
                prop_assert_eq!(found, [expected; 2]);
            }
        }
    }
}
