//! Tests whether a comparison shows that figures are not worse by more than a tolerance.

use std::fmt;
use std::str::FromStr;

use super::{ChangeInterval, Comparison};
use crate::figure::{Quantity, Statistic};
use crate::{Better, Figure, Latency, MetricsError, SloVerdict};

/// How much worse figures may become: `3%`, or `ttft:p99=3%` for one figure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tolerance {
    /// Figures that the tolerance applies to.
    pub figures: Vec<Figure>,
    /// Percentage by which a figure may be worse.
    pub percent: f64,
    /// Whether the figure was named. A figure that was not named is skipped if no run has it.
    pub is_named: bool,
}

/// Judgement on one figure of a tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToleranceJudgement {
    /// The judged figure.
    pub figure: Figure,
    /// Percentage by which the figure may be worse.
    pub percent: f64,
    /// Confidence interval of the change at 95 %, in percent; absent if it is not known.
    pub interval: Option<ChangeInterval>,
    /// Holds if the whole interval is within the tolerance, fails if all of it is beyond.
    pub verdict: SloVerdict,
}

impl Tolerance {
    /// Judges each figure by its 95 % interval. A figure that is in truth worse than the limit
    /// passes by chance in at most one of forty comparisons.
    pub fn judge(&self, comparison: &Comparison) -> Vec<ToleranceJudgement> {
        let judge = |figure: &Figure| {
            let change = comparison.change_of(*figure);
            let interval = change.and_then(|change| change.interval_95);
            ToleranceJudgement {
                figure: *figure,
                percent: self.percent,
                interval,
                verdict: interval
                    .map_or(SloVerdict::Undecided, |interval| self.verdict(*figure, interval)),
            }
        };
        let is_requested =
            |figure: &&Figure| self.is_named || comparison.change_of(**figure).is_some();
        self.figures.iter().filter(is_requested).map(judge).collect()
    }

    fn verdict(&self, figure: Figure, interval: ChangeInterval) -> SloVerdict {
        let (best, worst) = match figure.better() {
            Better::Lower => (interval.low_percent, interval.high_percent),
            Better::Higher => (-interval.high_percent, -interval.low_percent),
        };
        if worst <= self.percent {
            SloVerdict::Holds
        } else if best > self.percent {
            SloVerdict::Fails
        } else {
            SloVerdict::Undecided
        }
    }

    /// Returns the figures of a tolerance that names none: the means of all latencies, and the
    /// rates of requests and output tokens.
    fn headline() -> Vec<Figure> {
        let mean = |latency| Quantity::Latency(latency, Statistic::Mean);
        let rates = [Quantity::Requests, Quantity::OutputTokens];
        Latency::COMMON.map(mean).into_iter().chain(rates).map(Figure::new).collect()
    }
}

impl ToleranceJudgement {
    /// Returns the judgement as undecided, because the change may have another cause than the server.
    #[must_use]
    pub fn not_judged(self) -> Self {
        Self { verdict: SloVerdict::Undecided, ..self }
    }
}

impl FromStr for Tolerance {
    type Err = MetricsError;

    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let malformed = || MetricsError::Tolerance { given: text.to_owned() };
        let (figures, is_named, limit) = match text.rsplit_once('=') {
            Some((figure, limit)) => (vec![figure.trim().parse()?], true, limit),
            None => (Self::headline(), false, text),
        };
        let percent = limit.trim().strip_suffix('%').ok_or_else(malformed)?;
        let percent: f64 = percent.trim().parse().map_err(|_| malformed())?;
        let is_limit = percent.is_finite() && percent >= 0.0;
        is_limit.then_some(Self { figures, percent, is_named }).ok_or_else(malformed)
    }
}

/// Displays the judgement as `P99 TTFT (ms) no worse than 3 %: holds, the change is within [-0.4,
/// +1.2] %`.
impl fmt::Display for ToleranceJudgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, percent, interval, verdict } = self;
        write!(f, "{figure} no worse than {percent} %: ")?;
        let word = match verdict {
            SloVerdict::Holds => "holds",
            SloVerdict::Undecided => "undecided",
            SloVerdict::Fails => "fails",
        };
        match interval {
            Some(interval) => write!(f, "{word}, the change is within {interval} %"),
            None => write!(f, "{word}, the runs cannot tell its change"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn verdict(tolerance: &str, low_percent: f64, high_percent: f64) -> SloVerdict {
        let tolerance: Tolerance = tolerance.parse().unwrap();
        tolerance.verdict(tolerance.figures[0], ChangeInterval { low_percent, high_percent })
    }

    #[test]
    fn an_interval_holds_within_the_limit_and_fails_beyond_it() {
        assert_eq!(verdict("ttft:p99=3%", -4.0, 2.9), SloVerdict::Holds);
        assert_eq!(verdict("ttft:p99=3%", -4.0, 3.1), SloVerdict::Undecided);
        assert_eq!(verdict("ttft:p99=3%", 3.1, 8.0), SloVerdict::Fails);
        assert_eq!(verdict("request_throughput = 3 %", -2.0, 90.0), SloVerdict::Holds);
        assert_eq!(verdict("request_throughput=3%", -9.0, -4.0), SloVerdict::Fails);
    }

    #[test]
    fn a_limit_without_a_figure_is_of_the_headlines() {
        let tolerance: Tolerance = "2.5%".parse().unwrap();
        assert_eq!((tolerance.figures.len(), tolerance.percent), (6, 2.5));
        for wrong in ["3", "-1%", "ttft:p99=", "ttft:p99=inf%", "", "%"] {
            let error = wrong.parse::<Tolerance>().unwrap_err().to_string();
            assert!(error.contains("expected PERCENT%"), "{wrong}: {error}");
        }
    }
}
