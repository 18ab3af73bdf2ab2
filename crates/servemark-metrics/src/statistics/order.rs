//! The values of a sample at some ranks, without sorting it.

/// Values at ranks.
#[derive(Clone, Debug)]
pub(crate) struct Ranked(Vec<(usize, f64)>);

impl Ranked {
    /// The value at a rank that was asked for.
    pub(crate) fn at(&self, rank: usize) -> f64 {
        let place = self.0.binary_search_by_key(&rank, |&(rank, _)| rank);
        self.0[place.expect("it was asked for")].1
    }
}

/// Ranks in order, each once.
pub(crate) fn in_order(mut ranks: Vec<usize>) -> Vec<usize> {
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// Finds the values by selection, each in what lies above the one before it. The sample is left in
/// another order.
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

/// Finds the values of a sample that is too large to keep, in four walks through it. Each tells
/// sixteen more bits of every value that is sought: those of the bucket in which its rank lies.
pub(crate) fn narrow<I: Iterator<Item = f64>>(values: impl Fn() -> I, ranks: &[usize]) -> Ranked {
    let mut sought: Vec<Sought> = ranks.iter().map(|&rank| Sought { head: 0, rank }).collect();
    for shift in [48, 32, 16, 0] {
        let mut buckets = Buckets::below(&sought, shift);
        values().for_each(|value| buckets.count(ordered_bits(value)));
        for sought in &mut sought {
            buckets.tell(sought);
        }
    }
    let found = sought.iter().map(|sought| of_ordered_bits(sought.head));
    Ranked(ranks.iter().copied().zip(found).collect())
}

/// A value as far as it is known.
struct Sought {
    /// The bits of it that are known, the highest ones.
    head: u64,
    /// Its rank among the values that begin with them.
    rank: usize,
}

/// How many values there are of each next sixteen bits, among those that begin like a value that
/// is sought.
struct Buckets {
    shift: u32,
    heads: Vec<(u64, Vec<usize>)>,
    /// The last six bits of each head, as bits of a set: most values begin like none of them, and
    /// nearly all of those need not be looked for.
    ends: u64,
}

impl Buckets {
    fn below(sought: &[Sought], shift: u32) -> Self {
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

    /// Tells a value's next bits: those of the first bucket up to which there are more values than
    /// its rank.
    fn tell(&self, sought: &mut Sought) {
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

/// The bits of a float, changed so that they are in the order of `total_cmp`.
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
