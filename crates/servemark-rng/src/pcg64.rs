//! `numpy.random.default_rng`: the PCG64 word generator and how `Generator` draws from it.
//!
//! The module knows nothing of the legacy `RandomState`, which draws integers by another rule.
//! Draws that need `Generator`'s ziggurat tables (normal, exponential, gamma) are not offered.

use crate::interval::{BitGenerator, permutation, shuffle, span};
use crate::seed_sequence::SeedSequence;
use crate::weights::Cumulative;

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// NumPy's `default_rng`: PCG64 (XSL-RR 128/64) with the methods of `Generator`.
///
/// ```
/// let mut generator = servemark_rng::Pcg64::seeded(42);
/// assert_eq!(generator.random(), 0.773_956_048_555_963_3);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pcg64 {
    state: u128,
    increment: u128,
    /// The upper half of the last word that a 32-bit draw split; floats do not change it.
    spare: Option<u32>,
}

impl Pcg64 {
    /// Creates `numpy.random.default_rng(seed)`.
    pub fn seeded(seed: u64) -> Self {
        let words = SeedSequence::from_seed(seed).generate_u64::<4>().map(u128::from);
        let [state_high, state_low, increment_high, increment_low] = words;
        let increment = (increment_high << 64 | increment_low) << 1 | 1;
        let state = increment.wrapping_add(state_high << 64 | state_low);
        let mut generator = Self { state, increment, spare: None };
        generator.step();
        generator
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// Returns the next 32 bits: the lower half of a word, then its upper half.
    pub fn next_u32(&mut self) -> u32 {
        self.spare.take().unwrap_or_else(|| {
            let word = self.next_u64();
            self.spare = Some((word >> 32) as u32);
            word as u32
        })
    }

    /// Draws `Generator.random()`: a float in `[0, 1)`.
    pub fn random(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Draws `Generator.integers(low, high)`, `high` excluded; `None` if the range is empty.
    pub fn integers(&mut self, low: i64, high: i64) -> Option<i64> {
        Some(low.wrapping_add_unsigned(self.bounded(span(low, high)?)))
    }

    /// Draws `Generator.integers(low, high, count)`; `None` if the range is empty.
    pub fn integers_vec(&mut self, low: i64, high: i64, count: usize) -> Option<Vec<i64>> {
        (0..count).map(|_| self.integers(low, high)).collect()
    }

    /// Draws `Generator.integers(0, 256, count, dtype=uint8)`: four bytes of every 32-bit draw.
    ///
    /// Bytes that are unused when the call ends are dropped, as NumPy does.
    pub fn integers_u8(&mut self, count: usize) -> Vec<u8> {
        let draws = (0..count.div_ceil(4)).flat_map(|_| self.next_u32().to_le_bytes());
        draws.take(count).collect()
    }

    /// Advances the generator to where [`integers_u8`](Self::integers_u8) would leave it, in
    /// logarithmic time.
    pub fn skip_u8(&mut self, count: u64) {
        let words = count.div_ceil(4);
        let fresh = words - u64::from(words > 0 && self.spare.take().is_some());
        self.advance(fresh / 2);
        if fresh % 2 == 1 {
            self.next_u32();
        }
    }

    /// Returns the index that `Generator.choice(items, p=weights)` takes.
    ///
    /// `None` if a weight is negative or not finite, or if all are 0. The weights need not add up
    /// to 1.
    pub fn choice_weighted(&mut self, weights: &[f64]) -> Option<usize> {
        Some(Cumulative::new(weights)?.index(self.random()))
    }

    /// Returns the indices that `Generator.choice(items, count, p=weights)` takes.
    pub fn choice_weighted_vec(&mut self, weights: &[f64], count: usize) -> Option<Vec<usize>> {
        let cumulative = Cumulative::new(weights)?;
        Some((0..count).map(|_| cumulative.index(self.random())).collect())
    }

    /// Shuffles as `Generator.shuffle(items)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        shuffle(self, items);
    }

    /// Draws `Generator.permutation(n)`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        permutation(self, n)
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    /// Makes `steps` steps at once, by repeated squaring of the step.
    fn advance(&mut self, steps: u64) {
        let (mut factor, mut summand) = (MULTIPLIER, self.increment);
        let mut left = steps;
        while left > 0 {
            if left & 1 == 1 {
                self.state = self.state.wrapping_mul(factor).wrapping_add(summand);
            }
            summand = factor.wrapping_add(1).wrapping_mul(summand);
            factor = factor.wrapping_mul(factor);
            left >>= 1;
        }
    }

    /// Draws an integer in `0..=max`, from 32-bit draws where they suffice.
    fn bounded(&mut self, max: u64) -> u64 {
        match u32::try_from(max) {
            Ok(0) => 0,
            Ok(u32::MAX) => self.next_u32().into(),
            Ok(max) => self.lemire_u32(max).into(),
            Err(_) if max == u64::MAX => self.next_u64(),
            Err(_) => self.lemire_u64(max),
        }
    }

    /// Lemire's multiplication: the high half is the result; a low half that is too small is
    /// rejected.
    fn lemire_u32(&mut self, max: u32) -> u32 {
        let range = max + 1;
        loop {
            let product = u64::from(self.next_u32()) * u64::from(range);
            if product as u32 >= range || product as u32 >= (u32::MAX - max) % range {
                return (product >> 32) as u32;
            }
        }
    }

    fn lemire_u64(&mut self, max: u64) -> u64 {
        let range = max + 1;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(range);
            if product as u64 >= range || product as u64 >= (u64::MAX - max) % range {
                return (product >> 64) as u64;
            }
        }
    }
}

