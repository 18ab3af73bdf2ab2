//! Goodput: the share of requests that met every objective, and their rate.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::policy::{MetricPolicy, MissingTtft};
use crate::{Latency, MetricsError, RequestPart, RequestScore};

/// A service-level objective: a latency that a request must not exceed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Slo {
    /// The limited latency, as [`Slo::metric`] names it.
    #[serde(deserialize_with = "metric")]
    pub metric: Latency,
    /// Limit in milliseconds; a latency equal to it meets the objective.
    pub limit_ms: f64,
}

impl Slo {
    /// Latencies that `--goodput` takes, in the order in which a request shows them.
    pub const METRICS: [Latency; 4] = [Latency::Ttft, Latency::Ttst, Latency::Tpot, Latency::E2el];

    /// Returns the latency that `--goodput` knows by this name: one of [`Slo::METRICS`], or a part
    /// of a request's time.
    pub fn metric(name: &str) -> Option<Latency> {
        let of_service = Self::METRICS.into_iter().find(|metric| metric.name() == name);
        of_service.or_else(|| RequestPart::from_name(name).map(Latency::Part))
    }

    /// Creates an objective from its parts. The limit must be finite and not below zero.
    pub fn new(metric: Latency, limit_ms: f64) -> Result<Self, MetricsError> {
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
        let metric = Self::metric(name).ok_or_else(malformed)?;
        let limit_ms =
            limit.trim().parse().map_err(|_| MetricsError::SloLimit { given: limit.to_owned() })?;
        Self::new(metric, limit_ms)
    }
}

fn metric<'de, D: Deserializer<'de>>(from: D) -> Result<Latency, D::Error> {
    let name = String::deserialize(from)?;
    Slo::metric(&name)
        .ok_or_else(|| serde::de::Error::custom(format!("goodput has no latency {name:?}")))
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
    let observed_s = match slo.metric {
        Latency::Tpot | Latency::Ttst if is_one_token(score, policy) => Some(0.0),
        metric => metric.values(score, policy.tpot).next(),
    };
    score.success && observed_s.is_some_and(|observed| observed * 1000.0 <= slo.limit_ms)
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
        assert_eq!((slo.metric, slo.limit_ms), (Latency::Tpot, 25.5));
        assert_eq!("e2el:1e3".parse(), Slo::new(Latency::E2el, 1000.0));
        let of_part: Slo = "server_queue:200".parse().unwrap();
        assert_eq!(of_part.metric, Latency::Part(RequestPart::ServerQueue));
    }

    #[test]
    fn a_wrong_objective_is_told_what_is_expected() {
        let form = "expected METRIC:MILLISECONDS with METRIC in ttft, tpot, e2el or a part such as \
                    server_queue";
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
