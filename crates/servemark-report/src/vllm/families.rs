//! The metrics with a section of their own, and their values.

use std::borrow::Cow;

use servemark_metrics::{RequestScore, Summary};
use servemark_pyjson::repr;

use super::{VllmMetric, VllmOptions};
use crate::Report;

/// A metric with its values.
pub(super) struct Family<'a> {
    pub(super) metric: VllmMetric,
    pub(super) summary: Cow<'a, Summary>,
}

impl Family<'_> {
    /// Returns the percentiles, each with its name, such as `99` or `99.9`.
    pub(super) fn percentiles(&self) -> impl Iterator<Item = (String, Option<f64>)> {
        self.summary.percentiles.iter().map(|percentile| {
            let percent = percentile.percent();
            (word(percent), self.summary.percentile_ms(percent))
        })
    }
}

/// Returns the requested metrics that the run has, in the order of the table.
pub(super) fn families<'a>(report: &Report<'a>, options: &VllmOptions) -> Vec<Family<'a>> {
    let generates = report.log.header().facts.generates();
    let wanted = VllmMetric::ALL.into_iter().filter(|metric| options.includes(*metric, generates));
    let told = wanted.filter(|metric| !metric.is_of_tokens() || generates && options.tells_tokens);
    told.filter_map(|metric| Some(Family { metric, summary: summary(metric, report)? })).collect()
}

/// Returns the values of a metric, if the run has it. Queue time exists only with a concurrency
/// limit. Latency with queue time also requires a request rate, because otherwise all requests
/// queue from the start.
fn summary<'a>(metric: VllmMetric, report: &Report<'a>) -> Option<Cow<'a, Summary>> {
    let (facts, latencies) = (&report.log.header().facts, &report.metrics.latencies);
    let (is_limited, is_paced) =
        (facts.max_concurrency.is_some(), super::requested_rate(facts).is_some());
    match (metric, metric.latency()) {
        (_, Some(latency)) => latencies.summary(latency).map(Cow::Borrowed),
        (VllmMetric::ClientQueueTime, _) => is_limited.then(|| of(report, |score| score.waited_s)),
        _ => (is_limited && is_paced).then(|| of(report, |score| score.latency_s + score.waited_s)),
    }
}

/// Summarizes a duration over the successful requests. Without any, vLLM reports zero.
fn of<'a>(report: &Report<'a>, seconds: fn(&RequestScore<'_>) -> f64) -> Cow<'a, Summary> {
    let scores = report.scores();
    let successes = scores.iter().filter(|score| score.success);
    let mut sample_s: Vec<f64> = successes.map(seconds).collect();
    if sample_s.is_empty() {
        sample_s.push(0.0);
    }
    Cow::Owned(Summary::of(&sample_s, &report.metrics.policy))
}

fn word(percent: f64) -> String {
    if percent.fract() == 0.0 { percent.to_string() } else { repr(percent) }
}
