//! Cumulative number of processed tokens at any time of a run, and the rates of its parts.

use serde::Serialize;
use servemark_core::RunLog;

use crate::RequestScore;
use crate::reuse::{Reuse, reuses};

/// Cumulative number of processed tokens at any time of a run. A request's tokens count when it
/// ends, so the rate of a part with few requests is rough.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Workload {
    /// Start of the request that ended first, in seconds since the run's clock started.
    pub began_s: f64,
    /// One point for each request that succeeded, in the order of their ends.
    pub points: Vec<WorkloadPoint>,
}

/// Cumulative number of tokens when a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WorkloadPoint {
    /// End of the request, in seconds after [`Workload::began_s`].
    pub at_s: f64,
    /// Cumulative number of output tokens.
    pub output: u64,
    /// Cumulative number of prompt tokens that were in no prefix cache.
    pub new_prompt: u64,
    /// Cumulative number of prompt tokens that were in a prefix cache.
    pub cached_prompt: u64,
}

/// Tokens per second in a part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WorkloadRates {
    /// Prompt tokens per second.
    pub prompt: f64,
    /// Prompt tokens per second that were in no prefix cache.
    pub new_prompt: f64,
    /// Prompt tokens per second that were in a prefix cache.
    pub cached_prompt: f64,
    /// Output tokens per second.
    pub output: f64,
}

impl Workload {
    /// Computes the workload of a run.
    pub fn of(log: &RunLog, scores: &[RequestScore<'_>]) -> Self {
        let end = |score: &RequestScore<'_>| score.start_s + score.latency_s;
        let mut ended: Vec<_> =
            scores.iter().zip(reuses(log, scores)).filter(|(score, _)| score.success).collect();
        ended.sort_by(|(one, _), (other, _)| end(one).total_cmp(&end(other)));
        let began_s = ended.first().map_or(0.0, |(first, _)| first.start_s);
        let through = |sum: &mut WorkloadPoint, (score, reuse): &(&RequestScore<'_>, _)| {
            sum.add(score, reuse);
            Some(WorkloadPoint { at_s: end(score) - began_s, ..*sum })
        };
        let points = ended.iter().scan(WorkloadPoint::default(), through).collect();
        Self { began_s, points }
    }

    /// Returns the time from `began_s` to the end of the last request, in seconds.
    pub fn duration_s(&self) -> f64 {
        self.points.last().map_or(0.0, |last| last.at_s.max(0.0))
    }

    /// Returns the rates of the whole run.
    pub fn overall(&self) -> WorkloadRates {
        self.since(WorkloadPoint::default())
    }

    /// Returns the rates of the last `seconds` of the run; those of the whole run if it is not
    /// longer.
    pub fn last(&self, seconds: f64) -> WorkloadRates {
        let before = self.duration_s() - seconds;
        if before > 0.0 { self.since(self.point_at(before)) } else { self.overall() }
    }

    /// Returns the rates of the run without a first share of its duration, from 0 to 1; those of
    /// the whole run if nothing is left.
    pub fn without_first(&self, share: f64) -> WorkloadRates {
        let from = self.point_at(self.duration_s() * share);
        let is_last = self.points.last().is_none_or(|last| *last == from);
        if is_last { self.overall() } else { self.since(from) }
    }

    /// Returns the last point up to a time, or else the first.
    fn point_at(&self, at_s: f64) -> WorkloadPoint {
        let later = self.points.partition_point(|point| point.at_s <= at_s);
        self.points.get(later.saturating_sub(1)).copied().unwrap_or_default()
    }

    fn since(&self, from: WorkloadPoint) -> WorkloadRates {
        let last = self.points.last().copied().unwrap_or_default();
        let seconds = last.at_s - from.at_s;
        let rate = |tokens: fn(&WorkloadPoint) -> u64| {
            let count = tokens(&last) - tokens(&from);
            if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
        };
        WorkloadRates {
            prompt: rate(|point| point.new_prompt + point.cached_prompt),
            new_prompt: rate(|point| point.new_prompt),
            cached_prompt: rate(|point| point.cached_prompt),
            output: rate(|point| point.output),
        }
    }
}

impl WorkloadPoint {
    fn add(&mut self, score: &RequestScore<'_>, reuse: &Reuse) {
        let cached = reuse.cached.unwrap_or_default();
        self.output += score.output_token_count();
        self.new_prompt += u64::from(score.prompt_tokens).saturating_sub(cached);
        self.cached_prompt += cached;
    }
}
