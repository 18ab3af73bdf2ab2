//! `numpy.random.RandomState`, the legacy generator: how it draws from the Mersenne Twister.
//!
//! NumPy has frozen this stream, so it is the same in every version. The module knows nothing of
//! `numpy.random.default_rng`, which is another generator with other rules.

use std::cmp::Ordering;

use crate::interval::{BitGenerator, interval, permutation, shuffle, span};
use crate::leap::Leap;
use crate::mt19937::Mt19937;
use crate::weights::Cumulative;

/// NumPy's `RandomState`; the functions of `numpy.random` share one instance of it.
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
    /// Creates the state after `numpy.random.seed(seed)`; NumPy refuses integers above 32 bits.
    pub fn seeded(seed: u32) -> Self {
        Self { words: Mt19937::from_u32_seed(seed), spare_normal: None }
    }

    /// Creates the state after `numpy.random.seed(key)` with a list of words.
    pub fn from_key(key: &[u32]) -> Self {
        Self { words: Mt19937::from_key(key), spare_normal: None }
    }

    /// Draws `numpy.random.randint(low, high)`, `high` excluded; `None` if the range is empty.
    pub fn randint(&mut self, low: i64, high: i64) -> Option<i64> {
        Some(low.wrapping_add_unsigned(interval(&mut self.words, span(low, high)?)))
    }

    /// Draws `numpy.random.randint(low, high, count)`; `None` if the range is empty.
    pub fn randint_vec(&mut self, low: i64, high: i64, count: usize) -> Option<Vec<i64>> {
        (0..count).map(|_| self.randint(low, high)).collect()
    }

    /// Draws `numpy.random.random_sample()`, also called `rand`: a float in `[0, 1)`.
    pub fn random_sample(&mut self) -> f64 {
        self.words.next_f64()
    }

    /// Advances the generator to where `numpy.random.rand(count)` leaves it, without computing the
    /// floats.
    pub fn skip_samples(&mut self, count: u64) {
        self.words.skip(2 * count);
    }

    /// Advances the generator by the floats of a leap.
    pub fn leap(&mut self, leap: &Leap) {
        self.words.leap(leap);
    }

    /// Draws `numpy.random.uniform(low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random_sample()
    }

    /// Draws `numpy.random.exponential(scale)`.
    pub fn exponential(&mut self, scale: f64) -> f64 {
        scale * self.standard_exponential()
    }

    /// Draws `numpy.random.normal(mean, deviation)`.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        mean + deviation * self.standard_normal()
    }

    /// Draws `numpy.random.gamma(shape, scale)`; NaN, and no draw, for a negative shape.
    pub fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        scale * self.standard_gamma(shape)
    }

    /// Draws `numpy.random.zipf(exponent)`: a whole number of at least one, by the method of
    /// Devroye. Returns one for an exponent of at most one, which NumPy refuses.
    pub fn zipf(&mut self, exponent: f64) -> i64 {
        if exponent.is_nan() || exponent <= 1.0 {
            return 1;
        }
        let less_one = exponent - 1.0;
        let scale = less_one.exp2();
        loop {
            let (uniform, judge) = (1.0 - self.random_sample(), self.random_sample());
            let value = uniform.powf(-1.0 / less_one).floor();
            let ratio = (1.0 + 1.0 / value).powf(less_one);
            let is_drawn = judge * value * (ratio - 1.0) / (scale - 1.0) <= ratio / scale;
            if value >= 1.0 && value <= i64::MAX as f64 && is_drawn {
                return value as i64;
            }
        }
    }

    /// Returns the index that `numpy.random.choice(items, p=weights)` takes.
    ///
    /// `None` if a weight is negative or not finite, or if all are 0. The weights need not add up
    /// to 1.
    pub fn choice_weighted(&mut self, weights: &[f64]) -> Option<usize> {
        Some(Cumulative::new(weights)?.index(self.random_sample()))
    }

    /// Returns the indices that `numpy.random.choice(items, count, p=weights)` takes.
    pub fn choice_weighted_vec(&mut self, weights: &[f64], count: usize) -> Option<Vec<usize>> {
        let cumulative = Cumulative::new(weights)?;
        Some((0..count).map(|_| cumulative.index(self.random_sample())).collect())
    }

    /// Shuffles as `numpy.random.shuffle(items)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        shuffle(&mut self.words, items);
    }

    /// Draws `numpy.random.permutation(n)`, whose first `k` items are also `choice(n, k,
    /// replace=False)`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        permutation(&mut self.words, n)
    }

    /// Draws `numpy.random.standard_exponential()`. It is `-ln(1 - u)` and not `-ln_1p(-u)`: the
    /// two differ in the last bits of one draw in thirteen.
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

    /// Draws a gamma variate with a shape below one: the rejection method of Ahrens and Dieter.
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

    /// Rejection method of Marsaglia and Tsang.
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

