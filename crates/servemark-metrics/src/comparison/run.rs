//! The data that a comparison keeps of one run.

use std::ptr;

use servemark_core::RunLog;
use servemark_statistics::{Estimate, SortedObservations, SumAndCount, ValueInterval};

use crate::estimates::in_time;
use crate::figure::{Quantity, Statistic};
use crate::rate_estimates::{Flow, RateLimit};
use crate::{Figure, FigureScope, Latency, MetricPolicy, Metrics, RequestScore};

/// One run of a comparison: the values of its figures and, if its log is known, the data for their
/// confidence intervals.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    values: Vec<(Figure, f64)>,
    /// Relative standard errors of figures, from the requests of the run.
    errors: Vec<(Figure, f64)>,
    /// Planned requests in the order of the plan; empty if they are not known.
    workload: Vec<PlannedRequest>,
    /// Seed of the random draws; absent if only the run's values are known.
    seed: Option<u64>,
    requests: Option<Requests>,
}

/// Latencies and flow of a run's requests.
#[derive(Clone, Debug)]
struct Requests {
    latencies: Vec<(Latency, LatencySample)>,
    flow: Option<Flow>,
}

#[derive(Clone, Debug)]
struct LatencySample {
    /// All values; absent if there are none, or more than the policy's sample budget.
    values: Option<SortedObservations>,
    /// Sum and number of the values of each request, in the order of the plan.
    by_request: Vec<SumAndCount>,
}

/// Planned sizes and due time of a request. Two runs with the same planned requests are compared in
/// pairs.
#[derive(Clone, Copy, Debug)]
struct PlannedRequest {
    prompt_tokens: u32,
    output_tokens: u32,
    /// Due time in seconds after the first request's; absent without a schedule.
    due_s: Option<f64>,
}

impl PlannedRequest {
    /// Returns whether both requests are the same except for the prefix of their run, which makes
    /// the prompt of `other` longer by `more` tokens.
    fn is_same(&self, other: &Self, more: i64) -> bool {
        let is_due_together = match (self.due_s, other.due_s) {
            (Some(one), Some(other)) => (one - other).abs() < SAME_TIME_S,
            (None, None) => true,
            _ => false,
        };
        is_due_together
            && self.output_tokens == other.output_tokens
            && self.more_tokens(other) == more
    }

    /// Returns by how many tokens the prompt of `other` is longer.
    fn more_tokens(&self, other: &Self) -> i64 {
        i64::from(other.prompt_tokens) - i64::from(self.prompt_tokens)
    }
}

impl ComparedRun {
    /// Creates a run of which only values are known, for example from a result file.
    pub fn of_values(figures: &[Figure], read: impl Fn(Figure) -> Option<f64>) -> Self {
        let value = |figure: &Figure| Some((*figure, read(*figure)?));
        let values = figures.iter().filter_map(value).collect();
        Self { values, errors: Vec::new(), workload: Vec::new(), seed: None, requests: None }
    }

    /// Creates a run from its log and a policy's definitions.
    pub fn of_log(log: &RunLog, policy: &MetricPolicy, figures: &[Figure]) -> Self {
        let scores = RequestScore::of_log(log, policy);
        // Intervals are computed from the requests later, when a comparison asks for them.
        let plain = MetricPolicy { confidence: None, ..policy.clone() };
        let metrics = Metrics::of_scores(log, &plain, &scores);
        let mut run = Self::of_values(figures, |figure| figure.read(&metrics));
        let limit = RateLimit::of(&log.header().facts, &scores);
        run.requests = Some(Requests::of(policy, &scores, limit));
        run.workload = workload(&scores, log.header().facts.request_rate.is_some());
        run.seed = Some(log.header().facts.seed);
        let known = |figure: &Figure| Some((*figure, run.relative_error(*figure)?));
        run.errors = figures.iter().filter_map(known).collect();
        run
    }

    /// Drops the latencies of the requests. The rest is enough where a side has several runs.
    #[must_use]
    pub fn without_requests(self) -> Self {
        Self { requests: None, ..self }
    }

    /// Returns the value of a figure.
    pub fn value(&self, figure: Figure) -> Option<f64> {
        let found = self.values.iter().find(|(of, _)| *of == figure);
        found.map(|(_, value)| *value)
    }

    /// Returns the relative standard error of a figure from the requests of the run; absent if the
    /// run is too short for it or only its values are known.
    pub fn error_within(&self, figure: Figure) -> Option<f64> {
        let found = self.errors.iter().find(|(of, _)| *of == figure);
        found.map(|(_, error)| *error)
    }

    /// Returns the value of a figure and its confidence interval from the requests of the run.
    pub(super) fn value_interval(&self, figure: Figure, confidence: f64) -> Option<ValueInterval> {
        let requests = self.requests.as_ref().filter(|_| figure.of == FigureScope::Run)?;
        let estimate = requests.estimate(figure.quantity, confidence)?;
        let (low, high) = estimate.bounds.interval()?;
        // The estimate of a rate leaves out the beginning and the end of a run, so its relative
        // width is applied to the figure's value.
        let value = self.value(figure)?;
        let factor = if estimate.value == 0.0 { 1.0 } else { value / estimate.value };
        Some(ValueInterval { value, low: low * factor, high: high * factor })
    }

