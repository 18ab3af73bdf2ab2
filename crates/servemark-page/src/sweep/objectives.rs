//! Objectives over the load of a search.

use servemark_metrics::{Goal, Judgement};
use servemark_report::{SloReport, SloRow, display_factor};

use crate::plot::{Axis, Marker, Plot};
use crate::series::Scales;

/// Returns a plot of each objective over the load, with its bounds and its limit.
pub(super) fn plots(report: &SloReport<'_>) -> Vec<Plot> {
    let rows = report.in_order();
    let count = rows.first().map_or(0, |row| row.judgements.len());
    (0..count).filter_map(|index| plot(report.setting(), &rows, index)).collect()
}

fn plot(setting: &str, rows: &[&SloRow<'_>], index: usize) -> Option<Plot> {
    let judged = |row: &&SloRow<'_>| Some((row.value, *row.judgements.get(index)?));
    let points: Vec<(f64, Judgement)> = rows.iter().filter_map(judged).collect();
    let (_, first) = points.first()?;
    let factor = display_factor(first);
    let marker = |(x, judgement): &(f64, Judgement)| {
        let y = judgement.value? * factor;
        let range = (judgement.low * factor, judgement.high * factor);
        let is_known = range.0.is_finite() && range.1.is_finite();
        let y_range = is_known.then_some(range);
        y.is_finite().then(|| Marker { name: x.to_string(), x: *x, y, x_range: None, y_range })
    };
    let markers: Vec<Marker> = points.iter().filter_map(marker).collect();
    let unit = if factor > 1.0 { "%" } else { "ms" };
    let axis = Axis::from_zero("load", setting, "", points.iter().map(|(x, _)| *x));
    let (low, high) = (axis.low, axis.high);
    let mut plot = Plot {
        id: format!("objective-{index}"),
        title: first.objective.to_string(),
        unit,
        note: format!("{unit}, over {setting}"),
        axis,
        scales: if factor > 1.0 { Scales::Linear } else { Scales::LinearOrLog },
        span: None,
        layers: Vec::new(),
    };
    let limit = match first.objective.goal {
        Goal::Latency { limit_ms, .. } => Some(limit_ms),
        Goal::Success { share } | Goal::Goodput { share } => Some(share * factor),
    };
    if let Some(limit) = limit {
        plot.dashed("limit", 1, &[(low, limit), (high, limit)]);
    }
    if !markers.is_empty() {
        plot.joined_markers("seen, with its bounds", 0, &markers);
    }
    Some(plot)
}
