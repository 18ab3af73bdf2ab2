//! Figures of a run in the order of time.

use servemark_core::RunLog;

use super::SettlingOf;
use crate::evidence::sent_last;
use crate::policy::MetricPolicy;
use crate::sampled::sampled_of;
use crate::statistics::whole;
use crate::{Latency, RequestScore};

/// A figure in the order of time.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) of: SettlingOf,
    /// Time of each value, in seconds since the run's clock started.
    pub(super) times: Vec<f64>,
    pub(super) values: Vec<f64>,
}

/// A part of the time in which requests were sent, in seconds since the run's clock started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// When the first request of the run was sent.
    pub(super) zero: f64,
    pub(super) from: f64,
    pub(super) to: f64,
    /// Number of requests that were sent in the whole sending time.
    requests: usize,
    /// Whole sending time as a share of the run's duration.
    pub(super) share: f64,
}

impl Window {
    /// Returns the window from the first request to the last, or in a closed loop to the last one
    /// behind which others were sent.
    pub(super) fn of(log: &RunLog, scores: &[RequestScore<'_>]) -> Option<Self> {
        let mut starts: Vec<f64> = scores.iter().map(|score| score.start_s).collect();
        servemark_statistics::sort(&mut starts);
        let first = *starts.first()?;
        let last = scores.iter().map(RequestScore::end_s).fold(first, f64::max);
        let requests = starts.len().saturating_sub(sent_last(&log.header().facts)).max(1);
        let to = starts[requests - 1];
        let share = if last > first { (to - first) / (last - first) } else { 0.0 };
        Some(Self { zero: first, from: first, to, requests, share })
    }

    /// Returns the part of the window that begins this long after the first request.
    pub(super) fn after(self, seconds: f64) -> Self {
        Self { from: self.zero + seconds, ..self }
    }

    pub(super) fn contains(&self, time: f64) -> bool {
        self.from <= time && time <= self.to
    }

    pub(super) fn seconds(&self) -> f64 {
        self.to - self.from
    }

    fn overlap(&self, from: f64, to: f64) -> f64 {
        (to.min(self.to) - from.max(self.from)).max(0.0)
    }
}

/// Returns the series of the figures that a run has, a latency first.
pub(super) fn all(
    policy: &MetricPolicy,
    scores: &[RequestScore<'_>],
    window: &Window,
) -> Vec<Series> {
    let by_request = |latency: Latency| {
        let value = |score: &RequestScore<'_>| {
            Some((score.start_s, latency.values(score, policy.tpot).next()? * 1e3))
        };
        let mut values: Vec<(f64, f64)> =
            sampled_of(latency, policy, scores).filter_map(value).collect();
        values.retain(|(start, _)| window.contains(*start));
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (times, values) = values.into_iter().unzip();
        Series { of: SettlingOf::Latency(latency), times, values }
    };
    let ttft = by_request(Latency::Ttft);
    let latencies = if ttft.values.is_empty() {
        vec![by_request(Latency::E2el)]
    } else {
        vec![ttft, by_request(Latency::Tpot)]
    };
    let bins = Bins::of(window);
    let loads = [bins.output(scores), bins.in_flight(scores)];
    latencies.into_iter().chain(loads).filter(|series| !series.values.is_empty()).collect()
}

/// Equal parts of a window, about one for each request that was sent in it.
struct Bins {
    window: Window,
    count: usize,
    width: f64,
}

impl Bins {
    fn of(window: &Window) -> Self {
        let count = window.requests.clamp(1, MOST_BINS);
        Self { window: *window, count, width: window.seconds() / count as f64 }
    }

    /// Returns the bin of a time within the window.
    fn place(&self, time: f64) -> usize {
        whole((time - self.window.from) / self.width).min(self.count - 1)
    }

    fn output(&self, scores: &[RequestScore<'_>]) -> Series {
        let mut values = vec![0.0; self.count];
        let of = if counts_tokens(scores) {
            SettlingOf::OutputTokensPerS
        } else {
            SettlingOf::RequestsPerS
        };
        each_output(scores, of, |time, amount| {
            if self.window.contains(time) {
                values[self.place(time)] += amount / self.width;
            }
        });
        self.series(of, values)
    }

    fn in_flight(&self, scores: &[RequestScore<'_>]) -> Series {
        let mut values = vec![0.0; self.count];
        for score in scores.iter().filter(|score| score.start_s <= self.window.to) {
            let end = score.end_s().min(self.window.to);
            for (place, value) in values
                .iter_mut()
                .enumerate()
                .take(self.place(end) + 1)
                .skip(self.place(score.start_s))
            {
                let begin = self.window.from + place as f64 * self.width;
                let part = Window { from: begin, to: begin + self.width, ..self.window };
                *value += part.overlap(score.start_s, end) / self.width;
            }
        }
        self.series(SettlingOf::InFlight, values)
    }

    fn series(&self, of: SettlingOf, values: Vec<f64>) -> Series {
        let times = (0..self.count).map(|place| self.window.from + place as f64 * self.width);
        Series { of, times: times.collect(), values }
    }
}

/// Returns the output tokens that came in a window; absent if no counts are known.
pub(super) fn tokens_in(scores: &[RequestScore<'_>], window: &Window) -> Option<f64> {
    let mut tokens = 0.0;
    each_output(scores, SettlingOf::OutputTokensPerS, |time, amount| {
        tokens += if window.contains(time) { amount } else { 0.0 };
    });
    counts_tokens(scores).then_some(tokens)
}

/// Returns the sum over all requests of the seconds in flight within a window.
pub(super) fn time_in_flight(scores: &[RequestScore<'_>], window: &Window) -> f64 {
    scores.iter().map(|score| window.overlap(score.start_s, score.end_s())).sum()
}

fn counts_tokens(scores: &[RequestScore<'_>]) -> bool {
    scores.iter().any(|score| score.success && score.output_token_count() > 0)
}

/// Calls `at` with the time and the amount of every piece of output. The pieces of a successful
/// request add up to its token count. An answer that came whole counts at its end, and so does a
/// request if requests are counted.
fn each_output(scores: &[RequestScore<'_>], of: SettlingOf, mut at: impl FnMut(f64, f64)) {
    for score in scores.iter().filter(|score| score.success) {
        if of == SettlingOf::RequestsPerS {
            at(score.end_s(), 1.0);
            continue;
        }
        let tokens = score.output_token_count() as f64;
        match score.token_times().count() {
            0 => at(score.end_s(), tokens),
            pieces => score.token_times().for_each(|time| at(time, tokens / pieces as f64)),
        }
    }
}

/// Largest number of bins. More points in time show nothing more.
const MOST_BINS: usize = 2000;
