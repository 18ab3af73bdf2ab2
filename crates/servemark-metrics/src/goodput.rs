//! Goodput: the share of requests that met every objective, and their rate.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::policy::{MetricPolicy, MissingTtft};
use crate::{MetricsError, RequestScore};

/// A service-level objective: a latency that a request must not exceed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Slo {
    /// Which latency.
    pub metric: SloMetric,
    /// Its limit; a latency equal to it is met.
    pub limit_ms: f64,
}

impl Slo {
    /// An objective of its parts; the limit must be finite and above zero.
    pub fn new(metric: SloMetric, limit_ms: f64) -> Result<Self, MetricsError> {
        if limit_ms.is_finite() && limit_ms > 0.0 {
            return Ok(Self { metric, limit_ms });
        }
        Err(MetricsError::SloLimit { given: limit_ms.to_string() })
    }
}

impl FromStr for Slo {
    type Err = MetricsError;

    /// Reads `ttft:500`.
    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let malformed = || MetricsError::Slo { given: text.to_owned() };
        let (name, limit) = text.split_once(':').ok_or_else(malformed)?;
        let metric = SloMetric::from_name(name).ok_or_else(malformed)?;
        let limit_ms =
            limit.trim().parse().map_err(|_| MetricsError::SloLimit { given: limit.to_owned() })?;
        Self::new(metric, limit_ms)
    }
}

/// The latencies that an objective can be about.
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
    /// Every one, in the order in which a request shows them.
    pub const ALL: [Self; 3] = [Self::Ttft, Self::Tpot, Self::E2el];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E2el => "e2el",
            Self::Tpot => "tpot",
            Self::Ttft => "ttft",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// What a request shows; nothing if it was not observed, and then no objective is met.
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

/// Whether an answer has no time between tokens. One of nobody knows how many tokens counts as such
/// where the policy takes what is missing for zero.
fn is_one_token(score: &RequestScore<'_>, policy: &MetricPolicy) -> bool {
    match score.output_tokens {
        Some((tokens, _)) => tokens <= 1,
        None => policy.missing_ttft == MissingTtft::Zero,
    }
}

/// How many requests met their objectives. Failures meet none and count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Goodput {
    /// Requests that met every objective.
    pub good: usize,
    /// Their rate over the run.
    pub requests_per_s: Option<f64>,
    /// Their share of all requests.
    pub attainment: Option<f64>,
    /// Each objective by itself, in the order given.
    pub by_slo: Vec<SloResult>,
}

/// How many requests met one objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SloResult {
    /// The objective.
    #[serde(flatten)]
    pub slo: Slo,
    /// Requests that met it.
    pub met: usize,
    /// Their share of all requests.
    pub attainment: Option<f64>,
}

impl Goodput {
    /// Holds requests against a policy's objectives; nothing if it has none.
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

/// Whether a request met every objective of a policy.
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
        refused("ttft:0", "expected a finite limit above 0 ms, got \"0\"");
        refused("ttft:nan", "expected a finite limit above 0 ms, got \"NaN\"");
        refused("ttft:soon", "expected a finite limit above 0 ms, got \"soon\"");
    }

    #[test]
    fn the_last_word_on_an_objective_wins_in_the_place_of_the_first() {
        let slos = ["tpot:1", "ttft:2", "tpot:3"].map(|slo| slo.parse::<Slo>().unwrap());
        let policy = MetricPolicy::sglang().with_slos(slos);
        assert_eq!(policy.slos, ["tpot:3", "ttft:2"].map(|slo| slo.parse::<Slo>().unwrap()));
    }
}
