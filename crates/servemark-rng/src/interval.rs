//! Integer draws that both NumPy generators make in one way: ranges, masked intervals and shuffles.
//!
//! NumPy's C code for them is shared by all bit generators. Bounded integers are not among them:
//! `Generator.integers` has a rule of its own.

/// The draws that this module needs of a bit generator.
pub(crate) trait BitGenerator {
    fn next_u32(&mut self) -> u32;
    fn next_u64(&mut self) -> u64;
}

/// Returns the largest offset from `low` that stays below `high`; `None` if the range is empty.
pub(crate) fn span(low: i64, high: i64) -> Option<u64> {
    (low < high).then(|| high.wrapping_sub(low).cast_unsigned() - 1)
}

/// Returns an integer in `0..=max`: draws are masked to the bits of `max` and repeated while above
/// it.
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

/// Shuffles with the algorithm of Fisher and Yates, starting from the last item.
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
