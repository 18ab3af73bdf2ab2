//! Estimates where a non-decreasing quantity crosses zero, by isotonic regression.

use statrs::distribution::{ContinuousCDF, Normal};

/// Distance of a quantity from zero at one place, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// Place of the measurement, such as a load, on the axis of the regression.
    pub at: f64,
    /// Value of the quantity at the place.
    pub value: f64,
    /// Standard error of the value, above zero.
    pub error: f64,
}

/// Place at which a quantity crosses zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Best estimate; absent if the fitted quantity has one sign at all places.
    pub value: Option<f64>,
    /// Lower end of the interval, which is one of the places; absent if the crossing may be below
    /// all of them.
    pub low: Option<f64>,
    /// Upper end of the interval, which is one of the places; absent if the crossing may be above
    /// all of them.
    pub high: Option<f64>,
}

impl Margin {
    /// Returns the standard error of a normal estimate that has a bound at this distance. The bound
    /// is wrong with a probability of `1 - confidence`.
    pub fn error_of(distance: f64, confidence: f64) -> f64 {
        distance / Normal::standard().inverse_cdf(confidence)
    }
}

impl Crossing {
    /// Estimates where a non-decreasing quantity crosses zero, from observations of it at some
    /// places; absent without observations.
    ///
    /// The estimate lies between the two neighbouring blocks of the isotonic regression that are
    /// below and above zero, on the line through their values after `straightened`: an increasing
    /// function that is zero at zero, after which the quantity is nearly linear in the place. The
    /// interval contains the crossings that the likelihood-ratio test does not reject: for each gap
    /// between two places the regression is fitted again with the quantity at most zero before the
    /// gap and at least zero behind it (Banerjee and Wellner 2001).
    pub fn of(
        margins: &[Margin],
        straightened: impl Fn(f64) -> f64,
        confidence: f64,
    ) -> Option<Self> {
        let mut margins = margins.to_vec();
        margins.sort_by(|one, other| one.at.total_cmp(&other.at));
        let blocks = blocks(&margins);
        let (first, last) = (blocks.first()?, blocks.last()?);
        let misfits: Vec<f64> = (0..=margins.len()).map(|gap| misfit(&margins, gap)).collect();
        let best = misfits.iter().copied().fold(f64::INFINITY, f64::min);
        // The limit of chi-squared with one degree of freedom is never below that of the test.
        let limit = Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence)).powi(2);
        let is_possible = |gap: &usize| misfits[*gap] - best <= limit;
        let lowest = (0..misfits.len()).find(is_possible)?;
        let highest = (0..misfits.len()).rev().find(is_possible)?;
        let is_crossed = first.value() < 0.0 && last.value() >= 0.0;
        Some(Self {
            value: is_crossed.then(|| zero_between(&blocks, straightened)),
            low: lowest.checked_sub(1).map(|place| margins[place].at),
            high: margins.get(highest).map(|margin| margin.at),
        })
    }
}

/// Neighbouring places for which the regression has one value.
#[derive(Clone, Copy, Debug)]
struct Block {
    weight: f64,
    /// Weighted sum of the values at the places; `places` is the weighted sum of the places.
    values: f64,
    places: f64,
    count: usize,
    /// First and last place.
    ends: (f64, f64),
}

impl Block {
    fn of(margin: &Margin) -> Self {
        let weight = margin.error.powi(-2);
        let (values, places) = (weight * margin.value, weight * margin.at);
        Self { weight, values, places, count: 1, ends: (margin.at, margin.at) }
    }

    fn value(&self) -> f64 {
        self.values / self.weight
    }

    fn place(&self) -> f64 {
        self.places / self.weight
    }

    fn joined(self, other: Self) -> Self {
        Self {
            weight: self.weight + other.weight,
            values: self.values + other.values,
            places: self.places + other.places,
            count: self.count + other.count,
            ends: (self.ends.0, other.ends.1),
        }
    }
}

/// Computes the isotonic regression of margins sorted by place, by pooling adjacent violators.
fn blocks(margins: &[Margin]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for margin in margins {
        let mut next = Block::of(margin);
        while let Some(before) = blocks.pop_if(|before| before.value() > next.value()) {
            next = before.joined(next);
        }
        blocks.push(next);
    }
    blocks
}

