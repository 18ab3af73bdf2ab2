//! Spread of a figure between runs of the same plan.

use serde::Serialize;

use crate::Figure;

/// Spread of a figure between runs of the same plan against the same server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunSpread {
    /// The figure.
    pub figure: Figure,
    /// Mean over the runs.
    pub mean: f64,
    /// Sample standard deviation between the runs, in percent of the mean.
    pub percent: f64,
    /// Number of runs.
    pub runs: usize,
}

impl RunSpread {
    /// Computes the spread of a figure's values in runs; absent for fewer than two values, or a
    /// mean of zero.
    pub fn of(figure: Figure, values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let percent = (squares / (count - 1.0)).sqrt() / mean.abs() * 100.0;
        let is_known = values.len() > 1 && percent.is_finite();
        is_known.then_some(Self { figure, mean, percent, runs: values.len() })
    }

    /// Returns the difference, in percent, that two groups of runs of the same plan exceed by
    /// chance in one of twenty comparisons.
    pub fn chance_percent(percent: f64, [before, after]: [usize; 2]) -> f64 {
        let runs = |count: usize| 1.0 / count.max(1) as f64;
        NORMAL * percent * (runs(before) + runs(after)).sqrt()
    }
}

/// Normal quantile of 97.5 %.
const NORMAL: f64 = 1.959_964;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantity;

    #[test]
    fn the_spread_is_the_deviation_of_a_sample() {
        let figure = Figure::new(Quantity::Requests);
        let spread = RunSpread::of(figure, &[98.0, 100.0, 102.0]).unwrap();
        assert_eq!((spread.mean, spread.percent, spread.runs), (100.0, 2.0, 3));
        assert_eq!(RunSpread::of(figure, &[98.0]), None);
        assert_eq!(RunSpread::of(figure, &[0.0, 0.0]), None);
        // The difference of two runs varies by the square root of two more than one run.
        assert!((RunSpread::chance_percent(2.0, [1, 1]) - 5.54).abs() < 0.01);
        assert!((RunSpread::chance_percent(2.0, [8, 8]) - 1.96).abs() < 0.01);
    }
}