#[cfg(test)]
#[expect(clippy::float_cmp, clippy::unreadable_literal, reason = "numbers as NumPy prints them")]
mod tests {
    use super::*;

    /// Checks the first draws after `seed(..)`: `randint(0, 32000, 3)`, a float, and two pairs of
    /// `randint` whose ranges need 64 and 32 bits.
    #[track_caller]
    fn check(seed: u32, small: [i64; 3], float: f64, wide: [i64; 2], word: [i64; 2]) {
        let mut numpy = NumpyRandom::seeded(seed);
        assert_eq!(numpy.randint_vec(0, 32000, 3).unwrap(), small);
        assert_eq!(numpy.random_sample(), float);
        assert_eq!(numpy.randint_vec(0, 1 << 40, 2).unwrap(), wide);
        assert_eq!(numpy.randint_vec(0, 1 << 32, 2).unwrap(), word);
    }

    #[track_caller]
    fn check_gamma(shape: f64, scale: f64, expected: [f64; 3]) {
        let mut numpy = NumpyRandom::seeded(42);
        assert_eq!(expected.map(|_| numpy.gamma(shape, scale)), expected);
    }

    #[test]
    fn seed_0() {
        let wide = [1080377046723, 444201214985];
        check(0, [2732, 10799, 9845], 0.8442657485810173, wide, [2678185683, 2774094101]);
    }

    #[test]
    fn seed_1() {
        let wide = [589709028043, 571860962127];
        check(1, [29733, 235, 12172], 0.9325573593386588, wide, [1013994432, 396591248]);
    }

    #[test]
    fn seed_42() {
        let wide = [307513896636, 86569440870];
        check(42, [23654, 15795, 860], 0.1834347898661638, wide, [1914837113, 669991378]);
    }

    #[test]
    fn the_largest_seed() {
        let (wide, word) = ([278227996886, 1073818874329], [1217888032, 4163996287]);
        check(u32::MAX, [27043, 16674, 27660], 0.5626933782475836, wide, word);
    }

    #[test]
    fn a_list_as_seed() {
        let mut numpy = NumpyRandom::from_key(&[7, 256]);
        assert_eq!(numpy.randint_vec(0, 32000, 3).unwrap(), [12506, 9314, 23221]);
    }

    #[test]
    fn randint_takes_nearly_the_full_range() {
        let drawn = NumpyRandom::seeded(42).randint_vec(i64::MIN, i64::MAX, 2).unwrap();
        assert_eq!(drawn, [-2314326399425823309, 8314211556539077902]);
    }

    #[test]
    fn uniform() {
        let mut numpy = NumpyRandom::seeded(42);
        let expected = [0.49816047538944996, 2.8028572256396647];
        assert_eq!(expected.map(|_| numpy.uniform(-1.0, 3.0)), expected);
    }

    #[test]
    fn samples_may_be_skipped() {
        let (mut drawn, mut skipped) = (NumpyRandom::seeded(3), NumpyRandom::seeded(3));
        (0..1001).for_each(|_| _ = drawn.random_sample());
        skipped.skip_samples(1001);
        assert_eq!(skipped.random_sample(), drawn.random_sample());
    }

