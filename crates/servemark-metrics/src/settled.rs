//! The settled part of a run: what remains without its warm-up, at any load.
//!
//! [`SteadyState`](crate::SteadyState) and [`Plateau`](crate::Plateau) are the peers' and go by the
//! number of requests in flight. This goes by what the run shows: whether the level of a latency, of
//! the output or of the load changes (`servemark_statistics::settling`).

mod series;

use std::fmt;

use serde::Serialize;
use servemark_core::RunLog;
use servemark_statistics::{Settling, settling};

use self::series::{Series, Window};
use crate::metrics::Latencies;
use crate::policy::MetricPolicy;
use crate::{RateEstimates, RequestScore};

/// Whether and from where on a run is settled. Seconds count from when its first request was sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Settled {
    /// How much of the run is settled.
    pub status: SettledStatus,
    /// Why it is not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The figures that were looked at.
    pub figures: Vec<SettledFigure>,
    /// What the run shows without its warm-up, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<SettledPart>,
}

/// How much of a run is settled. Closed: these are all the cases.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledStatus {
    /// Nothing, or the run cannot tell.
    None,
    /// What comes after a warm-up.
    Part,
    /// All of it.
    Whole,
}

/// A figure that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SettledFigure {
    /// Which figure.
    pub figure: SettlingOf,
    /// What its level does.
    #[serde(flatten)]
    pub level: Level,
}

/// The figures whose level is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SettlingOf {
    /// End-to-end latency, where answers have no first token.
    E2el,
    /// Requests in flight.
    InFlight,
    /// Output tokens per second.
    OutputTokensPerS,
    /// Requests that ended well per second, where nobody counted tokens.
    RequestsPerS,
    /// Time per output token of each request.
    Tpot,
    /// Time to first token.
    Ttft,
}

/// What the level of a figure does in a run. Latencies are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "level")]
pub enum Level {
    /// It does not change.
    Steady,
    /// It changes once, in the first half.
    Settles(Shift),
    /// It changes in the second half, or again after it has changed.
    Unsettled(Shift),
    /// The run cannot tell.
    Unknown,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shift {
    /// When the level first changes.
    pub at_s: f64,
    /// The same as a share of the time in which requests were sent.
    pub at_share: f64,
    /// Mean of the figure before.
    pub before: f64,
    /// Mean of the figure after it.
    pub after: f64,
}

/// What a run shows without its warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SettledPart {
    /// Where it begins.
    pub from_s: f64,
    /// Where it ends: when the last request was sent, in a closed loop the last one behind which
    /// others came.
    pub to_s: f64,
    /// Number of requests that were sent within it.
    pub requests: usize,
    /// Latencies of these requests.
    pub latencies: Latencies,
    /// Requests that ended well within it, per second.
    pub requests_per_s: f64,
    /// Output tokens that came within it, per second; absent where nobody counted any.
    pub output_tokens_per_s: Option<f64>,
    /// Requests in flight, on average.
    pub in_flight: f64,
    /// The rates of its requests with their confidence intervals, where it shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_estimates: Option<RateEstimates>,
}

impl Settled {
    /// The settled part of a run, where the policy asks for intervals; nothing of a run without
    /// requests.
    pub(crate) fn of(
        log: &RunLog,
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
    ) -> Option<Self> {
        policy.confidence?;
        let window = Window::of(log, scores)?;
        if window.share < LEAST_SENDING {
            let percent = window.share * 100.0;
            let reason = format!("requests were sent in only {percent:.0} % of the run's time");
            return Some(Self::none(reason, Vec::new()));
        }
        let series = series::all(policy, scores, &window);
        let figures: Vec<SettledFigure> = series.iter().map(|one| figure(one, &window)).collect();
        if let Some(reason) = why_none(&figures) {
            return Some(Self::none(reason, figures));
        }
        let settles = figures.iter().filter_map(|figure| match figure.level {
            Level::Settles(shift) => Some(shift.at_s),
            _ => None,
        });
        let Some(from_s) = settles.reduce(f64::max) else {
            return Some(Self { status: SettledStatus::Whole, reason: None, figures, part: None });
        };
        let part = SettledPart::of(policy, scores, &window.after(from_s));
        let reason = warm_up(&figures);
        Some(Self { status: SettledStatus::Part, reason, figures, part: Some(part) })
    }

