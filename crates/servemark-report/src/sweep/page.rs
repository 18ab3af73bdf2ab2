//! A sweep as a self-contained page with its table and curves.

use std::io;

use servemark_metrics::Summary;

use super::{SweepReport, SweepRow, e2el, generates, output_tokens_per_s, tpot, ttft};
use crate::chart::{Axis, Curve, Figure, Mark, Panel};
use crate::page::{self, section};
use crate::pareto;

pub(super) fn write(report: &SweepReport<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let [latency, trade] = [latencies(report), trade(report)];
    page::head("Servemark: a sweep", "A sweep", out)?;
    section("Latency over throughput", &latency, out)?;
    section("What a user gets, over what the server gives", &trade, out)?;
    writeln!(out, "<h2>Points</h2>")?;
    report.grid().write_html(out)?;
    page::end(out)
}

/// Draws median and 99th percentile of each latency over the throughput.
pub(crate) fn latencies(report: &SweepReport<'_>) -> Figure {
    let panels = [("TTFT", ttft as Of), ("TPOT", tpot), ("E2E latency", e2el)];
    let panels = panels.into_iter().filter_map(|(name, of)| latency(report, name, of));
    Figure::new(vec![panels.collect()]).sized(480, 400)
}

type Of = for<'a> fn(&SweepRow<'a>) -> &'a Summary;

fn latency(report: &SweepReport<'_>, name: &str, of: Of) -> Option<Panel> {
    let curve = |label, hue, value: fn(&Summary) -> Option<f64>| {
        let mark = |row: &SweepRow<'_>| Some(Mark::at(throughput(row)?, value(of(row))?));
        Curve::line(label, hue, report.rows.iter().filter_map(mark).collect())
    };
    let curves = vec![
        curve("median", 0, |summary| summary.median_ms),
        curve("p99", 1, |summary| summary.percentile_ms(99.0)),
    ];
    let is_empty = curves.iter().all(|curve| curve.points.is_empty());
    let (x, y) = (Axis::even(unit(report)), Axis::even(format!("{name} (ms)")));
    (!is_empty).then(|| Panel::new(name, x, y, curves))
}

/// Draws total throughput over the speed per user, with the Pareto frontier.
fn trade(report: &SweepReport<'_>) -> Figure {
    let mark = |row: &SweepRow<'_>| {
        let speed = tpot(row).median_ms.filter(|tpot| *tpot > 0.0).map(|tpot| 1000.0 / tpot)?;
        Some(Mark::at(speed, output_tokens_per_s(row)?).labelled(row.name))
    };
    let marks: Vec<Mark> = report.rows.iter().filter_map(mark).collect();
    if marks.is_empty() {
        return Figure::new(vec![Vec::new()]);
    }
    let best = pareto::frontier(&marks, |mark| (mark.x, mark.y));
    let mut best: Vec<Mark> = best.into_iter().map(|index| marks[index].clone()).collect();
    best.sort_by(|one, other| one.x.total_cmp(&other.x));
    let bare = |mark: &Mark| Mark::at(mark.x, mark.y);
    let curves = vec![
        Curve::dots("all points", marks.iter().map(bare).collect()),
        Curve::line("Pareto frontier", 0, best),
    ];
    let (x, y) =
        (Axis::even("tokens/s of a user (1 / median TPOT)"), Axis::even("output tokens/s"));
    Figure::new(vec![vec![Panel::new("", x, y, curves)]]).sized(900, 520)
}

fn throughput(row: &SweepRow<'_>) -> Option<f64> {
    if generates(row) { output_tokens_per_s(row) } else { row.metrics.throughput.requests_per_s }
}

fn unit(report: &SweepReport<'_>) -> &'static str {
    if report.rows.iter().any(generates) { "output tokens/s" } else { "requests/s" }
}
