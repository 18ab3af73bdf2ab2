//! Finds the settled part of a run: what remains without its warm-up, at any load.
//!
//! [`SteadyState`](crate::SteadyState) and [`Plateau`](crate::Plateau) are peers' definitions, by
//! the number of requests in flight. The settled part is defined by whether the level of a latency,
//! of the output or of the load changes (`servemark_statistics::settling`).

mod series;

use std::fmt;

use serde::Serialize;
use servemark_core::{RunFacts, RunLog};
use servemark_statistics::{Settling, settling};

use self::series::{Series, Window};
use crate::metrics::Latencies;
use crate::policy::MetricPolicy;
use crate::rate_estimates::RateLimit;
use crate::unmet_waits::unmet_waits;
use crate::{Latency, RateEstimates, RequestScore};

/// Whether a run is settled, and from when on. Seconds count from when its first request was sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SettledRun {
    /// How much of the run is settled.
    pub status: SettledStatus,
    /// Why not all of the run is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Level changes of the figures that were tested.
    pub figures: Vec<SettledFigure>,
    /// Figures of the run without its warm-up, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<SettledPart>,
}

/// How much of a run is settled. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledStatus {
    /// No part is settled, or the run does not suffice to tell.
    None,
    /// The part after a warm-up is settled.
    Part,
    /// The whole run is settled.
    Whole,
}

/// Level changes of one tested figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SettledFigure {
    /// The tested figure.
    pub figure: SettlingOf,
    /// How the level changes.
    #[serde(flatten)]
    pub level: Level,
}

/// Figures whose level is tested.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettlingOf {
    /// Number of requests in flight.
    InFlight,
    /// Output tokens per second.
    OutputTokensPerS,
    /// Successful requests per second, where no token counts are known.
    RequestsPerS,
    /// Latency of each request: time to first token and time per output token, or end-to-end
    /// latency where answers have no first token.
    #[serde(untagged)]
    Latency(Latency),
}

/// How the level of a figure changes during a run. Latencies are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "level")]
pub enum Level {
    /// The level does not change.
    Steady,
    /// The level changes once, in the first half.
    Settles(Shift),
    /// The level changes in the second half, or again after it has changed.
    Unsettled(Shift),
    /// The run does not suffice to tell.
    Unknown,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shift {
    /// Time of the first change in seconds.
    pub at_s: f64,
    /// Time of the first change as a share of the time in which requests were sent.
    pub at_share: f64,
    /// Mean of the figure before the change.
    pub before: f64,
    /// Mean of the figure after the change.
    pub after: f64,
}

/// Figures of a run without its warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SettledPart {
    /// Start in seconds.
    pub from_s: f64,
    /// End in seconds: when the last request was sent, or in a closed loop the last one behind
    /// which others were sent.
    pub to_s: f64,
    /// Number of requests that were sent within the part.
    pub requests: usize,
    /// Latencies of the requests that were sent within the part.
    pub latencies: Latencies,
    /// Requests per second that succeeded within the part.
    pub requests_per_s: f64,
    /// Output tokens per second that came within the part; absent if no counts are known.
    pub output_tokens_per_s: Option<f64>,
    /// Mean number of requests in flight.
    pub in_flight: f64,
    /// Rates of the part's requests with confidence intervals; absent if the part does not suffice
    /// for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_estimates: Option<RateEstimates>,
}

impl SettledRun {
    /// Finds the settled part of a run; absent without requests, or if the policy asks for no
    /// intervals.
    pub(crate) fn of(
        log: &RunLog,
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        limit: RateLimit,
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
        let part =
            SettledPart::of(policy, scores, &window.after(from_s), (&log.header().facts, limit));
        let reason = warm_up(&figures);
        Some(Self { status: SettledStatus::Part, reason, figures, part: Some(part) })
    }

    fn none(reason: String, figures: Vec<SettledFigure>) -> Self {
        Self { status: SettledStatus::None, reason: Some(reason), figures, part: None }
    }

    /// Describes the figures whose level changes in the first half of the run; absent if there are
    /// none.
    pub(crate) fn warm_up(&self) -> Option<String> {
        warm_up(&self.figures)
    }
}

impl SettledPart {
    fn of(
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        window: &Window,
        (facts, limit): (&RunFacts, RateLimit),
    ) -> Self {
        let sent = scores.iter().filter(|score| window.contains(score.start_s));
        let sent: Vec<RequestScore<'_>> = sent.cloned().collect();
        let ended = scores.iter().filter(|score| score.success && window.contains(score.end_s()));
        let seconds = window.seconds();
        let tokens = series::tokens_in(scores, window);
        Self {
            from_s: window.from - window.zero,
            to_s: window.to - window.zero,
            requests: sent.len(),
            latencies: Latencies::of(policy, &sent, unmet_waits(facts, &sent)),
            requests_per_s: ended.count() as f64 / seconds,
            output_tokens_per_s: tokens.map(|tokens| tokens / seconds),
            in_flight: series::time_in_flight(scores, window) / seconds,
            rate_estimates: RateEstimates::of(&sent, policy, limit),
        }
    }
}

/// Tests how the level of a series changes.
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

/// Returns why no part of a run is settled; absent if a part is. The first figure is a latency, and
/// its level must be known.
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

/// Displays the figure with its unit, for example `TTFT (ms)`.
impl fmt::Display for SettlingOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Latency(latency) => return write!(f, "{} (ms)", latency.label()),
            Self::InFlight => "requests in flight",
            Self::OutputTokensPerS => "output tokens/s",
            Self::RequestsPerS => "requests/s",
        })
    }
}

/// Displays the shift as `412.0 until 24.1 s (20 %), then 201.0`.
impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_s, at_share, before, after } = self;
        let percent = at_share * 100.0;
        write!(f, "{before:.1} until {at_s:.1} s ({percent:.0} %), then {after:.1}")
    }
}

/// Share of its time in which a run must send requests to be tested. A run that sends for less has
/// no load for most of its time.
const LEAST_SENDING: f64 = 0.1;