    #[test]
    fn exponential() {
        let mut numpy = NumpyRandom::seeded(0);
        let expected = [0.397937254081555, 0.6279653814829189, 0.4616115729020344];
        assert_eq!(expected.map(|_| numpy.exponential(0.5)), expected);
    }

    /// The second value is the spare of the first draw, the third a new draw.
    #[test]
    fn normal() {
        let mut numpy = NumpyRandom::seeded(0);
        let expected = [4.528104691935328, 1.8003144167344467, 2.9574759682114786];
        assert_eq!(expected.map(|_| numpy.normal(1.0, 2.0)), expected);
    }

    #[test]
    fn gamma_below_one() {
        check_gamma(0.5, 0.2, [0.028056060125239285, 0.131803606568437, 0.004868363233101258]);
        check_gamma(0.25, 1.0, [0.019678562743776044, 0.2870978544463009, 0.0005925240142353032]);
    }

    #[test]
    fn gamma_of_one_is_exponential() {
        check_gamma(1.0, 0.1, [0.04692680899768591, 0.3010121430917521, 0.13167456935454494]);
    }

    #[test]
    fn gamma_above_one() {
        check_gamma(2.5, 0.04, [0.11932541461699252, 0.0787781182992805, 0.07359820546982314]);
        check_gamma(100.0, 0.01, [1.0470821902101626, 0.9829269251652163, 0.9734726703951789]);
    }

    /// After many draws every branch of the rejection methods has been taken.
    #[test]
    fn gamma_after_many_draws() {
        let last = |shape| {
            let mut numpy = NumpyRandom::seeded(42);
            (0..1000).map(|_| numpy.gamma(shape, 1.0)).last()
        };
        assert_eq!([0.5, 2.5].map(last), [1.4024298450690678, 1.2472351521946092].map(Some));
    }

    #[test]
    fn choice_with_weights() {
        let weights = [0.5, 0.25, 0.125, 0.125];
        let expected = [0, 3, 1, 1, 0, 0, 0, 2, 1, 1, 0, 3];
        let mut numpy = NumpyRandom::seeded(42);
        assert_eq!(numpy.choice_weighted_vec(&weights, 12).unwrap(), expected);
        let mut one_by_one = NumpyRandom::seeded(42);
        assert_eq!(expected.map(|_| one_by_one.choice_weighted(&weights).unwrap()), expected);
    }

    #[test]
    fn shuffle_and_permutation() {
        let mut numpy = NumpyRandom::seeded(42);
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        numpy.shuffle(&mut items);
        assert_eq!(items, [8, 1, 5, 0, 7, 2, 9, 4, 3, 6]);
        assert_eq!(numpy.permutation(10), [0, 1, 8, 5, 3, 4, 7, 9, 6, 2]);
    }

    #[test]
    fn what_numpy_refuses_draws_nothing() {
        let mut numpy = NumpyRandom::seeded(0);
        assert_eq!(numpy.randint(3, 3), None);
        assert_eq!(numpy.randint_vec(3, 2, 5), None);
        assert_eq!(numpy.choice_weighted(&[]), None);
        assert_eq!(numpy.choice_weighted(&[0.0, 0.0]), None);
        assert_eq!(numpy.choice_weighted(&[1.0, -0.5]), None);
        assert_eq!(numpy.choice_weighted_vec(&[f64::NAN], 2), None);
        assert!(numpy.gamma(-1.0, 1.0).is_nan());
        assert!(numpy.gamma(f64::NAN, 1.0).is_nan());
        assert_eq!(numpy, NumpyRandom::seeded(0));
    }

    #[test]
    fn certain_outcomes_draw_nothing() {
        let mut numpy = NumpyRandom::seeded(0);
        assert_eq!(numpy.randint_vec(512, 513, 3).unwrap(), [512; 3]);
        assert_eq!(numpy.gamma(0.0, 1.0), 0.0);
        assert_eq!(numpy, NumpyRandom::seeded(0));
    }
}
