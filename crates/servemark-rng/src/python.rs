//! `random.Random` of CPython 3.11: how its methods draw from the Mersenne Twister.
//!
//! The module knows nothing of NumPy, which seeds the twister in another way and draws integers by
//! another rule.

use std::collections::HashSet;

use crate::mt19937::Mt19937;

/// CPython's `random.Random`.
///
/// ```
/// let mut random = servemark_rng::PythonRandom::seeded(42);
/// assert_eq!(random.random(), 0.639_426_798_457_883_7);
/// assert_eq!(random.randint(1, 6), Some(1));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PythonRandom {
    words: Mt19937,
}

impl PythonRandom {
    /// Creates the state after `random.seed(seed)`.
    pub fn seeded(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let key: &[u32] = if high == 0 { &[low] } else { &[low, high] };
        Self { words: Mt19937::from_key(key) }
    }

    /// Draws `random.random()`: a float in `[0, 1)`.
    pub fn random(&mut self) -> f64 {
        self.words.next_f64()
    }

    /// Draws `random.getrandbits(bits)`; more than 64 bits count as 64.
    pub fn getrandbits(&mut self, bits: u32) -> u64 {
        self.bits(bits.min(64)) as u64
    }

    /// Draws `random._randbelow(n)`, which is `random.randrange(n)`; `None` if `n` is 0.
    pub fn randbelow(&mut self, n: u64) -> Option<u64> {
        (n > 0).then(|| self.below(n.into()) as u64)
    }

    /// Draws `random.randint(low, high)`, both ends included; `None` if `low > high`.
    pub fn randint(&mut self, low: i64, high: i64) -> Option<i64> {
        let width = i128::from(high) - i128::from(low) + 1;
        let width = u128::try_from(width).ok().filter(|width| *width > 0)?;
        // The offset is below 2^64, so wrapping addition ends inside `low..=high`.
        Some(low.wrapping_add_unsigned(self.below(width) as u64))
    }

    /// Shuffles as `random.shuffle(items)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index_below(i + 1));
        }
    }

    /// Draws `random.choice(items)`; `None` if there are none.
    pub fn choice<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        (!items.is_empty()).then(|| &items[self.index_below(items.len())])
    }

    /// Draws `random.choices(items, k=count)`; `None` if there are no items.
    pub fn choices<'t, T>(&mut self, items: &'t [T], count: usize) -> Option<Vec<&'t T>> {
        Some(pick(items, &self.choices_indices(items.len(), count)?))
    }

    /// Returns the indices that `random.choices` takes from `n` items; `None` if `n` is 0.
    pub fn choices_indices(&mut self, n: usize, count: usize) -> Option<Vec<usize>> {
        (n > 0).then(|| (0..count).map(|_| self.scaled_index(n)).collect())
    }

    /// Draws `random.sample(items, count)`; `None` if `count` exceeds the number of items.
    pub fn sample<'t, T>(&mut self, items: &'t [T], count: usize) -> Option<Vec<&'t T>> {
        Some(pick(items, &self.sample_indices(items.len(), count)?))
    }

    /// Returns the indices that `random.sample` takes from `n` items; `None` if `count > n`.
    pub fn sample_indices(&mut self, n: usize, count: usize) -> Option<Vec<usize>> {
        if count > n {
            return None;
        }
        let pooled = n <= sample_set_size(count);
        Some(if pooled { self.sample_pool(n, count) } else { self.sample_set(n, count) })
    }

    /// CPython's method for small populations: takes from a list and fills the gap with its last
    /// item.
    fn sample_pool(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut pool: Vec<usize> = (0..n).collect();
        (0..count).map(|_| pool.swap_remove(self.index_below(pool.len()))).collect()
    }

    /// CPython's method for large populations: draws again if the index was drawn before.
    fn sample_set(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut used = HashSet::with_capacity(count);
        (0..count)
            .map(|_| {
                loop {
                    let index = self.index_below(n);
                    if used.insert(index) {
                        break index;
                    }
                }
            })
            .collect()
    }

    #[expect(clippy::cast_sign_loss, reason = "neither factor is negative")]
    fn scaled_index(&mut self, n: usize) -> usize {
        (self.random() * n as f64) as usize
    }

    fn index_below(&mut self, n: usize) -> usize {
        self.below(n as u128) as usize
    }

    /// Draws an integer below `n`, which must not be 0. As in CPython, the bits are those of `n`,
    /// not of `n - 1`.
    fn below(&mut self, n: u128) -> u128 {
        let bits = u128::BITS - n.leading_zeros();
        loop {
            let drawn = self.bits(bits);
            if drawn < n {
                return drawn;
            }
        }
    }

    /// Draws words from the lowest to the highest; the last one gives its upper bits.
    fn bits(&mut self, bits: u32) -> u128 {
        (0..bits).step_by(32).fold(0, |drawn, at| {
            let unused = 32_u32.saturating_sub(bits - at);
            drawn | u128::from(self.words.next_u32() >> unused) << at
        })
    }
}

fn pick<'t, T>(items: &'t [T], indices: &[usize]) -> Vec<&'t T> {
    indices.iter().map(|index| &items[*index]).collect()
}

/// Returns the largest population that CPython still copies: about the size of a set of `count`
/// items.
fn sample_set_size(count: usize) -> usize {
    if count <= 5 {
        return 21;
    }
    let powers_of_four = (0..).map(|power| 4_usize.saturating_pow(power));
    powers_of_four.skip_while(|size| *size < count.saturating_mul(3)).take(1).sum::<usize>() + 21
}