    fn none(reason: String, figures: Vec<SettledFigure>) -> Self {
        Self { status: SettledStatus::None, reason: Some(reason), figures, part: None }
    }

    /// The figures whose level changes in the first half of the run, in words; nothing without any.
    pub(crate) fn warm_up(&self) -> Option<String> {
        warm_up(&self.figures)
    }
}

impl SettledPart {
    fn of(policy: &MetricPolicy, scores: &[RequestScore<'_>], window: &Window) -> Self {
        let sent = scores.iter().filter(|score| window.holds(score.start_s));
        let sent: Vec<RequestScore<'_>> = sent.cloned().collect();
        let ended = scores.iter().filter(|score| score.success && window.holds(score.end_s()));
        let seconds = window.seconds();
        let tokens = series::tokens_in(scores, window);
        Self {
            from_s: window.from - window.zero,
            to_s: window.to - window.zero,
            requests: sent.len(),
            latencies: Latencies::of(policy, &sent),
            requests_per_s: ended.count() as f64 / seconds,
            output_tokens_per_s: tokens.map(|tokens| tokens / seconds),
            in_flight: series::time_in_flight(scores, window) / seconds,
            rate_estimates: RateEstimates::of(&sent, policy),
        }
    }
}

/// What the level of a series does.
fn figure(series: &Series, window: &Window) -> SettledFigure {
    let shift = |place: usize| {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let at_s = series.times[place] - window.zero;
        let (before, after) = series.values.split_at(place);
        let at_share = at_s / (window.to - window.zero);
        Shift { at_s, at_share, before: mean(before), after: mean(after) }
    };
    let level = match settling(&series.values) {
        Settling::Steady => Level::Steady,
        Settling::After { cut } => Level::Settles(shift(cut)),
        Settling::Unsettled { first, .. } => Level::Unsettled(shift(first)),
        Settling::Unknown => Level::Unknown,
    };
    SettledFigure { figure: series.of, level }
}

/// Why no part of a run is settled; nothing where one is. The first figure is a latency, and it must
/// be known.
fn why_none(figures: &[SettledFigure]) -> Option<String> {
    let unsettled = figures.iter().find_map(|figure| match figure.level {
        Level::Unsettled(shift) => {
            Some(format!("{}: {shift}, not settled after that", figure.figure))
        }
        _ => None,
    });
    let is_unknown = figures.first().is_none_or(|first| first.level == Level::Unknown);
    let unknown = || "too few requests, or latencies stay alike for too long to tell".to_owned();
    unsettled.or_else(|| is_unknown.then(unknown))
}

fn warm_up(figures: &[SettledFigure]) -> Option<String> {
    let early = figures.iter().filter_map(|figure| match figure.level {
        Level::Settles(shift) => Some(format!("{}: {shift}", figure.figure)),
        Level::Unsettled(shift) if shift.at_share <= 0.5 => {
            Some(format!("{}: {shift}, not settled after that", figure.figure))
        }
        _ => None,
    });
    let early: Vec<String> = early.collect();
    (!early.is_empty()).then(|| early.join("; "))
}

/// `TTFT (ms)`
impl fmt::Display for SettlingOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::E2el => "E2E (ms)",
            Self::InFlight => "requests in flight",
            Self::OutputTokensPerS => "output tokens/s",
            Self::RequestsPerS => "requests/s",
            Self::Tpot => "TPOT (ms)",
            Self::Ttft => "TTFT (ms)",
        })
    }
}

/// `412.0 until 24.1 s (20 %), then 201.0`
impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_s, at_share, before, after } = self;
        let percent = at_share * 100.0;
        write!(f, "{before:.1} until {at_s:.1} s ({percent:.0} %), then {after:.1}")
    }
}

/// Of a run that sends in less than this share of its time most has no load to be settled at.
const LEAST_SENDING: f64 = 0.1;
