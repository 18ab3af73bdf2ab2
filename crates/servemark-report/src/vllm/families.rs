//! The metrics that have a section each: which of them there are, and their numbers.

use std::borrow::Cow;

use servemark_metrics::{RequestScore, Summary};
use servemark_pyjson::repr;

use super::{VllmMetric, VllmOptions};
use crate::Report;

/// A metric with its numbers.
pub(super) struct Family<'a> {
    pub(super) metric: VllmMetric,
    pub(super) summary: Cow<'a, Summary>,
}

impl Family<'_> {
    /// The percentiles, each with its name: `99` or `99.9`.
    pub(super) fn percentiles(&self) -> impl Iterator<Item = (String, Option<f64>)> {
        self.summary.percentiles.iter().map(|percentile| {
            let percent = percentile.percent();
            (word(percent), self.summary.percentile_ms(percent))
        })
    }
}

/// Those that are asked for and that the run has, in the order of the table.
pub(super) fn families<'a>(report: &Report<'a>, options: &VllmOptions) -> Vec<Family<'a>> {
    let generates = report.log.header().facts.generates();
    let wanted = VllmMetric::ALL.into_iter().filter(|metric| options.shows(*metric, generates));
    let told = wanted.filter(|metric| !metric.is_of_tokens() || generates && options.tells_tokens);
    told.filter_map(|metric| Some(Family { metric, summary: summary(metric, report)? })).collect()
}

/// Waiting is told where requests may wait, which is where their number is limited. Latencies with
/// that wait are told only where requests come at a rate: else all of them wait from the start.
fn summary<'a>(metric: VllmMetric, report: &Report<'a>) -> Option<Cow<'a, Summary>> {
    let (facts, latencies) = (&report.log.header().facts, &report.metrics.latencies);
    let (is_limited, is_paced) = (facts.max_concurrency.is_some(), facts.request_rate.is_some());
    match metric {
        VllmMetric::Ttft => Some(Cow::Borrowed(&latencies.ttft)),
        VllmMetric::Tpot => Some(Cow::Borrowed(&latencies.tpot)),
        VllmMetric::Itl => Some(Cow::Borrowed(&latencies.itl)),
        VllmMetric::E2el => Some(Cow::Borrowed(&latencies.e2el)),
        VllmMetric::ClientQueueTime => is_limited.then(|| of(report, |score| score.waited_s)),
        VllmMetric::E2elIncludingClientQueue => {
            (is_limited && is_paced).then(|| of(report, |score| score.latency_s + score.waited_s))
        }
    }
}

/// Of nothing, vLLM says zero.
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
