//! `numpy.random.RandomState`, the legacy generator: how it draws from the Mersenne Twister.
//!
//! NumPy froze this stream for good, so it is the same in every version. The module knows nothing
//! of `numpy.random.default_rng`, which is another generator with other rules.

use std::cmp::Ordering;

use crate::interval::{BitGenerator, interval, permutation, shuffle, span};
use crate::mt19937::Mt19937;
use crate::weights::Cumulative;

/// NumPy's `RandomState`, which the functions of `numpy.random` share one of.
///
/// ```
/// let mut numpy = servemark_rng::NumpyRandom::seeded(42);
/// assert_eq!(numpy.randint(1, 1025), Some(103));
/// assert_eq!(numpy.randint_vec(1, 1025, 3), Some(vec![436, 861, 271]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NumpyRandom {
    words: Mt19937,
    /// The second of the two normal values that one polar draw gives.
    spare_normal: Option<f64>,
}

impl NumpyRandom {
    /// `numpy.random.seed(seed)`; NumPy refuses a larger integer.
    pub fn seeded(seed: u32) -> Self {
        Self { words: Mt19937::from_u32_seed(seed), spare_normal: None }
    }

    /// `numpy.random.seed(key)` with a list of words.
    pub fn from_key(key: &[u32]) -> Self {
        Self { words: Mt19937::from_key(key), spare_normal: None }
    }

    /// `numpy.random.randint(low, high)`, without `high`; `None` if the range is empty.
    pub fn randint(&mut self, low: i64, high: i64) -> Option<i64> {
        Some(low.wrapping_add_unsigned(interval(&mut self.words, span(low, high)?)))
    }

    /// `numpy.random.randint(low, high, count)`; `None` if the range is empty.
    pub fn randint_vec(&mut self, low: i64, high: i64, count: usize) -> Option<Vec<i64>> {
        (0..count).map(|_| self.randint(low, high)).collect()
    }

    /// `numpy.random.random_sample()`, also called `rand`: a float in `[0, 1)`.
    pub fn random_sample(&mut self) -> f64 {
        self.words.next_f64()
    }

    /// `numpy.random.uniform(low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random_sample()
    }

    /// `numpy.random.exponential(scale)`.
    pub fn exponential(&mut self, scale: f64) -> f64 {
        scale * self.standard_exponential()
    }

    /// `numpy.random.normal(mean, deviation)`.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        mean + deviation * self.standard_normal()
    }

    /// `numpy.random.gamma(shape, scale)`; not a number, and no draw, for a negative shape.
    pub fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        scale * self.standard_gamma(shape)
    }

    /// The index that `numpy.random.choice(items, p=weights)` takes.
    ///
    /// `None` if a weight is negative or not finite, or if all are 0. The weights need not add up
    /// to 1.
    pub fn choice_weighted(&mut self, weights: &[f64]) -> Option<usize> {
        Some(Cumulative::new(weights)?.index(self.random_sample()))
    }

    /// The indices that `numpy.random.choice(items, count, p=weights)` takes.
    pub fn choice_weighted_vec(&mut self, weights: &[f64], count: usize) -> Option<Vec<usize>> {
        let cumulative = Cumulative::new(weights)?;
        Some((0..count).map(|_| cumulative.index(self.random_sample())).collect())
    }

    /// `numpy.random.shuffle(items)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        shuffle(&mut self.words, items);
    }

    /// `numpy.random.permutation(n)`, whose first `k` are also `choice(n, k, replace=False)`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        permutation(&mut self.words, n)
    }

    /// `-ln(1 - u)` and not `-ln_1p(-u)`: the two differ in the last bits of one draw in thirteen.
    fn standard_exponential(&mut self) -> f64 {
        -(1.0 - self.random_sample()).ln()
    }

    fn standard_normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let x1 = 2.0 * self.random_sample() - 1.0;
            let x2 = 2.0 * self.random_sample() - 1.0;
            let radius = x1 * x1 + x2 * x2;
            if radius < 1.0 && radius != 0.0 {
                let factor = (-2.0 * radius.ln() / radius).sqrt();
                self.spare_normal = Some(factor * x1);
                return factor * x2;
            }
        }
    }

    fn standard_gamma(&mut self, shape: f64) -> f64 {
        match shape.partial_cmp(&1.0) {
            _ if shape == 0.0 => 0.0,
            Some(Ordering::Equal) => self.standard_exponential(),
            Some(Ordering::Greater) => self.gamma_above_one(shape),
            Some(Ordering::Less) if shape > 0.0 => self.gamma_below_one(shape),
            _ => f64::NAN,
        }
    }

    /// Rejection after Ahrens and Dieter.
    fn gamma_below_one(&mut self, shape: f64) -> f64 {
        loop {
            let uniform = self.random_sample();
            let exponential = self.standard_exponential();
            if uniform <= 1.0 - shape {
                let x = uniform.powf(1.0 / shape);
                if x <= exponential {
                    return x;
                }
            } else {
                let y = -((1.0 - uniform) / shape).ln();
                let x = (1.0 - shape + shape * y).powf(1.0 / shape);
                if x <= exponential + y {
                    return x;
                }
            }
        }
    }

    /// Rejection after Marsaglia and Tsang.
    fn gamma_above_one(&mut self, shape: f64) -> f64 {
        let b = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * b).sqrt();
        loop {
            let x = self.standard_normal();
            let root = 1.0 + c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let uniform = self.random_sample();
            if uniform < 1.0 - 0.0331 * (x * x) * (x * x)
                || uniform.ln() < 0.5 * x * x + b * (1.0 - v + v.ln())
            {
                return b * v;
            }
        }
    }
}

impl BitGenerator for Mt19937 {
    fn next_u32(&mut self) -> u32 {
        self.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        let high = u64::from(self.next_u32());
        high << 32 | u64::from(self.next_u32())
    }
}
