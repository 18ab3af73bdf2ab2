//! `numpy.random.default_rng`: the PCG64 word generator and how `Generator` draws from it.
//!
//! It knows nothing of the legacy `RandomState`, whose integers come by another rule. Draws that
//! need `Generator`'s ziggurat tables (normal, exponential, gamma) are not offered.

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
    /// The upper half of the last word that a 32-bit draw split; doubles leave it alone.
    spare: Option<u32>,
}

impl Pcg64 {
    /// `numpy.random.default_rng(seed)`.
    pub fn seeded(seed: u64) -> Self {
        let words = SeedSequence::from_seed(seed).generate_u64::<4>().map(u128::from);
        let [state_high, state_low, increment_high, increment_low] = words;
        let increment = (increment_high << 64 | increment_low) << 1 | 1;
        let state = increment.wrapping_add(state_high << 64 | state_low);
        let mut generator = Self { state, increment, spare: None };
        generator.step();
        generator
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// The next 32 bits: the lower half of a word, then its upper half.
    pub fn next_u32(&mut self) -> u32 {
        self.spare.take().unwrap_or_else(|| {
            let word = self.next_u64();
            self.spare = Some((word >> 32) as u32);
            word as u32
        })
    }

    /// `Generator.random()`: a float in `[0, 1)`.
    pub fn random(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// `Generator.integers(low, high)`, without `high`; `None` if the range is empty.
    pub fn integers(&mut self, low: i64, high: i64) -> Option<i64> {
        Some(low.wrapping_add_unsigned(self.bounded(span(low, high)?)))
    }

    /// `Generator.integers(low, high, count)`; `None` if the range is empty.
    pub fn integers_vec(&mut self, low: i64, high: i64, count: usize) -> Option<Vec<i64>> {
        (0..count).map(|_| self.integers(low, high)).collect()
    }

    /// `Generator.integers(0, 256, count, dtype=uint8)`: four bytes of every 32-bit draw.
    ///
    /// NumPy drops the bytes it did not use when the call ends, and so does this.
    pub fn integers_u8(&mut self, count: usize) -> Vec<u8> {
        let draws = (0..count.div_ceil(4)).flat_map(|_| self.next_u32().to_le_bytes());
        draws.take(count).collect()
    }

    /// The index that `Generator.choice(items, p=weights)` takes.
    ///
    /// `None` if a weight is negative or not finite, or if all are 0. The weights need not add up
    /// to 1.
    pub fn choice_weighted(&mut self, weights: &[f64]) -> Option<usize> {
        Some(Cumulative::new(weights)?.index(self.random()))
    }

    /// The indices that `Generator.choice(items, count, p=weights)` takes.
    pub fn choice_weighted_vec(&mut self, weights: &[f64], count: usize) -> Option<Vec<usize>> {
        let cumulative = Cumulative::new(weights)?;
        Some((0..count).map(|_| cumulative.index(self.random())).collect())
    }

    /// `Generator.shuffle(items)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        shuffle(self, items);
    }

    /// `Generator.permutation(n)`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        permutation(self, n)
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    /// An integer in `0..=max`, from 32-bit draws where they suffice.
    fn bounded(&mut self, max: u64) -> u64 {
        match u32::try_from(max) {
            Ok(0) => 0,
            Ok(u32::MAX) => self.next_u32().into(),
            Ok(max) => self.lemire_u32(max).into(),
            Err(_) if max == u64::MAX => self.next_u64(),
            Err(_) => self.lemire_u64(max),
        }
    }

    /// Lemire's multiplication: the high half is the result, a too small low half is rejected.
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
