//! Single requests as points of a drawing.

use servemark_metrics::{RequestScore, statistics};

use crate::Report;

/// A request, numbered in send order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Position in send order, from 1.
    pub(super) place: usize,
    pub(super) success: bool,
    pub(super) latency_s: f64,
    pub(super) ttft_ms: Option<f64>,
    pub(super) tpot_ms: Option<f64>,
    pub(super) itl_ms: Option<f64>,
    pub(super) input_tokens: f64,
    pub(super) output_tokens: f64,
}

/// Returns the requests of a run; of a run with too many, an evenly spaced selection.
pub(super) fn points(report: &Report<'_>, scores: &[RequestScore<'_>]) -> Vec<Point> {
    let step = scores.len().div_ceil(MOST).max(1);
    let mut sent: Vec<&RequestScore<'_>> = scores.iter().collect();
    sent.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    let places = sent.into_iter().enumerate().step_by(step);
    places.map(|(place, score)| point(place + 1, score, report)).collect()
}

/// Most points in one panel that a reader can tell apart.
const MOST: usize = 3000;

fn point(place: usize, score: &RequestScore<'_>, report: &Report<'_>) -> Point {
    let gaps: Vec<f64> = score.itl_s.iter().collect();
    let milliseconds = |seconds: f64| seconds * 1000.0;
    Point {
        place,
        success: score.success,
        latency_s: score.latency_s,
        ttft_ms: score.ttft_s.map(milliseconds),
        tpot_ms: score.tpot_s(report.metrics.policy.tpot).map(milliseconds),
        itl_ms: statistics::mean(&gaps).map(milliseconds),
        input_tokens: score.prompt_tokens.into(),
        output_tokens: score.output_token_count() as f64,
    }
}