    /// Returns both runs' values of each request, in the order of the plan; absent unless both runs
    /// sent the same requests and the figure is the mean of a latency.
    pub(super) fn paired<'a>(
        &'a self,
        after: &'a Self,
        figure: Figure,
    ) -> Option<(&'a [SumAndCount], &'a [SumAndCount])> {
        let Quantity::Latency(latency, Statistic::Mean) = figure.quantity else { return None };
        if figure.of != FigureScope::Run || !self.has_workload_of(after) {
            return None;
        }
        let before = self.requests.as_ref()?.sample(latency)?;
        let after = after.requests.as_ref()?.sample(latency)?;
        Some((&before.by_request, &after.by_request))
    }

    /// Returns whether both runs sent the same requests at the same times, as far as is known. The
    /// prefix that makes the prompts of a run unique may have another number of tokens in each run.
    pub(super) fn has_workload_of(&self, other: &Self) -> bool {
        let requests = || self.workload.iter().zip(&other.workload);
        let more = requests().next().map(|(one, other)| one.more_tokens(other));
        more.is_some_and(|more| {
            more.abs() <= MOST_PREFIX_TOKENS
                && self.seed == other.seed
                && self.workload.len() == other.workload.len()
                && requests().all(|(one, other)| one.is_same(other, more))
        })
    }

    fn relative_error(&self, figure: Figure) -> Option<f64> {
        let requests = self.requests.as_ref().filter(|_| figure.of == FigureScope::Run)?;
        let estimate = requests.estimate(figure.quantity, 0.95)?;
        estimate.bounds.interval()?;
        Some(estimate.error? / estimate.value).filter(|error| error.is_finite())
    }
}

impl Requests {
    fn of(policy: &MetricPolicy, scores: &[RequestScore<'_>], limit: RateLimit) -> Self {
        let sample = |latency| (latency, LatencySample::of(latency, policy, scores));
        Self {
            latencies: Latency::SERVICE
                .into_iter()
                .chain(policy.parts.iter().copied().map(Latency::Part))
                .map(sample)
                .collect(),
            flow: Flow::of(scores, limit),
        }
    }

    fn sample(&self, latency: Latency) -> Option<&LatencySample> {
        let found = self.latencies.iter().find(|(of, _)| *of == latency);
        found.map(|(_, sample)| sample)
    }

    fn estimate(&self, quantity: Quantity, confidence: f64) -> Option<Estimate> {
        let flow = self.flow.as_ref();
        Some(match quantity {
            Quantity::Requests => flow?.requests_per_s(confidence),
            Quantity::InputTokens => flow?.input_tokens_per_s(confidence),
            Quantity::OutputTokens => flow?.output_tokens_per_s(confidence),
            Quantity::TotalTokens => flow?.total_tokens_per_s(confidence),
            Quantity::Latency(latency, statistic) => {
                let sample = self.sample(latency)?.values.as_ref()?;
                match statistic {
                    Statistic::Mean => sample.in_time().mean(confidence),
                    Statistic::Median => sample.percentile(0.5, confidence),
                    Statistic::Percentile(percent) if (0.0..100.0).contains(&percent) => {
                        sample.percentile(percent / 100.0, confidence)
                    }
                    Statistic::Percentile(_) => return None,
                }
                .scaled(1e3)
            }
            _ => return None,
        })
    }
}

impl LatencySample {
    fn of(latency: Latency, policy: &MetricPolicy, scores: &[RequestScore<'_>]) -> Self {
        let sampled = latency.sampled(policy, scores);
        let values = |score: &'_ RequestScore<'_>| -> Vec<f64> {
            latency.values(score, policy.tpot).collect()
        };
        // `sampled` and `scores` are both in the order of the plan.
        let mut left = sampled.iter().peekable();
        let sum = |score: &RequestScore<'_>| {
            if left.next_if(|sampled| ptr::eq(**sampled, score)).is_none() {
                return (0.0, 0.0);
            }
            let values = values(score);
            (values.iter().sum(), values.len() as f64)
        };
        let by_request: Vec<SumAndCount> = scores.iter().map(sum).collect();
        let count: f64 = by_request.iter().map(|(_, count)| count).sum();
        let fits_budget = 0.0 < count && count <= policy.sample_budget.values() as f64;
        let in_time = in_time(sampled.into_iter());
        let values = fits_budget.then(|| latency.sample(&in_time, policy.tpot).sorted());
        Self { values, by_request }
    }
}

fn workload(scores: &[RequestScore<'_>], is_scheduled: bool) -> Vec<PlannedRequest> {
    let due = |score: &RequestScore<'_>| score.start_s - score.waited_s;
    let first = scores.iter().map(due).fold(f64::INFINITY, f64::min);
    let planned = |score: &RequestScore<'_>| PlannedRequest {
        prompt_tokens: score.planned.prompt_tokens,
        output_tokens: score.planned.output_tokens,
        due_s: is_scheduled.then(|| due(score) - first),
    };
    scores.iter().map(planned).collect()
}

/// Largest difference in tokens, with a reserve, between the prefixes of eight letters and a blank
/// that make the prompts of each run unique.
const MOST_PREFIX_TOKENS: i64 = 16;

/// Difference of due times, in seconds, below which requests of two runs are due together.
const SAME_TIME_S: f64 = 1e-3;
