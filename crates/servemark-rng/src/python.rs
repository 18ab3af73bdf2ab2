//! `random.Random` of CPython 3.11: how its methods draw from the Mersenne Twister.
//!
//! It knows nothing of NumPy, which seeds the same twister in another way and draws integers by
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
    /// `random.seed(seed)`.
    pub fn seeded(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let key: &[u32] = if high == 0 { &[low] } else { &[low, high] };
        Self { words: Mt19937::from_key(key) }
    }

    /// `random.random()`: a float in `[0, 1)`.
    pub fn random(&mut self) -> f64 {
        self.words.next_f64()
    }

    /// `random.getrandbits(bits)`; more than 64 bits count as 64.
    pub fn getrandbits(&mut self, bits: u32) -> u64 {
        self.bits(bits.min(64)) as u64
    }

    /// `random._randbelow(n)`, which is `random.randrange(n)`; `None` if `n` is 0.
    pub fn randbelow(&mut self, n: u64) -> Option<u64> {
        (n > 0).then(|| self.below(n.into()) as u64)
    }

    /// `random.randint(low, high)`, both ends included; `None` if `low > high`.
    pub fn randint(&mut self, low: i64, high: i64) -> Option<i64> {
        let width = i128::from(high) - i128::from(low) + 1;
        let width = u128::try_from(width).ok().filter(|width| *width > 0)?;
        // The offset is below 2^64, so wrapping addition ends inside `low..=high`.
        Some(low.wrapping_add_unsigned(self.below(width) as u64))
    }

    /// `random.shuffle(items)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index_below(i + 1));
        }
    }

    /// `random.choice(items)`; `None` if there are none.
    pub fn choice<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        (!items.is_empty()).then(|| &items[self.index_below(items.len())])
    }

    /// `random.choices(items, k=count)`; `None` if there are no items.
    pub fn choices<'t, T>(&mut self, items: &'t [T], count: usize) -> Option<Vec<&'t T>> {
        Some(pick(items, &self.choices_indices(items.len(), count)?))
    }

    /// The indices that `random.choices` takes from `n` items; `None` if `n` is 0.
    pub fn choices_indices(&mut self, n: usize, count: usize) -> Option<Vec<usize>> {
        (n > 0).then(|| (0..count).map(|_| self.scaled_index(n)).collect())
    }

    /// `random.sample(items, count)`; `None` if there are fewer items than that.
    pub fn sample<'t, T>(&mut self, items: &'t [T], count: usize) -> Option<Vec<&'t T>> {
        Some(pick(items, &self.sample_indices(items.len(), count)?))
    }

    /// The indices that `random.sample` takes from `n` items; `None` if `count > n`.
    pub fn sample_indices(&mut self, n: usize, count: usize) -> Option<Vec<usize>> {
        if count > n {
            return None;
        }
        let pooled = n <= sample_set_size(count);
        Some(if pooled { self.sample_pool(n, count) } else { self.sample_set(n, count) })
    }

    /// CPython's method for small populations: take from a list and fill the gap with its last.
    fn sample_pool(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut pool: Vec<usize> = (0..n).collect();
        (0..count).map(|_| pool.swap_remove(self.index_below(pool.len()))).collect()
    }

    /// CPython's method for large populations: draw again what was drawn before.
    fn sample_set(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut seen = HashSet::with_capacity(count);
        (0..count)
            .map(|_| {
                loop {
                    let index = self.index_below(n);
                    if seen.insert(index) {
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

    /// `n` must not be 0. The bits are those of `n`, not of `n - 1`, as in CPython.
    fn below(&mut self, n: u128) -> u128 {
        let bits = u128::BITS - n.leading_zeros();
        loop {
            let drawn = self.bits(bits);
            if drawn < n {
                return drawn;
            }
        }
    }

    /// Words from the lowest to the highest; the last gives its upper bits.
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

/// How large a population CPython still copies: about the size of a set of `count` items.
fn sample_set_size(count: usize) -> usize {
    if count <= 5 {
        return 21;
    }
    let powers_of_four = (0..).map(|power| 4_usize.saturating_pow(power));
    powers_of_four.skip_while(|size| *size < count.saturating_mul(3)).take(1).sum::<usize>() + 21
}
