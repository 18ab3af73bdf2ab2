//! Checks whether a run would be valid by the rules of `MLPerf` Inference for its Server scenario.
//!
//! The rules are those of `LoadGen` (github `mlcommons/inference`, `loadgen/results.cc` and
//! `early_stopping.cc`, and `loadgen/mlperf.conf` of 2026): the last query must be due 600 s or
//! more after the start, there must be 100 queries or more, the percentile of each latency must
//! keep to its limit, and so must its early-stopping estimate with 99 % confidence. Latencies count
//! from when a query was due. `LoadGen` has no failed queries; here a failed query is over every
//! limit.

use std::fmt;

use serde::Serialize;
use servemark_core::RunLog;
use servemark_statistics::fewest_with_misses;

use crate::seconds::seconds_between;
use crate::{Goal, Latency, MetricPolicy, Objective, RequestScore, Statistic, statistics};

/// Result of a run by the rules of `LoadGen`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MlperfResult {
    /// Whether all rules are met.
    pub is_valid: bool,
    /// Time from the start of the run to the due time of its last query, in seconds.
    pub duration_s: f64,
    /// Number of queries that were sent.
    pub queries: usize,
    /// Result of each limit.
    pub limits: Vec<MlperfLimit>,
}

/// Result of a run for the limit of one percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MlperfLimit {
    /// The limit.
    pub objective: Objective,
    /// The run's percentile in milliseconds; absent if the query at its rank failed.
    pub value_ms: Option<f64>,
    /// Whether the percentile keeps to the limit.
    pub is_met: bool,
    /// Number of queries that are judged.
    pub queries: usize,
    /// Number of queries over the limit.
    pub over: usize,
    /// Number of queries needed for 99 % confidence with `over` queries over the limit.
    pub needed: usize,
}

impl MlperfLimit {
    /// Returns whether the early-stopping estimate keeps to the limit.
    pub fn is_sure(&self) -> bool {
        self.queries >= self.needed
    }
}

impl MlperfResult {
    /// Least time from the start of a run to the due time of its last query, in seconds.
    pub const MIN_DURATION_S: f64 = 600.0;
    /// Least number of queries.
    pub const MIN_QUERIES: usize = 100;

    /// Judges a run by the percentile limits among `objectives`.
    pub fn of(log: &RunLog, objectives: &[Objective]) -> Self {
        let policy = MetricPolicy::native();
        let scores = RequestScore::of_log(log, &policy);
        let due = || log.measured().map(|record| record.scheduled);
        let began = log.footer().and_then(|footer| footer.began).or_else(|| due().min());
        let span = began.zip(due().max()).map(|(first, last)| seconds_between(first, last));
        let limits: Vec<MlperfLimit> = (objectives.iter().copied())
            .filter_map(|objective| MlperfLimit::of(objective, &scores, &policy))
            .collect();
        let (duration_s, queries) = (span.unwrap_or_default(), scores.len());
        let is_valid = duration_s >= Self::MIN_DURATION_S
            && queries >= Self::MIN_QUERIES
            && !limits.is_empty()
            && limits.iter().all(|limit| limit.is_met && limit.is_sure());
        Self { is_valid, duration_s, queries, limits }
    }

    /// Returns whether an objective limits a percentile of a latency that `LoadGen` knows.
    pub fn judges(objective: &Objective) -> bool {
        limit_of(objective).is_some()
    }
}

/// Returns the latency, the percentile as a share and the limit in milliseconds, if `LoadGen` can
/// judge the objective.
fn limit_of(objective: &Objective) -> Option<(Latency, f64, f64)> {
    let Goal::Latency { measure, statistic: Statistic::Percentile(percent), limit_ms } =
        objective.goal
    else {
        return None;
    };
    let is_known = matches!(
        measure,
        Latency::Ttft
            | Latency::ResponseTtft
            | Latency::Tpot
            | Latency::E2el
            | Latency::ResponseE2el
    );
    (is_known && percent < 100.0).then_some((measure, percent / 100.0, limit_ms))
}

impl MlperfLimit {
    fn of(
        objective: Objective,
        scores: &[RequestScore<'_>],
        policy: &MetricPolicy,
    ) -> Option<Self> {
        let (measure, share, limit_ms) = limit_of(&objective)?;
        let latency_ms = |score: &RequestScore<'_>| {
            let seconds = match measure {
                _ if !score.success => Some(f64::INFINITY),
                // `LoadGen` counts from when a query is due.
                Latency::Ttft => Latency::ResponseTtft.values(score, policy.tpot).next(),
                Latency::E2el => Latency::ResponseE2el.values(score, policy.tpot).next(),
                measure => measure.values(score, policy.tpot).next(),
            };
            seconds.map(|seconds| seconds * 1e3)
        };
        let mut latencies: Vec<f64> = scores.iter().filter_map(latency_ms).collect();
        servemark_statistics::sort(&mut latencies);
        let queries = latencies.len();
        let over = latencies.iter().filter(|latency| **latency > limit_ms).count();
        let rank = statistics::whole(queries as f64 * share);
        let value = latencies.get(rank.min(queries.saturating_sub(1))).copied();
        Some(Self {
            objective,
            value_ms: value.filter(|value| value.is_finite()),
            is_met: value.is_some_and(|value| value <= limit_ms),
            queries,
            over,
            needed: fewest_with_misses(over, share, 1.0 - CONFIDENCE),
        })
    }
}

