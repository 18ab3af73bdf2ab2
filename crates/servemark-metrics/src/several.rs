//! Spread of figures over several runs of one plan.

use serde::Serialize;
use servemark_statistics::{independent_mean, mean_and_deviation};

use crate::{Figure, Metrics};

/// Spread of figures over several runs of one plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SeveralRuns {
    /// Number of runs.
    pub runs: usize,
    /// Spread of each figure that any of the runs has.
    pub figures: Vec<FigureSpread>,
}

/// Spread of one figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FigureSpread {
    /// The figure.
    pub figure: Figure,
    /// Number of runs that have the figure.
    pub runs: usize,
    /// Mean over the runs.
    pub mean: f64,
    /// Sample standard deviation (n - 1); absent for one run.
    pub std: Option<f64>,
    /// Coefficient of variation: the standard deviation divided by the mean; absent if the mean is
    /// zero.
    pub cv: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Confidence interval of the mean at 95 %; absent for fewer than two runs.
    pub interval: Option<(f64, f64)>,
}

impl SeveralRuns {
    /// Computes the spread of the given figures over runs.
    ///
    /// ```
    /// # use servemark_core::{Header, RunFacts, RunLog};
    /// use servemark_metrics::{Figure, MetricPolicy, Metrics, Quantity, SeveralRuns};
    ///
    /// # let header = Header::new(0, RunFacts::default(), Default::default());
    /// # let log = RunLog::new(header, Vec::new(), None);
    /// let runs = [0, 1].map(|_| Metrics::score(&log, &MetricPolicy::native()));
    /// let several = SeveralRuns::of(&[Figure::new(Quantity::Completed)], &runs);
    /// assert_eq!((several.figures[0].mean, several.figures[0].std), (0.0, Some(0.0)));
    /// ```
    pub fn of(figures: &[Figure], runs: &[Metrics]) -> Self {
        let spread = |&figure: &Figure| {
            FigureSpread::of(figure, runs.iter().filter_map(|run| figure.read(run)).collect())
        };
        Self { runs: runs.len(), figures: figures.iter().filter_map(spread).collect() }
    }

    /// Returns the spread of a figure, if any run has it.
    pub fn figure(&self, figure: Figure) -> Option<&FigureSpread> {
        self.figures.iter().find(|spread| spread.figure == figure)
    }
}

impl FigureSpread {
    #[expect(clippy::needless_pass_by_value, reason = "the values are made for this")]
    fn of(figure: Figure, values: Vec<f64>) -> Option<Self> {
        let (mean, std) = mean_and_deviation(&values)?;
        Some(Self {
            figure,
            runs: values.len(),
            mean,
            std,
            cv: std.filter(|_| mean != 0.0).map(|std| std / mean.abs()),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            interval: independent_mean(&values, 0.95),
        })
    }
}
