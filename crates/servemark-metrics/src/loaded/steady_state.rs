//! Finds the steady part of a run: the part under its full load, without the ramp at either end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statistics::whole;
use crate::{MetricsError, RequestScore};

/// Share of the peak concurrency from which on a run counts as steady, above 0 and at most 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct ConcurrencyRatio(f64);

impl ConcurrencyRatio {
    /// The ratio 0.95.
    pub(crate) const MOST: Self = Self(0.95);

    /// Creates a ratio, if the number is above 0 and at most 1.
    pub fn new(ratio: f64) -> Result<Self, MetricsError> {
        let is_share = ratio > 0.0 && ratio <= 1.0;
        is_share.then_some(Self(ratio)).ok_or(MetricsError::ConcurrencyRatio)
    }

    /// Returns the ratio as a number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for ConcurrencyRatio {
    type Error = MetricsError;

    fn try_from(ratio: f64) -> Result<Self, MetricsError> {
        Self::new(ratio)
    }
}

impl From<ConcurrencyRatio> for f64 {
    fn from(ratio: ConcurrencyRatio) -> Self {
        ratio.0
    }
}

/// The longest part of a run in which a share of its peak concurrency was in flight. The
/// definitions are those of SGLang's `steady_state_serving`, with its keys in its order. Seconds
/// count since the run's clock started.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SteadyState {
    /// Share of the peak concurrency that was asked for.
    pub concurrency_ratio: ConcurrencyRatio,
    /// Start of the part in seconds.
    pub window_start: f64,
    /// End of the part in seconds.
    pub window_end: f64,
    /// Duration of the part in seconds.
    pub duration: f64,
    /// Number of requests from which on the load counts as full.
    pub concurrency_threshold: usize,
    /// Number of requests that succeeded within the part.
    pub completed: usize,
    /// Prompt tokens of the requests that were sent within the part; absent if the policy does not
    /// count those of conversations.
    pub total_input: Option<u64>,
    /// Prompt tokens per second.
    pub input_throughput: Option<f64>,
    /// Output tokens that came within the part. A request counts with the share of its pieces that
    /// came within it.
    pub total_output: f64,
    /// Output tokens within the part by Servemark's tokenizer; absent if it counted none.
    pub total_output_retokenized: Option<f64>,
    /// Output tokens per second.
    pub output_throughput: f64,
    /// Output tokens per second by Servemark's tokenizer; absent if it counted none.
    pub output_throughput_retokenized: Option<f64>,
    /// Mean number of requests in flight.
    pub average_concurrency: f64,
    /// Largest number of requests in flight at any time of the run.
    pub peak_concurrency: usize,
    /// Output tokens in the fullest second of the part.
    pub peak_output_throughput: f64,
}

