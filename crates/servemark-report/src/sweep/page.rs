//! A sweep as a page that needs nothing but itself: the table, and its curves as drawings.

use std::io;

use servemark_metrics::Summary;

use super::{SweepReport, SweepRow, e2el, generates, output_tokens_per_s, tpot, ttft};
use crate::chart::{Axis, Curve, Figure, Mark, Panel};
use crate::pareto;

pub(super) fn write(report: &SweepReport<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let [latency, trade] = [latencies(report), trade(report)];
    writeln!(out, "{HEAD}")?;
    section("Latency over throughput", &latency, out)?;
    section("What a user gets, over what the server gives", &trade, out)?;
    writeln!(out, "<h2>Points</h2>")?;
    report.grid().write_html(out)?;
    writeln!(out, "</body>\n</html>")
}

fn section(title: &str, figure: &Figure, out: &mut dyn io::Write) -> io::Result<()> {
    if figure.rows.iter().all(Vec::is_empty) {
        return Ok(());
    }
    writeln!(out, "<h2>{title}</h2>\n<figure>\n{}\n</figure>", figure.svg()?)
}

/// How long one waits, where the server does so much.
fn latencies(report: &SweepReport<'_>) -> Figure {
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

/// The points, and those that no other one beats on both sides.
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

const HEAD: &str = "\
<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<title>Servemark: a sweep</title>
<style>
body { font-family: sans-serif; margin: 2em; }
figure { margin: 0; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; }
td, th { border: 1px solid #ccc; padding: 0.2em 0.6em; text-align: right; }
</style>
</head>
<body>
<h1>A sweep</h1>";
