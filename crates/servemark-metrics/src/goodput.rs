//! Goodput: the share of requests that met every objective, and their rate.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::policy::{MetricPolicy, MissingTtft};
use crate::{MetricsError, RequestScore};

/// A service-level objective: a latency that a request must not exceed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Slo {
    /// The limited latency.
    pub metric: SloMetric,
    /// Limit in milliseconds; a latency equal to it meets the objective.
    pub limit_ms: f64,
}

impl Slo {
    /// Creates an objective from its parts. The limit must be finite and not below zero.
    pub fn new(metric: SloMetric, limit_ms: f64) -> Result<Self, MetricsError> {
        if limit_ms.is_finite() && limit_ms >= 0.0 {
            return Ok(Self { metric, limit_ms });
        }
        Err(MetricsError::SloLimit { given: limit_ms.to_string() })
    }
}

impl FromStr for Slo {
    type Err = MetricsError;

    /// Parses text such as `ttft:500`.
    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let malformed = || MetricsError::Slo { given: text.to_owned() };
        let (name, limit) = text.split_once(':').ok_or_else(malformed)?;
        let metric = SloMetric::from_name(name).ok_or_else(malformed)?;
        let limit_ms =
            limit.trim().parse().map_err(|_| MetricsError::SloLimit { given: limit.to_owned() })?;
        Self::new(metric, limit_ms)
    }
}

/// Latencies that an objective can limit.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SloMetric {
    /// End-to-end latency.
    E2el,
    /// Time per output token after the first; zero for an answer of one token.
    Tpot,
    /// Time to first token.
    Ttft,
}

impl SloMetric {
    /// All latencies, in the order in which a request shows them.
    pub const ALL: [Self; 3] = [Self::Ttft, Self::Tpot, Self::E2el];

    /// Returns the name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E2el => "e2el",
            Self::Tpot => "tpot",
            Self::Ttft => "ttft",
        }
    }

    /// Returns the latency with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Returns the latency of a request in milliseconds; absent if it was not observed, and then
    /// the objective is not met.
    fn observed_ms(self, score: &RequestScore<'_>, policy: &MetricPolicy) -> Option<f64> {
        let seconds = match self {
            Self::E2el => score.latency_s,
            Self::Tpot if is_one_token(score, policy) => 0.0,
            Self::Tpot => score.tpot_s(policy.tpot)?,
            Self::Ttft => score.ttft_s?,
        };
        Some(seconds * 1000.0)
    }
}

/// Returns whether an answer has no time between tokens. An answer with an unknown token count is
/// treated as single-token if the policy maps missing values to zero.
fn is_one_token(score: &RequestScore<'_>, policy: &MetricPolicy) -> bool {
    match score.output_tokens {
        Some((tokens, _)) => tokens <= 1,
        None => policy.missing_ttft == MissingTtft::Zero,
    }
}

/// Number of requests that met their objectives. Failed requests meet none, and count in the total.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Goodput {
    /// Number of requests that met every objective.
    pub good: usize,
    /// Rate over the run of the requests that met every objective.
    pub requests_per_s: Option<f64>,
    /// Share of all requests that met every objective, from 0 to 1.
    pub attainment: Option<f64>,
    /// Result of each objective by itself, in the order given.
    pub by_slo: Vec<SloResult>,
}

/// Number of requests that met one objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SloResult {
    /// The objective.
    #[serde(flatten)]
    pub slo: Slo,
    /// Number of requests that met the objective.
    pub met: usize,
    /// Share of all requests that met the objective, from 0 to 1.
    pub attainment: Option<f64>,
}

impl Goodput {
    /// Checks requests against a policy's objectives; absent if the policy has none.
    pub(crate) fn of(
        scores: &[RequestScore<'_>],
        policy: &MetricPolicy,
        duration_s: f64,
    ) -> Option<Self> {
        let slos = (!policy.slos.is_empty()).then_some(&policy.slos)?;
        let meets = |score: &RequestScore<'_>, slo: &Slo| meets(score, slo, policy);
        let share = |count: usize| (!scores.is_empty()).then(|| count as f64 / scores.len() as f64);
        let result = |slo: &Slo| {
            let met = scores.iter().filter(|score| meets(score, slo)).count();
            SloResult { slo: *slo, met, attainment: share(met) }
        };
        let good = scores.iter().filter(|score| is_good(score, policy)).count();
        Some(Self {
            good,
            requests_per_s: (duration_s > 0.0).then(|| good as f64 / duration_s),
            attainment: share(good),
            by_slo: slos.iter().map(result).collect(),
        })
    }
}

/// Returns whether a request met every objective of a policy.
pub(crate) fn is_good(score: &RequestScore<'_>, policy: &MetricPolicy) -> bool {
    policy.slos.iter().all(|slo| meets(score, slo, policy))
}

fn meets(score: &RequestScore<'_>, slo: &Slo, policy: &MetricPolicy) -> bool {
    let observed = slo.metric.observed_ms(score, policy);
    score.success && observed.is_some_and(|observed| observed <= slo.limit_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(text.parse::<Slo>().unwrap_err().to_string(), expected);
    }

    #[test]
    fn an_objective_reads_metric_and_milliseconds() {
        let slo: Slo = "tpot:25.5".parse().unwrap();
        assert_eq!((slo.metric, slo.limit_ms), (SloMetric::Tpot, 25.5));
        assert_eq!("e2el:1e3".parse(), Slo::new(SloMetric::E2el, 1000.0));
    }

    #[test]
    fn a_wrong_objective_is_told_what_is_expected() {
        let form = "expected METRIC:MILLISECONDS with METRIC in ttft, tpot, e2el";
        refused("ttft", &format!("{form}, got \"ttft\""));
        refused("itl:5", &format!("{form}, got \"itl:5\""));
        refused("ttft:-1", "expected a finite limit of 0 ms or more, got \"-1\"");
        refused("ttft:nan", "expected a finite limit of 0 ms or more, got \"NaN\"");
        refused("ttft:soon", "expected a finite limit of 0 ms or more, got \"soon\"");
    }

    #[test]
    fn the_last_word_on_an_objective_wins_in_the_place_of_the_first() {
        let slos = ["tpot:1", "ttft:2", "tpot:3"].map(|slo| slo.parse::<Slo>().unwrap());
        let policy = MetricPolicy::sglang().with_slos(slos);
        assert_eq!(policy.slos, ["tpot:3", "ttft:2"].map(|slo| slo.parse::<Slo>().unwrap()));
    }
}