#[cfg(test)]
#[expect(clippy::float_cmp, clippy::unreadable_literal, reason = "numbers as CPython prints them")]
mod tests {
    use super::*;

    /// Checks the first draws after `random.seed(seed)`: two words, a float, a wide `randint`, and
    /// 64 bits; and a shuffle of ten on a fresh stream.
    #[track_caller]
    fn check(seed: u64, words: [u64; 2], float: f64, wide: i64, long: u64, shuffled: [u8; 10]) {
        let mut random = PythonRandom::seeded(seed);
        assert_eq!([random.getrandbits(32), random.getrandbits(32)], words);
        assert_eq!(random.random(), float);
        assert_eq!(random.randint(-5, 1 << 40), Some(wide));
        assert_eq!(random.getrandbits(64), long);
        assert_eq!(shuffle_of_ten(&mut PythonRandom::seeded(seed)), shuffled);
    }

    fn shuffle_of_ten(random: &mut PythonRandom) -> [u8; 10] {
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        random.shuffle(&mut items);
        items
    }

    #[test]
    fn seed_0() {
        let shuffled = [7, 8, 1, 5, 3, 4, 2, 0, 9, 6];
        let words = [3626764237, 1654615998];
        check(0, words, 0.7579544029403025, 87705687120, 17809683713383489082, shuffled);
    }

    #[test]
    fn seed_1() {
        let shuffled = [6, 8, 9, 7, 5, 3, 0, 4, 1, 2];
        let words = [577090037, 2444712010];
        check(1, words, 0.8474337369372327, 140719340479, 2175216119781798972, shuffled);
    }

    #[test]
    fn seed_42() {
        let shuffled = [7, 3, 2, 8, 5, 6, 9, 4, 0, 1];
        let words = [2746317213, 478163327];
        check(42, words, 0.025010755222666936, 538052153938, 2574020394472462046, shuffled);
    }

    #[test]
    fn the_largest_seed_of_one_word() {
        let shuffled = [0, 7, 1, 5, 2, 6, 4, 8, 3, 9];
        let words = [2728839433, 2661025012];
        let seed = u32::MAX.into();
        check(seed, words, 0.20319993954407756, 778590199390, 9172183392114857264, shuffled);
    }

    #[test]
    fn a_seed_of_two_words() {
        let shuffled = [0, 5, 2, 3, 6, 1, 8, 4, 7, 9];
        let words = [2635837658, 3209733218];
        let seed = (1 << 40) + 7;
        check(seed, words, 0.8149162973309487, 551799892325, 11355623540167073005, shuffled);
    }

    #[test]
    fn randint_takes_any_range() {
        let mut random = PythonRandom::seeded(1);
        let past_32_bits = [3280387012, 1095513148, 1930549411].map(Some);
        assert_eq!(past_32_bits.map(|_| random.randint(0, 1 << 32)), past_32_bits);
        let full = [-7491968275375482579, 4928188522590161285].map(Some);
        assert_eq!(full.map(|_| random.randint(i64::MIN, i64::MAX)), full);
    }

    #[test]
    fn sample_takes_from_a_pool_and_then_from_a_set() {
        let mut random = PythonRandom::seeded(42);
        let pooled = random.sample_indices(20, 10).unwrap();
        assert_eq!(pooled, [3, 0, 8, 7, 16, 2, 11, 1, 10, 17]);
        let distinct = random.sample_indices(1000, 8).unwrap();
        assert_eq!(distinct, [89, 604, 432, 32, 30, 95, 223, 238]);
    }

    /// 86 triples to 258, just past 4^4, so the table has 4^5 places and 277 items make a pool.
    #[test]
    fn sample_sizes_its_table_in_powers_of_four() {
        let mut random = PythonRandom::seeded(42);
        assert_eq!(random.sample_indices(277, 86).unwrap()[..4], [57, 12, 140, 125]);
        assert_eq!(random.random(), 0.6349782881970603);
        assert_eq!([5, 6, 85, 86].map(sample_set_size), [21, 21 + 64, 21 + 256, 21 + 1024]);
    }

    #[test]
    fn items_follow_their_indices() {
        let items = ["a", "b", "c", "d"];
        let (mut random, mut indices) = (PythonRandom::seeded(3), PythonRandom::seeded(3));
        let chosen = indices.choices_indices(4, 3).unwrap();
        assert_eq!(random.choices(&items, 3).unwrap(), pick(&items, &chosen));
        let sampled = indices.sample_indices(4, 3).unwrap();
        assert_eq!(random.sample(&items, 3).unwrap(), pick(&items, &sampled));
        assert_eq!(random, indices);
    }

    #[test]
    fn what_python_refuses_is_none_and_draws_nothing() {
        let mut random = PythonRandom::seeded(0);
        assert_eq!(random.randbelow(0), None);
        assert_eq!(random.randint(1, 0), None);
        assert_eq!(random.choice::<u8>(&[]), None);
        assert_eq!(random.choices_indices(0, 1), None);
        assert_eq!(random.sample_indices(2, 3), None);
        assert_eq!(random.getrandbits(0), 0);
        assert_eq!(random, PythonRandom::seeded(0));
    }

    #[test]
    fn a_range_of_one_still_draws_bits() {
        let mut random = PythonRandom::seeded(0);
        assert_eq!(random.randint(7, 7), Some(7));
        assert_ne!(random, PythonRandom::seeded(0));
    }
}
