//! What both NumPy generators do alike with integers: ranges, masked intervals and shuffles.
//!
//! NumPy draws these from any bit generator by the same C code. Bounded integers are not among
//! them: `Generator.integers` has its own rule.

/// What NumPy asks of a bit generator here.
pub(crate) trait BitGenerator {
    fn next_u32(&mut self) -> u32;
    fn next_u64(&mut self) -> u64;
}

/// The largest offset from `low` that stays below `high`; `None` if the range is empty.
pub(crate) fn span(low: i64, high: i64) -> Option<u64> {
    (low < high).then(|| high.wrapping_sub(low).cast_unsigned() - 1)
}

/// An integer in `0..=max`: draws masked to the bits of `max`, repeated while they are above it.
pub(crate) fn interval(bits: &mut impl BitGenerator, max: u64) -> u64 {
    if max == 0 {
        return 0;
    }
    let mask = u64::MAX >> max.leading_zeros();
    let narrow = u32::try_from(max).is_ok();
    loop {
        let word = if narrow { bits.next_u32().into() } else { bits.next_u64() };
        if word & mask <= max {
            return word & mask;
        }
    }
}

/// Fisher and Yates from the top.
pub(crate) fn shuffle<T>(bits: &mut impl BitGenerator, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, interval(bits, i as u64) as usize);
    }
}

pub(crate) fn permutation(bits: &mut impl BitGenerator, n: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..n).collect();
    shuffle(bits, &mut indices);
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_reach_the_last_value_below_high() {
        assert_eq!(span(5, 5), None);
        assert_eq!(span(6, 5), None);
        assert_eq!(span(-1, 1), Some(1));
        assert_eq!(span(i64::MIN, i64::MAX), Some(u64::MAX - 1));
    }
}