/// Returns the misfit of the regression that is at most zero at the first `gap` places and at least
/// zero at the others. The bounded regression is the free one, cut off at its bound.
fn misfit(margins: &[Margin], gap: usize) -> f64 {
    let (before, behind) = margins.split_at(gap);
    let of = |side: &[Margin], bound: fn(f64) -> f64| {
        let blocks = blocks(side);
        let fits = blocks.iter().flat_map(|block| vec![bound(block.value()); block.count]);
        let misfits =
            fits.zip(side).map(|(fit, margin)| ((margin.value - fit) / margin.error).powi(2));
        misfits.sum::<f64>()
    };
    of(before, |value| value.min(0.0)) + of(behind, |value| value.max(0.0))
}

/// Returns where the line through the straightened values of the blocks reaches zero, moved out of
/// blocks. The first block must be below zero and the last one must not.
fn zero_between(blocks: &[Block], straightened: impl Fn(f64) -> f64) -> f64 {
    let above = blocks.partition_point(|block| block.value() < 0.0);
    let (below, above) = (blocks[above - 1], blocks[above]);
    let (low, high) = (straightened(below.value()), straightened(above.value()));
    let part = -low / (high - low);
    let zero = below.place() + part * (above.place() - below.place());
    zero.clamp(below.ends.1, above.ends.0)
}

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;

    fn margins(rows: &[(f64, f64, f64)]) -> Vec<Margin> {
        rows.iter()
            .map(|(at, value, error)| Margin { at: *at, value: *value, error: *error })
            .collect()
    }

    #[test]
    fn what_is_seen_exactly_crosses_between_its_neighbours() {
        let rows = margins(&[(4.0, 2.0, 0.1), (1.0, -3.0, 0.1), (2.0, -1.0, 0.1)]);
        let found = Crossing::of(&rows, |value| value, 0.95).unwrap();
        let near = found.value.unwrap();
        assert!((near - (2.0 + 2.0 / 3.0)).abs() < 1e-12, "{near}");
        assert_eq!((found.low, found.high), (Some(2.0), Some(4.0)));
    }

    #[test]
    fn the_estimate_lies_on_the_line_through_straightened_values() {
        let rows = margins(&[(1.0, -3.0, 0.1), (3.0, 0.5, 0.1)]);
        let double_below = |value: f64| if value < 0.0 { 2.0 * value } else { value };
        let found = Crossing::of(&rows, double_below, 0.95).unwrap();
        assert!((found.value.unwrap() - (1.0 + 2.0 * 6.0 / 6.5)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn violators_are_pooled_and_uncertain_places_widen_the_interval() {
        let rows = margins(&[(1.0, -1.0, 0.1), (2.0, 0.2, 0.3), (3.0, -0.2, 0.3), (4.0, 1.0, 0.1)]);
        let found = Crossing::of(&rows, |value| value, 0.95).unwrap();
        assert!((found.value.unwrap() - 2.0).abs() < 1e-12, "{found:?}");
        assert_eq!((found.low, found.high), (Some(1.0), Some(4.0)));
    }

    #[test]
    fn one_sign_everywhere_leaves_one_end_open() {
        let found =
            Crossing::of(&margins(&[(1.0, -1.0, 0.1), (2.0, -0.5, 0.1)]), |value| value, 0.95)
                .unwrap();
        assert_eq!((found.value, found.low, found.high), (None, Some(2.0), None));
        let found = Crossing::of(&margins(&[(1.0, 1.0, 0.1)]), |value| value, 0.95).unwrap();
        assert_eq!((found.value, found.low, found.high), (None, None, Some(1.0)));
        assert_eq!(Crossing::of(&[], |value| value, 0.95), None);
    }

    #[test]
    fn intervals_miss_as_rarely_as_they_say() {
        let mut random = NumpyRandom::seeded(3);
        let misses = (0..1000).filter(|_| {
            let truth = 5.0 + random.random_sample();
            let observed = |at: u32| {
                let at = f64::from(at) / 2.0;
                let value = (at - truth) * 0.3 + random.normal(0.0, 0.2);
                Margin { at, value, error: 0.2 }
            };
            let rows: Vec<Margin> = (0..22).map(observed).collect();
            let found = Crossing::of(&rows, |value| value, 0.95).unwrap();
            found.low.is_some_and(|low| truth < low) || found.high.is_some_and(|high| high < truth)
        });
        assert!(misses.count() <= 50);
    }

    #[test]
    fn a_bound_at_one_point_six_errors_is_one_of_95_percent() {
        assert!((Margin::error_of(1.644_853_626_951_472_7, 0.95) - 1.0).abs() < 1e-9);
    }
}