impl SteadyState {
    /// Finds the steady part of a run; absent if no request succeeded with a latency above zero.
    ///
    /// ```
    /// use servemark_metrics::{ConcurrencyRatio, SteadyState};
    ///
    /// let ratio = ConcurrencyRatio::new(0.8)?;
    /// assert_eq!(SteadyState::of(&[], ratio), None);
    /// # Ok::<(), servemark_metrics::MetricsError>(())
    /// ```
    pub fn of(scores: &[RequestScore<'_>], ratio: ConcurrencyRatio) -> Option<Self> {
        let successes = scores.iter().filter(|score| score.success && score.latency_s > 0.0);
        let successes: Vec<&RequestScore<'_>> = successes.collect();
        let window = Window::find(&successes, ratio)?;
        let per_second = |tokens: f64| tokens / window.duration();
        let (output, retokenized) = window.output(&successes);
        let input = window.input(&successes);
        Some(Self {
            concurrency_ratio: ratio,
            window_start: window.start,
            window_end: window.end,
            duration: window.duration(),
            concurrency_threshold: window.threshold,
            completed: successes.iter().filter(|score| window.contains(end(score))).count(),
            total_input: Some(input),
            input_throughput: Some(per_second(input as f64)),
            total_output: output,
            total_output_retokenized: retokenized,
            output_throughput: per_second(output),
            output_throughput_retokenized: retokenized.map(per_second),
            average_concurrency: per_second(window.time_in_flight(&successes)),
            peak_concurrency: window.peak,
            peak_output_throughput: window.fullest_second(&successes),
        })
    }

    /// Removes the figures of the input.
    pub(crate) fn without_input(self) -> Self {
        Self { total_input: None, input_throughput: None, ..self }
    }
}

/// The part of the run, and the concurrency that defines it.
struct Window {
    start: f64,
    end: f64,
    threshold: usize,
    peak: usize,
}

/// A period during which no request started or ended.
#[derive(Clone, Copy)]
struct Interval {
    start: f64,
    end: f64,
    open: usize,
}

impl Window {
    fn find(successes: &[&RequestScore<'_>], ratio: ConcurrencyRatio) -> Option<Self> {
        let intervals = intervals(successes);
        let peak = intervals.iter().map(|interval| interval.open).max()?;
        let threshold = whole((peak as f64 * ratio.get()).ceil()).max(1);
        let is_full = |interval: &Interval| interval.open >= threshold;
        let runs = intervals.chunk_by(|left, right| is_full(left) == is_full(right));
        let spans =
            runs.filter(|run| is_full(&run[0])).map(|run| (run[0].start, run[run.len() - 1].end));
        // Of equally long spans, the first is kept.
        let longer = |best: (f64, f64), span: (f64, f64)| {
            if span.1 - span.0 > best.1 - best.0 { span } else { best }
        };
        let (start, end) = spans.reduce(longer)?;
        Some(Self { start, end, threshold, peak })
    }

    fn duration(&self) -> f64 {
        self.end - self.start
    }

    fn contains(&self, time: f64) -> bool {
        (self.start..=self.end).contains(&time)
    }

    fn input(&self, successes: &[&RequestScore<'_>]) -> u64 {
        let sent = successes.iter().filter(|score| (self.start..self.end).contains(&score.start_s));
        sent.map(|score| u64::from(score.planned.prompt_tokens)).sum()
    }

    /// Returns the output tokens within the window, by the policy and by Servemark's tokenizer.
    fn output(&self, successes: &[&RequestScore<'_>]) -> (f64, Option<f64>) {
        let (mut output, mut retokenized) = (0.0, None);
        for score in successes {
            let share = self.share(score);
            output += score.output_token_count() as f64 * share;
            if let Some(tokens) = score.retokenized_tokens {
                *retokenized.get_or_insert(0.0) += f64::from(tokens) * share;
            }
        }
        (output, retokenized)
    }

    /// Returns the share of a request's pieces that came within the window; zero for a request
    /// without pieces.
    fn share(&self, score: &RequestScore<'_>) -> f64 {
        let all = score.token_times().count().max(1);
        score.token_times().filter(|&time| self.contains(time)).count() as f64 / all as f64
    }

    fn time_in_flight(&self, successes: &[&RequestScore<'_>]) -> f64 {
        let within = |score: &&RequestScore<'_>| {
            (end(score).min(self.end) - score.start_s.max(self.start)).max(0.0)
        };
        successes.iter().map(within).sum()
    }

    /// Returns the output tokens of the fullest second. A piece on the boundary of two seconds
    /// belongs to the earlier one.
    fn fullest_second(&self, successes: &[&RequestScore<'_>]) -> f64 {
        let mut seconds = BTreeMap::<usize, f64>::new();
        let last = whole(self.duration().ceil()).max(1) - 1;
        for score in successes {
            let pieces = score.token_times().count().max(1) as f64;
            for time in score.token_times().filter(|&time| self.contains(time)) {
                let second = whole((time - self.start).ceil()).saturating_sub(1).min(last);
                *seconds.entry(second).or_default() += score.output_token_count() as f64 / pieces;
            }
        }
        seconds.into_values().fold(0.0, f64::max)
    }
}

/// Returns the number of requests in flight from the first start to the last end. An end and a
/// start at the same instant cancel out.
fn intervals(successes: &[&RequestScore<'_>]) -> Vec<Interval> {
    let mut changes: Vec<(f64, isize)> =
        successes.iter().flat_map(|score| [(score.start_s, 1), (end(score), -1)]).collect();
    changes.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
    let moments: Vec<(f64, isize)> = changes
        .chunk_by(|left, right| left.0.total_cmp(&right.0).is_eq())
        .map(|at_once| (at_once[0].0, at_once.iter().map(|(_, change)| change).sum()))
        .collect();
    let open = moments.iter().scan(0_isize, |open, (_, change)| {
        *open += change;
        Some(usize::try_from(*open).unwrap_or_default())
    });
    let stretches = moments.windows(2).zip(open);
    stretches.map(|(pair, open)| Interval { start: pair[0].0, end: pair[1].0, open }).collect()
}

fn end(score: &RequestScore<'_>) -> f64 {
    score.start_s + score.latency_s
}
