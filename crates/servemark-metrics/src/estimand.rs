//! Figures that have a confidence interval, by the names that scripts and command lines use.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::figure::service;
use crate::{
    Estimated, Figure, Latencies, Latency, Metrics, MetricsError, Quantity, RateEstimates,
    Statistic,
};

/// A figure of a run that has a confidence interval. Its text form is `ttft:mean`, `itl:p99`,
/// `requests_per_s` or `output_tokens_per_s`; a median is percentile 50.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Estimand {
    /// Mean or percentile of a latency.
    Latency(Latency, Statistic),
    /// Output tokens per second.
    OutputTokens,
    /// Requests per second.
    Requests,
}

impl Estimand {
    /// Figures for which a report says how much longer a run must be to know them better.
    pub const HEADLINE: [Self; 8] = [
        Self::Latency(Latency::Ttft, Statistic::Mean),
        Self::Latency(Latency::Ttft, Statistic::Percentile(50.0)),
        Self::Latency(Latency::Ttft, Statistic::Percentile(99.0)),
        Self::Latency(Latency::Tpot, Statistic::Mean),
        Self::Latency(Latency::Itl, Statistic::Percentile(99.0)),
        Self::Latency(Latency::E2el, Statistic::Mean),
        Self::Latency(Latency::E2el, Statistic::Percentile(99.0)),
        Self::OutputTokens,
    ];

    /// Returns the percentile in percent, if the figure is a percentile of a latency.
    pub fn percent(self) -> Option<f64> {
        match self {
            Self::Latency(_, Statistic::Percentile(percent)) => Some(percent),
            _ => None,
        }
    }

    /// Returns the figure of a run that this estimates.
    pub fn figure(self) -> Figure {
        Figure::new(match self {
            // Figures have one name for the median.
            Self::Latency(latency, Statistic::Percentile(50.0)) => {
                Quantity::Latency(latency, Statistic::Median)
            }
            Self::Latency(latency, statistic) => Quantity::Latency(latency, statistic),
            Self::OutputTokens => Quantity::OutputTokens,
            Self::Requests => Quantity::Requests,
        })
    }

    /// Returns the path in the document of `servemark score --json`, for example `ttft_ms.mean`.
    pub fn key(self) -> String {
        self.figure().path()
    }

    /// Returns the unit of the values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Latency(..) => "ms",
            Self::OutputTokens | Self::Requests => "/s",
        }
    }

    /// Returns the estimate from a run's metrics, if they contain it.
    pub fn read(self, metrics: &Metrics) -> Option<Estimated> {
        self.find(&metrics.latencies, metrics.rate_estimates.as_ref())
    }

    /// Returns the estimate from those of latencies and rates.
    pub(crate) fn find(
        self,
        latencies: &Latencies,
        rates: Option<&RateEstimates>,
    ) -> Option<Estimated> {
        match self {
            Self::OutputTokens => rates.map(|rates| rates.output_tokens_per_s),
            Self::Requests => rates.map(|rates| rates.requests_per_s),
            Self::Latency(latency, statistic) => {
                let estimates = latencies.summary(latency)?.estimates.as_ref()?;
                match statistic {
                    Statistic::Mean => Some(estimates.mean),
                    Statistic::Median => estimates.percentile(50.0).copied(),
                    Statistic::Percentile(percent) => estimates.percentile(percent).copied(),
                }
            }
        }
    }
}

/// Displays the figure as `mean TTFT`, `p99 ITL` or `rate of output tokens`.
impl fmt::Display for Estimand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency(latency, statistic) => {
                write!(f, "{} {}", statistic.name(), latency.name().to_uppercase())
            }
            Self::OutputTokens => f.write_str("rate of output tokens"),
            Self::Requests => f.write_str("rate of requests"),
        }
    }
}

impl FromStr for Estimand {
    type Err = MetricsError;

    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let unknown = || MetricsError::Estimand { given: text.to_owned() };
        match text {
            "output_tokens_per_s" | "output_throughput" => return Ok(Self::OutputTokens),
            "requests_per_s" | "request_throughput" => return Ok(Self::Requests),
            _ => {}
        }
        let (latency, statistic) = text.split_once([':', '.']).ok_or_else(unknown)?;
        let latency = latency.trim().trim_end_matches("_ms");
        let latency = if latency == "e2e" { "e2el" } else { latency };
        let latency = service(latency).ok_or_else(unknown)?;
        let statistic = match Statistic::from_name(statistic.trim()).ok_or_else(unknown)? {
            Statistic::Median => Statistic::Percentile(50.0),
            other => other,
        };
        let estimand = Self::Latency(latency, statistic);
        let is_inside = |percent: f64| percent > 0.0 && percent < 100.0;
        if estimand.percent().is_none_or(is_inside) { Ok(estimand) } else { Err(unknown()) }
    }
}

impl TryFrom<String> for Estimand {
    type Error = MetricsError;

    fn try_from(text: String) -> Result<Self, MetricsError> {
        text.parse()
    }
}

/// Returns the name that a command line uses, for example `ttft:p99`.
impl From<Estimand> for String {
    fn from(estimand: Estimand) -> Self {
        match estimand {
            Estimand::Latency(latency, statistic) => {
                format!("{}:{}", latency.name(), statistic.name())
            }
            other => other.key(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_read_by_the_name_of_a_command_line_and_of_json() {
        for (given, key) in [
            ("ttft:mean", "ttft_ms.mean"),
            ("ttft_ms.p50", "ttft_ms.p50"),
            ("itl:median", "itl_ms.p50"),
            ("e2e:p99.9", "e2el_ms.p99.9"),
            ("output_throughput", "output_tokens_per_s"),
            ("requests_per_s", "requests_per_s"),
        ] {
            let estimand: Estimand = given.parse().unwrap();
            assert_eq!(estimand.key(), key);
            assert_eq!(String::from(estimand).parse::<Estimand>().unwrap(), estimand);
        }
        for wrong in ["ttft", "ttft:p100", "ttft:max", "speed:mean", ""] {
            assert!(wrong.parse::<Estimand>().is_err(), "{wrong}");
        }
    }
}
