//! The time axis of a run, and the parts of it that are marked.

use serde_json::{Value, json};
use servemark_core::{Phase, RequestRecord, RunLog, Stamp};
use servemark_metrics::{Metrics, RequestScore, SettledStatus};

use crate::html::Html;
use crate::number::number;
use crate::pack::rounded;

/// The time axis of a run. Its zero is the start of the first measured request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    /// Zero of the axis, in seconds since the run's clock started.
    pub(crate) zero: f64,
    /// Start of the axis: below zero if requests of the warm-up are shown.
    pub(crate) from: f64,
    /// End of the axis.
    pub(crate) to: f64,
}

impl Times {
    /// Returns the axis of a run; absent if no request was measured.
    pub(crate) fn of(log: &RunLog, scores: &[RequestScore<'_>]) -> Option<Self> {
        let zero = scores.iter().map(|score| score.start_s).reduce(f64::min)?;
        let to = scores.iter().map(RequestScore::end_s).fold(zero, f64::max) - zero;
        let to = to.max(1e-3);
        let earliest = warm_up(log).map(|record| seconds(record.started()) - zero);
        let earliest = earliest.fold(0.0, f64::min);
        // A long warm-up must not squeeze the measurement.
        Some(Self { zero, from: earliest.max(-MOST_WARM_UP * to), to })
    }

    /// Returns a time of the run's clock on the axis.
    pub(crate) fn at(&self, stamp: Stamp) -> f64 {
        seconds(stamp) - self.zero
    }

    /// Returns the ends of the axis.
    pub(crate) fn span(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    pub(crate) fn json(&self, metrics: &Metrics) -> Value {
        let marks: Vec<Value> = self
            .marks(metrics)
            .into_iter()
            .map(|(kind, from, to)| json!({"kind": kind, "from": rounded(from), "to": rounded(to)}))
            .collect();
        json!({"from": rounded(self.from), "to": rounded(self.to), "marks": marks})
    }

    /// Returns the marked parts: kind, start and end.
    fn marks(&self, metrics: &Metrics) -> Vec<(&'static str, f64, f64)> {
        let mut marks = Vec::new();
        if self.from < 0.0 {
            marks.push(("warm-up", self.from, 0.0));
        }
        if let Some(part) = metrics.settled.as_ref().and_then(|resolved| resolved.part.as_ref()) {
            marks.push(("unsettled", 0.0, part.from_s));
            marks.push(("settled", part.from_s, part.to_s));
            marks.push(("unsettled", part.to_s, self.to));
        }
        marks
    }

    /// Writes what the marks mean.
    pub(crate) fn legend(&self, metrics: &Metrics, html: &mut Html) {
        html.raw("<ul class=\"marks\">");
        if metrics.requests.failed > 0 {
            html.element("li", "Red ticks: ends of failed requests");
        }
        if self.from < 0.0 {
            html.element("li", "Shaded before 0 s: requests of the warm-up, which are not scored");
        }
        let Some(resolved) = &metrics.settled else {
            html.raw("</ul>\n");
            return;
        };
        let reason = resolved.reason.as_deref().unwrap_or_default();
        match (resolved.status, &resolved.part) {
            (SettledStatus::Whole, _) => html.element("li", "The whole run is settled"),
            (SettledStatus::Part, Some(part)) => {
                let (from, to) = (number(part.from_s), number(part.to_s));
                let text = format!(
                    "Settled from {from} s to {to} s, between the dotted lines; outside of it shaded: {reason}"
                );
                html.element("li", &text)
            }
            _ => html.element("li", &format!("No part of the run is settled: {reason}")),
        };
        html.raw("</ul>\n");
    }
}

/// Returns the requests of the warm-up.
pub(crate) fn warm_up(log: &RunLog) -> impl Iterator<Item = &RequestRecord> {
    log.records().iter().filter(|record| record.phase == Phase::Warmup)
}

fn seconds(stamp: Stamp) -> f64 {
    stamp.as_nanos() as f64 / 1e9
}

/// Largest part of the axis that a warm-up takes, as a multiple of the measurement.
const MOST_WARM_UP: f64 = 0.25;
