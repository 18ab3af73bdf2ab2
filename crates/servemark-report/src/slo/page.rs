//! An SLO search as a self-contained page.

use std::io;

use servemark_metrics::{Goal, Judgement};

use super::{SloReport, SloRow, unit};
use crate::chart::{Axis, Curve, Figure, Look, Mark, Panel};
use crate::page::escaped;
use crate::page::{self, section};
use crate::sweep::{SweepReport, latencies};

pub(super) fn write(report: &SloReport<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    page::head("Servemark: a search by objectives", "A search by objectives", out)?;
    for line in report.answer.lines() {
        writeln!(out, "<p>{}</p>", escaped(line))?;
    }
    section("Objectives over the load", &objectives(report), out)?;
    let points = SweepReport::of(report.in_order().into_iter().map(|row| row.point));
    section("Latency over throughput", &latencies(&points), out)?;
    writeln!(out, "<h2>Loads that were tried</h2>")?;
    report.grid().write_html(out)?;
    page::end(out)
}

/// Draws each objective over the load, with its bounds and its limit.
fn objectives(report: &SloReport<'_>) -> Figure {
    let rows = report.in_order();
    let count = rows.first().map_or(0, |row| row.judgements.len());
    let panels = (0..count).filter_map(|index| panel(report.setting, &rows, index));
    let panels: Vec<Panel> = panels.collect();
    Figure::new(panels.chunks(3).map(<[Panel]>::to_vec).collect()).sized(480, 400)
}

fn panel(setting: &str, rows: &[&SloRow<'_>], index: usize) -> Option<Panel> {
    let judged = |row: &&SloRow<'_>| Some((row.value, *row.judgements.get(index)?));
    let points: Vec<(f64, Judgement)> = rows.iter().filter_map(judged).collect();
    let (_, first) = points.first()?;
    let curve = |of: fn(&Judgement) -> Option<f64>| {
        let mark = |(x, judgement): &(f64, Judgement)| {
            let y = of(judgement)? * unit(judgement);
            y.is_finite().then(|| Mark::at(*x, y))
        };
        points.iter().filter_map(mark).collect::<Vec<_>>()
    };
    let ends = [points.first()?.0, points.last()?.0];
    let limit = ends.map(|x| Mark::at(x, limit(first))).to_vec();
    let bound = Look::joined(0, 1, 0);
    let curves = vec![
        Curve::line("limit", 1, limit),
        Curve::line("at most, at least", 0, curve(|judgement| Some(judgement.high))).looking(bound),
        Curve::line("at most, at least", 0, curve(|judgement| Some(judgement.low))).looking(bound),
        Curve::line("seen", 0, curve(|judgement| judgement.value)),
    ];
    let title = first.objective.to_string();
    let label = title.split(['<', '>']).next().unwrap_or_default();
    let y = Axis::even(format!("{label} ({})", if unit(first) > 1.0 { "%" } else { "ms" }));
    Some(Panel::new(title.clone(), Axis::even(setting), y, curves))
}

fn limit(judgement: &Judgement) -> f64 {
    match judgement.objective.goal {
        Goal::Latency { limit_ms, .. } => limit_ms,
        Goal::Success { share } | Goal::Goodput { share } => share * 100.0,
        _ => f64::NAN,
    }
}
