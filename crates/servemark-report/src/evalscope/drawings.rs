//! Drawings of the page: a comparison of the runs, and the details of each run.

use super::EvalscopeRun;
use super::field::Field;
use super::percentiles::Sample;
use super::points::Point;
use crate::chart::{Axis, ChartStyle, Curve, Figure, Mark, Panel};

/// Draws the mean and the 99th percentile of each latency over the load.
pub(super) fn latencies(runs: &[&EvalscopeRun], generates: bool) -> Figure {
    let panel = |(mean, sample, name): (Field, Sample, &str)| {
        let means = marks(runs, |run| run.numbers.get(mean));
        let tails = marks(runs, |run| run.percentiles.get("99%", sample));
        let curves = vec![Curve::line("avg", 0, means), Curve::line("p99", 1, tails)];
        Panel::new(name, Axis::even(load_name(runs)), Axis::even(name), curves)
    };
    let all = [
        (Field::Latency, Sample::Latency, "Latency (s)"),
        (Field::Ttft, Sample::Ttft, "TTFT (ms)"),
        (Field::Tpot, Sample::Tpot, "TPOT (ms)"),
    ];
    let formatted = if generates { &all[..] } else { &all[..1] };
    Figure::new(vec![formatted.iter().copied().map(panel).collect()]).sized(480, 400)
}

/// Draws request rate, token rates and success rate over the load.
pub(super) fn throughputs(runs: &[&EvalscopeRun]) -> Figure {
    let panel = |name: &str, curves: Vec<Curve>| {
        Panel::new(name, Axis::even(load_name(runs)), Axis::even(name), curves)
    };
    let of = |label: &str, hue: usize, field: Field| {
        let value = |run: &EvalscopeRun| run.numbers.get(field).filter(|value| *value > 0.0);
        Curve::line(label, hue, marks(runs, value))
    };
    let tokens = vec![
        of("output", 0, Field::OutputRate),
        of("total", 1, Field::TotalRate),
        of("input", 2, Field::InputRate),
    ];
    let success = marks(runs, |run| Some(run.numbers.success_rate()));
    let panels = vec![
        panel("requests/s", vec![of("", 0, Field::Requests)]),
        panel("tokens/s", tokens.into_iter().filter(|curve| !curve.points.is_empty()).collect()),
        panel("success rate (%)", vec![Curve::line("", 0, success)]),
    ];
    Figure::new(vec![panels]).sized(480, 400)
}

/// Draws the percentile curve of each latency of a run.
pub(super) fn percentiles(run: &EvalscopeRun) -> Figure {
    let panel = |sample: Sample| {
        let name = sample.name(run.options.style);
        let row = run.percentiles.rows.iter().find(|row| row.sample == sample)?;
        let places = run.percentiles.labels.iter().map(|label| percent(label));
        let marks: Vec<Mark> = places
            .zip(&row.values)
            .filter_map(|(percent, value)| Some(Mark::at(percent?, (*value)?)))
            .collect();
        let curves = vec![Curve::line("", 0, marks)];
        let is_empty = curves.iter().all(|curve| curve.points.is_empty());
        let (x, y) = (Axis::even("percentile"), Axis::even(name));
        (!is_empty).then(|| Panel::new(name, x, y, curves))
    };
    let samples = [Sample::Latency, Sample::Ttft, Sample::Tpot, Sample::Itl];
    row(samples.into_iter().filter_map(panel).collect())
}

/// Parses the label of a percentile; `min` is 0 and `max` is 100.
fn percent(label: &str) -> Option<f64> {
    match label {
        "min" => Some(0.0),
        "max" => Some(100.0),
        _ => label.strip_suffix('%')?.parse().ok(),
    }
}

/// Draws the requests of a run in the order in which they were sent.
pub(super) fn requests(run: &EvalscopeRun) -> Figure {
    let dots = |label: &str, hue: usize, value: &dyn Fn(&Point) -> Option<f64>| {
        let mark = |point: &Point| Some(Mark::at(point.place as f64, value(point)?));
        let look = ChartStyle { hue: Some(hue), ..ChartStyle::default() };
        Curve::dots(label, run.points.iter().filter_map(mark).collect()).looking(look)
    };
    let good =
        |of: fn(&Point) -> Option<f64>| move |point: &Point| of(point).filter(|_| point.success);
    let failed = |point: &Point| (!point.success).then_some(point.latency_s);
    let mut panels = vec![panel(
        "Latency (s)",
        vec![dots("success", 0, &good(|point| Some(point.latency_s))), dots("failed", 1, &failed)],
    )];
    if run.generates {
        panels.push(panel(
            "TTFT, TPOT, ITL (ms)",
            vec![
                dots("TTFT", 0, &good(|point| point.ttft_ms)),
                dots("TPOT", 1, &good(|point| point.tpot_ms)),
                dots("ITL", 2, &good(|point| point.itl_ms)),
            ],
        ));
    }
    let mut tokens = vec![dots("input", 0, &good(|point| Some(point.input_tokens)))];
    if run.generates {
        tokens.push(dots("output", 1, &good(|point| Some(point.output_tokens))));
    }
    panels.push(panel("tokens", tokens));
    row(panels)
}

fn panel(name: &str, curves: Vec<Curve>) -> Panel {
    let curves = curves.into_iter().filter(|curve| !curve.points.is_empty()).collect();
    Panel::new(name, Axis::even("request"), Axis::even(name), curves)
}

/// Places panels side by side; without panels the figure is empty.
fn row(panels: Vec<Panel>) -> Figure {
    let rows = if panels.is_empty() { Vec::new() } else { vec![panels] };
    Figure::new(rows).sized(480, 360)
}

fn marks(runs: &[&EvalscopeRun], value: impl Fn(&EvalscopeRun) -> Option<f64>) -> Vec<Mark> {
    let mark = |run: &&EvalscopeRun| Some(Mark::at(load(run), value(run)?));
    runs.iter().filter_map(mark).collect()
}

/// Returns the concurrency limit of a run, or its request rate if there is no limit.
fn load(run: &EvalscopeRun) -> f64 {
    match run.numbers.at(Field::Concurrency) {
        limit if limit >= 0.0 => limit,
        _ => run.numbers.rate().max(0.0),
    }
}

fn load_name(runs: &[&EvalscopeRun]) -> &'static str {
    let is_limited = runs.iter().any(|run| run.numbers.at(Field::Concurrency) >= 0.0);
    if is_limited { "concurrency" } else { "requests/s asked for" }
}
