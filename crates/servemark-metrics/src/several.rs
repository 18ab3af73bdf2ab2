//! Several runs of one plan: how far their numbers lie apart.

use serde::Serialize;
use servemark_statistics::{independent_mean, mean_and_deviation};

use crate::{Figure, Metrics};

/// Several runs of one plan, number by number.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SeveralRuns {
    /// How many there were.
    pub runs: usize,
    /// What any of them has a number for.
    pub figures: Vec<FigureSpread>,
}

/// One number in several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FigureSpread {
    /// Which number.
    pub figure: Figure,
    /// How many runs have it.
    pub runs: usize,
    /// Its mean.
    pub mean: f64,
    /// Its sample standard deviation (n - 1); absent for one run.
    pub std: Option<f64>,
    /// The standard deviation over the mean, the coefficient of variation; absent where the mean is
    /// zero.
    pub cv: Option<f64>,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Where the mean of many such runs lies with 95 % confidence; it takes two runs.
    pub interval: Option<(f64, f64)>,
}

impl SeveralRuns {
    /// The numbers of runs.
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

    /// One number, if any run has it.
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