impl BitGenerator for Pcg64 {
    fn next_u32(&mut self) -> u32 {
        self.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.next_u64()
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, clippy::unreadable_literal, reason = "numbers as NumPy prints them")]
mod tests {
    use super::*;

    /// Checks the first draws: `integers(0, 32000, 3)`, a float, `integers(0, 2**40, 2)`.
    #[track_caller]
    fn check(seed: u64, small: [i64; 3], float: f64, wide: [i64; 2]) {
        let mut generator = Pcg64::seeded(seed);
        assert_eq!(generator.integers_vec(0, 32000, 3).unwrap(), small);
        assert_eq!(generator.random(), float);
        assert_eq!(generator.integers_vec(0, 1 << 40, 2).unwrap(), wide);
    }

    #[test]
    fn seed_0() {
        let wide = [18172327443, 894200084524];
        check(0, [27219, 20382, 16356], 0.04097352393619469, wide);
    }

    #[test]
    fn seed_1() {
        let wide = [1043051097810, 342862307391];
        check(1, [15142, 16378, 24165], 0.14415961271963373, wide);
    }

    #[test]
    fn seed_42() {
        let wide = [766764256790, 103549089075];
        check(42, [2856, 24766, 20946], 0.8585979199113825, wide);
    }

    #[test]
    fn the_largest_seed_of_one_word() {
        let wide = [680577139510, 1028056886197];
        check(u32::MAX.into(), [6105, 8062, 23175], 0.28728472043517017, wide);
    }

    #[test]
    fn a_seed_of_two_words() {
        let wide = [741625591169, 812363961826];
        check((1 << 40) + 7, [6608, 26554, 19504], 0.15379071585298754, wide);
    }

    #[test]
    fn seeding_leaves_the_state_numpy_reports() {
        let generator = Pcg64::seeded(42);
        assert_eq!(generator.state, 274674114334540486603088602300644985544);
        assert_eq!(generator.increment, 332724090758049132448979897138935081983);
    }

    #[test]
    fn doubles_leave_the_spare_half_alone() {
        let mut generator = Pcg64::seeded(42);
        assert_eq!(generator.integers(0, 1000), Some(89));
        assert_eq!(generator.random(), 0.4388784397520523);
        assert_eq!(generator.integers(0, 1000), Some(773));
    }

    #[test]
    fn integers_switch_width_at_32_bits() {
        let mut generator = Pcg64::seeded(42);
        let mut pair = |high| generator.integers_vec(0, high, 2).unwrap();
        assert_eq!(pair(1 << 32), [383329928, 3324115917]);
        assert_eq!(pair((1 << 32) - 1), [2811363264, 1884968544]);
        assert_eq!(pair((1 << 32) + 1), [3687649987, 2995172878]);
        let full = generator.integers_vec(i64::MIN, i64::MAX, 2).unwrap();
        assert_eq!(full, [-7486106602830593558, 8773683796379128715]);
    }

    /// Ranges far from a power of two: about a third and about a half of the words are rejected.
    #[test]
    fn integers_reject_at_both_widths() {
        let mut generator = Pcg64::seeded(42);
        let narrow = generator.integers_vec(0, 3_000_000_000, 40).unwrap();
        assert_eq!(narrow[37..], [1400163010, 1493374625, 1639708511]);
        let half = 5_000_000_000_000_000_000;
        let wide = generator.integers_vec(-half, half, 40).unwrap();
        let expected = [4691763773477239191, -2277584381548409354, -4036090378465006329];
        assert_eq!(wide[37..], expected);
    }

    #[test]
    fn bytes_left_over_are_dropped_at_the_end_of_a_call() {
        let mut generator = Pcg64::seeded(42);
        assert_eq!(generator.integers_u8(6), [136, 38, 217, 22, 205, 251]);
        assert_eq!(generator.integers_u8(3), [193, 255, 145]);
    }

    #[test]
    fn bytes_that_are_skipped_are_as_good_as_drawn() {
        for count in [0, 1, 4, 5, 8, 9, 13, 1_000_003] {
            let (mut drawn, mut skipped) = (Pcg64::seeded(7), Pcg64::seeded(7));
            for _ in 0..3 {
                drawn.integers_u8(count);
                skipped.skip_u8(count as u64);
                assert_eq!(drawn, skipped, "{count}");
            }
        }
    }

    #[test]
    fn choice_with_weights() {
        let weights = [0.5, 0.25, 0.125, 0.125];
        let expected = [2, 0, 2, 1, 0, 3, 2, 2, 0, 0, 0, 3];
        assert_eq!(Pcg64::seeded(42).choice_weighted_vec(&weights, 12).unwrap(), expected);
        let mut one_by_one = Pcg64::seeded(42);
        assert_eq!(expected.map(|_| one_by_one.choice_weighted(&weights).unwrap()), expected);
    }

    #[test]
    fn shuffle_and_permutation() {
        let mut generator = Pcg64::seeded(42);
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        generator.shuffle(&mut items);
        assert_eq!(items, [5, 6, 0, 7, 3, 2, 4, 9, 1, 8]);
        assert_eq!(generator.permutation(10), [4, 8, 2, 6, 5, 9, 7, 3, 0, 1]);
    }

    #[test]
    fn what_numpy_refuses_or_knows_beforehand_draws_nothing() {
        let mut generator = Pcg64::seeded(0);
        assert_eq!(generator.integers(3, 3), None);
        assert_eq!(generator.choice_weighted(&[]), None);
        assert_eq!(generator.integers_vec(5, 6, 2).unwrap(), [5, 5]);
        assert_eq!(generator, Pcg64::seeded(0));
    }
}
