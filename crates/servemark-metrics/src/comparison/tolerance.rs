//! Whether a comparison shows that figures are no worse than by so many percent.

use std::fmt;
use std::str::FromStr;

use super::{ChangeInterval, Comparison};
use crate::figure::{Latency, Quantity, Statistic};
use crate::{Better, Figure, MetricsError, Standing};

/// How much worse figures may become: `3%`, or `ttft:p99=3%` for one figure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tolerance {
    /// The figures.
    pub figures: Vec<Figure>,
    /// By how many percent they may be worse.
    pub percent: f64,
    /// Whether the figure was named. One that was not is passed over where no run has it.
    pub is_named: bool,
}

/// What a comparison shows of one figure of a tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToleranceJudgement {
    /// The figure.
    pub figure: Figure,
    /// By how many percent it may be worse.
    pub percent: f64,
    /// Where its change lies with 95 % confidence, in percent; absent where nobody can tell.
    pub interval: Option<ChangeInterval>,
    /// It holds where the whole interval is within the tolerance, and fails where all of it is beyond.
    pub standing: Standing,
}

impl Tolerance {
    /// What a comparison shows of each figure, by its 95 % interval: a figure that is no worse than
    /// the limit by chance alone passes in at most one of forty comparisons.
    pub fn judge(&self, comparison: &Comparison) -> Vec<ToleranceJudgement> {
        let judge = |figure: &Figure| {
            let change = comparison.change_of(*figure);
            let interval = change.and_then(|change| change.interval_95);
            ToleranceJudgement {
                figure: *figure,
                percent: self.percent,
                interval,
                standing: interval
                    .map_or(Standing::Undecided, |interval| self.standing(*figure, interval)),
            }
        };
        let is_asked = |figure: &&Figure| self.is_named || comparison.change_of(**figure).is_some();
        self.figures.iter().filter(is_asked).map(judge).collect()
    }

    fn standing(&self, figure: Figure, interval: ChangeInterval) -> Standing {
        let (best, worst) = match figure.better() {
            Better::Lower => (interval.low_percent, interval.high_percent),
            Better::Higher => (-interval.high_percent, -interval.low_percent),
        };
        if worst <= self.percent {
            Standing::Holds
        } else if best > self.percent {
            Standing::Fails
        } else {
            Standing::Undecided
        }
    }

    /// The figures of a tolerance that names none: the means of all latencies, and the rates of
    /// requests and output tokens.
    fn headline() -> Vec<Figure> {
        let mean = |latency| Quantity::Latency(latency, Statistic::Mean);
        let rates = [Quantity::Requests, Quantity::OutputTokens];
        Latency::ALL.map(mean).into_iter().chain(rates).map(Figure::new).collect()
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

/// `P99 TTFT (ms) is no worse than 3 %: holds, the change is within [-0.4, +1.2] %`
impl fmt::Display for ToleranceJudgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, percent, interval, standing } = self;
        write!(f, "{figure} no worse than {percent} %: ")?;
        let word = match standing {
            Standing::Holds => "holds",
            Standing::Undecided => "undecided",
            Standing::Fails => "fails",
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
    fn standing(tolerance: &str, low_percent: f64, high_percent: f64) -> Standing {
        let tolerance: Tolerance = tolerance.parse().unwrap();
        tolerance.standing(tolerance.figures[0], ChangeInterval { low_percent, high_percent })
    }

    #[test]
    fn an_interval_holds_within_the_limit_and_fails_beyond_it() {
        assert_eq!(standing("ttft:p99=3%", -4.0, 2.9), Standing::Holds);
        assert_eq!(standing("ttft:p99=3%", -4.0, 3.1), Standing::Undecided);
        assert_eq!(standing("ttft:p99=3%", 3.1, 8.0), Standing::Fails);
        assert_eq!(standing("request_throughput = 3 %", -2.0, 90.0), Standing::Holds);
        assert_eq!(standing("request_throughput=3%", -9.0, -4.0), Standing::Fails);
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
