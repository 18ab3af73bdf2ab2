//! The Mersenne Twister: the word generator under `CPython`'s `random` and `NumPy`'s `RandomState`.
//!
//! The module seeds, twists and tempers; the two callers draw from its words by different rules.

use std::fmt;

const SIZE: usize = 624;
const MIDDLE: usize = 397;

/// The MT19937 word generator.
///
/// ```
/// let mut words = servemark_rng::Mt19937::from_u32_seed(5489);
/// assert_eq!(words.next_u32(), 3_499_211_612);
/// ```
#[derive(Clone, Eq, PartialEq)]
pub struct Mt19937 {
    words: Box<[u32; SIZE]>,
    /// Index of the next word to return; `SIZE` when all are used up.
    next: usize,
}

impl Mt19937 {
    /// Seeds from one word, as `init_genrand` of the reference implementation does.
    pub fn from_u32_seed(seed: u32) -> Self {
        let mut words = Box::new([seed; SIZE]);
        for i in 1..SIZE {
            words[i] = spread(words[i - 1]).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Self { words, next: SIZE }
    }

    /// Seeds from several words, as `init_by_array` does; an empty key counts as `[0]`.
    pub fn from_key(key: &[u32]) -> Self {
        let key = if key.is_empty() { &[0] } else { key };
        let mut generator = Self::from_u32_seed(19_650_218);
        let mut at = 1;
        for j in (0..key.len()).cycle().take(SIZE.max(key.len())) {
            let mixed = generator.mix(at, 1_664_525);
            generator.words[at] = mixed.wrapping_add(key[j]).wrapping_add(j as u32);
            at = generator.advance(at);
        }
        for _ in 1..SIZE {
            generator.words[at] = generator.mix(at, 1_566_083_941).wrapping_sub(at as u32);
            at = generator.advance(at);
        }
        generator.words[0] = 0x8000_0000;
        generator
    }

    /// Returns the next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        temper(self.next_raw())
    }

    /// Returns a float in `[0, 1)` with 53 random bits from two words.
    pub fn next_f64(&mut self) -> f64 {
        let high = self.next_u32() >> 5;
        let low = self.next_u32() >> 6;
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// Replaces the state by the sum of the states after these numbers of words, each less than
    /// [`DEGREE`].
    pub(crate) fn sum_states(&mut self, after: &[usize]) {
        let mut ahead = self.clone();
        let coming: Vec<u32> = (0..DEGREE + SIZE).map(|_| ahead.next_raw()).collect();
        self.words.fill(0);
        for power in after {
            let later = &coming[*power..*power + SIZE];
            self.words.iter_mut().zip(later).for_each(|(word, later)| *word ^= later);
        }
        self.next = 0;
    }

    /// Skips the next `count` words, many times faster than drawing them.
    pub fn skip(&mut self, count: u64) {
        let mut count = count;
        while count > (SIZE - self.next) as u64 {
            count -= (SIZE - self.next) as u64;
            self.twist();
        }
        self.next += count as usize;
    }

    fn mix(&self, at: usize, multiplier: u32) -> u32 {
        self.words[at] ^ spread(self.words[at - 1]).wrapping_mul(multiplier)
    }

    /// Steps a seeding position from 1 to 623 and around again, and copies the last word to the
    /// front.
    fn advance(&mut self, at: usize) -> usize {
        if at + 1 < SIZE {
            return at + 1;
        }
        self.words[0] = self.words[SIZE - 1];
        1
    }

    fn next_raw(&mut self) -> u32 {
        if self.next == SIZE {
            self.twist();
        }
        let word = self.words[self.next];
        self.next += 1;
        word
    }

    /// Generates the next 624 words. The loops read only ahead of what they write or far behind it,
    /// so that the compiler can vectorise them: skipping consists of nothing else.
    fn twist(&mut self) {
        let words = &mut *self.words;
        for i in 0..SIZE - MIDDLE {
            words[i] = twisted(words[i], words[i + 1], words[i + MIDDLE]);
        }
        for i in SIZE - MIDDLE..SIZE - 1 {
            words[i] = twisted(words[i], words[i + 1], words[i + MIDDLE - SIZE]);
        }
        words[SIZE - 1] = twisted(words[SIZE - 1], words[0], words[MIDDLE - 1]);
        self.next = 0;
    }
}

/// The number of bits in the generator's state, and the degree of its polynomial.
pub(crate) const DEGREE: usize = 19_937;

impl fmt::Debug for Mt19937 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mt19937").field("next", &self.next).finish_non_exhaustive()
    }
}

fn twisted(word: u32, following: u32, far: u32) -> u32 {
    let joined = (word & 0x8000_0000) | (following & 0x7fff_ffff);
    far ^ (joined >> 1) ^ (0x9908_b0df & (following & 1).wrapping_neg())
}

fn spread(word: u32) -> u32 {
    word ^ (word >> 30)
}

fn temper(mut word: u32) -> u32 {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    word ^ (word >> 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut generator: Mt19937, first: [u32; 5]) {
        assert_eq!(first.map(|_| generator.next_u32()), first);
    }

    #[test]
    fn seeds_from_one_word() {
        check(Mt19937::from_u32_seed(5489), REFERENCE_DEFAULT);
    }

    /// The first line of `mt19937ar.out`, which comes with the reference implementation.
    #[test]
    fn seeds_from_a_key() {
        check(Mt19937::from_key(&[0x123, 0x234, 0x345, 0x456]), REFERENCE_KEYED);
    }

    #[test]
    fn an_empty_key_is_zero() {
        assert_eq!(Mt19937::from_key(&[]), Mt19937::from_key(&[0]));
    }

    #[track_caller]
    fn check_skip(already: usize, count: u64) {
        let mut drawn = Mt19937::from_u32_seed(7);
        (0..already).for_each(|_| _ = drawn.next_u32());
        let mut skipped = drawn.clone();
        (0..count).for_each(|_| _ = drawn.next_u32());
        skipped.skip(count);
        assert_eq!(skipped.next_u32(), drawn.next_u32());
        assert_eq!(skipped, drawn);
    }

    #[test]
    fn skipping_is_drawing_without_looking() {
        for count in [0, 1, 623, 624, 625, 5000] {
            check_skip(0, count);
            check_skip(1, count);
            check_skip(624, count);
        }
    }

    const REFERENCE_DEFAULT: [u32; 5] =
        [3_499_211_612, 581_869_302, 3_890_346_734, 3_586_334_585, 545_404_204];
    const REFERENCE_KEYED: [u32; 5] =
        [1_067_595_299, 955_945_823, 477_289_528, 4_107_218_783, 4_228_976_476];
}