/// Confidence of the early-stopping estimate.
const CONFIDENCE: f64 = 0.99;

/// Displays the result in several lines, the verdict first and then one rule on each line.
impl fmt::Display for MlperfResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |is_met: bool| if is_met { "yes" } else { "NO" };
        let word = if self.is_valid { "VALID" } else { "INVALID" };
        let Self { duration_s, queries, limits, .. } = self;
        writeln!(f, "MLPerf, Server scenario: {word}")?;
        writeln!(
            f,
            "  min duration: {}, the last query was due after {duration_s:.1} s of {} s",
            yes(*duration_s >= Self::MIN_DURATION_S),
            Self::MIN_DURATION_S
        )?;
        write!(
            f,
            "  min queries: {}, {queries} of {}",
            yes(*queries >= Self::MIN_QUERIES),
            Self::MIN_QUERIES
        )?;
        limits.iter().try_for_each(|limit| write!(f, "\n{limit}"))
    }
}

/// Displays the limit as `  ttft:p99<=2000ms: yes, 812.3 ms; early stopping: NO, 3 of 900 over it,
/// 87 more within it needed`.
impl fmt::Display for MlperfLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |is_met: bool| if is_met { "yes" } else { "NO" };
        write!(f, "  {}: {}, ", self.objective, yes(self.is_met))?;
        match self.value_ms {
            Some(value) => write!(f, "{value:.1} ms")?,
            None => f.write_str("no value")?,
        }
        let Self { over, queries, .. } = self;
        write!(f, "; early stopping: {}, {over} of {queries} over it", yes(self.is_sure()))?;
        match self.needed.checked_sub(*queries).filter(|more| *more > 0) {
            Some(more) => write!(f, ", {more} more within it needed"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use servemark_core::{Delta, Finish, Header, Phase, Recorder, RequestRecord, RunFacts};
    use servemark_core::{Sample, Sink, Stamp};

    use super::*;

    /// Scores queries that are due every `gap_ms`. The first token of the last `slow` queries comes
    /// after 3 s, that of the others after 0.5 s.
    fn result(queries: usize, gap_ms: u64, slow: usize) -> MlperfResult {
        let record = |index: usize| -> RequestRecord {
            let stamp = |ms: u64| Stamp::from_nanos(ms * 1_000_000);
            let due = gap_ms * index as u64;
            let ttft = if index + slow >= queries { 3000 } else { 500 };
            let sample = Sample::new("", 1, 1);
            let mut recorder = Recorder::new(index, Phase::Measure, &sample, stamp(due));
            recorder.record_sent(stamp(due));
            recorder.at(stamp(due + ttft)).delta(Delta::content("a"));
            recorder.finish(Ok(Finish::default()), stamp(due + ttft))
        };
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let log = RunLog::new(header, (0..queries).map(record).collect(), None);
        MlperfResult::of(&log, &Objective::list("ttft:p99<=2000ms,success>=99%").unwrap())
    }

    #[test]
    fn a_run_is_valid_if_all_rules_are_met() {
        let valid = result(1201, 500, 2);
        assert!(valid.is_valid, "{valid}");
        // With 2 queries over the limit of p99, 838 queries are needed.
        assert_eq!((valid.limits.len(), valid.limits[0].over, valid.limits[0].needed), (1, 2, 838));
        assert!(valid.to_string().starts_with("MLPerf, Server scenario: VALID\n"), "{valid}");
    }

    #[test]
    fn a_run_is_invalid_with_its_reasons() {
        let short = result(1200, 500, 0);
        assert!(!short.is_valid);
        let words = short.to_string();
        assert!(
            words.contains("min duration: NO, the last query was due after 599.5 s"),
            "{words}"
        );
        let few = result(90, 10_000, 0).to_string();
        assert!(few.contains("min queries: NO, 90 of 100"), "{few}");
        assert!(few.contains("early stopping: NO, 0 of 90 over it, 369 more within it"), "{few}");
        // 9 of 1,201 are less than 1 %, but too few queries to be confident of the server's own
        // share.
        let unsure = result(1201, 500, 9);
        let limit = &unsure.limits[0];
        assert!(limit.is_met && !limit.is_sure() && !unsure.is_valid, "{unsure}");
        let over = result(1201, 500, 40);
        assert!(!over.limits[0].is_met, "{over}");
    }
}
