//! Leaps of the Mersenne Twister: its state after very many words, without generating them.
//!
//! A step of the generator is linear over the field of two elements, so n steps are a polynomial in
//! one step: `x^n` modulo the characteristic polynomial of the generator. Computing it takes a
//! tenth of a second; applying it takes less than a millisecond, however large n is.

use crate::mt19937::{DEGREE, Mt19937};

/// A leap over a fixed number of words, computed once and applied often.
///
/// ```
/// use servemark_rng::{Leap, Mt19937};
///
/// let (mut leaping, mut walking) = (Mt19937::from_u32_seed(7), Mt19937::from_u32_seed(7));
/// leaping.leap(&Leap::of_words(1_000_000));
/// walking.skip(1_000_000);
/// assert_eq!(leaping.next_u32(), walking.next_u32());
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Leap {
    /// The powers of the step that are summed.
    powers: Vec<usize>,
}

impl Leap {
    /// Computes the leap over `count` words.
    pub fn of_words(count: u64) -> Self {
        let modulus = characteristic();
        let mut power = Bits::one();
        for at in (0..u64::BITS - count.leading_zeros()).rev() {
            power = power.squared();
            if count >> at & 1 == 1 {
                power.times_x();
            }
            power.reduce(&modulus);
        }
        Self { powers: (0..DEGREE).filter(|at| power.has(*at)).collect() }
    }

    /// Computes the leap over `count` of NumPy's floats, each of which takes two words.
    pub fn of_samples(count: u64) -> Self {
        Self::of_words(2 * count)
    }
}

impl Mt19937 {
    /// Skips the words of a leap. Later draws are those that follow after that many words, but the
    /// generator does not compare as equal to one that generated them, because it is at another
    /// position of its block.
    pub fn leap(&mut self, leap: &Leap) {
        self.sum_states(&leap.powers);
    }
}

/// Computes the generator's characteristic polynomial from one bit of its words, with the
/// Berlekamp-Massey algorithm.
fn characteristic() -> Bits {
    let mut words = Mt19937::from_u32_seed(1);
    let (mut connection, mut previous) = (Bits::one(), Bits::one());
    let (mut recent, mut length, mut since) = (Bits::zero(), 0, 1);
    for used in 0..2 * DEGREE {
        recent.times_x();
        recent.0[0] |= u64::from(words.next_u32() & 1);
        if !connection.is_odd_with(&recent) {
            since += 1;
        } else if 2 * length <= used {
            let before = connection.clone();
            connection.add_shifted(&previous, since);
            (previous, length, since) = (before, used + 1 - length, 1);
        } else {
            connection.add_shifted(&previous, since);
            since += 1;
        }
    }
    connection.reversed()
}

/// A polynomial over the field of two elements: bit i is the coefficient of `x^i`.
#[derive(Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn zero() -> Self {
        Self(vec![0; 2 * DEGREE / 64 + 2])
    }

    fn one() -> Self {
        let mut one = Self::zero();
        one.0[0] = 1;
        one
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn times_x(&mut self) {
        let mut carry = 0;
        for word in &mut self.0 {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
    }

    /// Returns the square: each coefficient moves to twice its position, because the mixed terms
    /// cancel in pairs.
    fn squared(&self) -> Self {
        let mut square = Self::zero();
        for (at, word) in self.0.iter().enumerate().take(DEGREE / 64 + 1) {
            square.0[2 * at] = spread(*word as u32);
            square.0[2 * at + 1] = spread((*word >> 32) as u32);
        }
        square
    }

    /// Adds `other` times `x^shift`.
    fn add_shifted(&mut self, other: &Self, shift: usize) {
        let (words, bits) = (shift / 64, shift % 64);
        let mut carry = 0;
        for (word, other) in self.0[words..].iter_mut().zip(&other.0) {
            *word ^= other << bits | carry;
            carry = other.checked_shr(64 - bits as u32).unwrap_or(0);
        }
    }

    /// Reduces this polynomial modulo one of the generator's degree.
    fn reduce(&mut self, modulus: &Self) {
        for at in (DEGREE..=2 * DEGREE).rev() {
            if self.has(at) {
                self.add_shifted(modulus, at - DEGREE);
            }
        }
    }

    /// Returns whether the number of positions with a coefficient in both is odd.
    fn is_odd_with(&self, other: &Self) -> bool {
        let common = self.0.iter().zip(&other.0).fold(0, |sum, (one, other)| sum ^ (one & other));
        common.count_ones() % 2 == 1
    }

    fn reversed(&self) -> Self {
        let mut reversed = Self::zero();
        for at in (0..=DEGREE).filter(|at| self.has(*at)) {
            reversed.0[(DEGREE - at) / 64] |= 1 << ((DEGREE - at) % 64);
        }
        reversed
    }
}

/// Inserts a zero bit after each bit of a word.
fn spread(word: u32) -> u64 {
    let mut bits = u64::from(word);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: u64) {
        let leap = Leap::of_words(words);
        for before in [0, 1, 623, 624, 700] {
            let mut walking = Mt19937::from_u32_seed(9);
            walking.skip(before);
            let mut leaping = walking.clone();
            walking.skip(words);
            leaping.leap(&leap);
            let same = (0..2000).all(|_| walking.next_u32() == leaping.next_u32());
            assert!(same, "{words} words after {before}");
        }
    }

    #[test]
    fn a_leap_ends_where_a_walk_does() {
        [0, 1, 624, 19_936, 12_441_600].into_iter().for_each(check);
    }

    #[test]
    fn the_polynomial_has_the_generators_degree() {
        let found = characteristic();
        assert!(found.has(DEGREE) && found.has(0));
        assert_eq!(found.0.iter().map(|word| word.count_ones()).sum::<u32>(), 135);
    }
}
