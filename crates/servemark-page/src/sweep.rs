//! The pages of a sweep and of a search: every point with its intervals.

mod objectives;
mod repeats;

use std::io;

use serde_json::{Value, json};
use servemark_metrics::{Better, Estimated, Latency, Summary, Verdict};
use servemark_report::{GridRows, SloReport, SweepReport, SweepRow, frontier};

use crate::frame::{Frame, Section};
use crate::glossary::{SWEEP_WORDS, glossary};
use crate::html::Html;
use crate::number::{ABSENT, count, number};
use crate::plot::{Axis, Marker, Plot};
use crate::run::LATENCIES;
use crate::series::Scales;

pub use self::repeats::RepeatsPage;

/// Writes the page of a sweep. `version` is that of the program.
pub fn write_sweep(
    report: &SweepReport<'_>,
    version: &str,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut head = Html::default();
    let points = report.rows().len();
    head.element("p class=\"when\"", &format!("Sweep of {} points", count(points)));
    head.element("h1", &title(report));
    head.raw("<ul class=\"verdicts\">\n");
    audits(&mut head, report);
    head.raw("</ul>\n");
    best(&mut head, report);
    let page = Page {
        title: "Sweep · Servemark",
        kind: "Report of a sweep",
        head: head.finish(),
        first: Vec::new(),
        curves: curves(report),
        table: report.table(),
    };
    page.write(version, out)
}

/// Writes the page of a search for the largest load that keeps its objectives. `version` is that of
/// the program.
pub fn write_search(
    report: &SloReport<'_>,
    version: &str,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let rows = report.in_order();
    let points = SweepReport::of(rows.iter().map(|row| row.point));
    let mut head = Html::default();
    head.element("p class=\"when\"", &format!("Search over {} loads", count(rows.len())));
    head.element("h1", &format!("The largest {} that keeps its objectives", report.setting()));
    head.raw("<ul class=\"verdicts\">\n");
    for line in report.answer().lines() {
        let class = if line.starts_with("The largest") { "good" } else { "plain" };
        head.raw(&format!("<li class=\"{class}\">")).element("span", line).raw("</li>\n");
    }
    audits(&mut head, &points);
    head.raw("</ul>\n");
    let page = Page {
        title: "Search · Servemark",
        kind: "Report of a search",
        head: head.finish(),
        first: objectives::plots(report),
        curves: curves(&points),
        table: report.table(),
    };
    page.write(version, out)
}

/// What the pages of a sweep and of a search have in common.
struct Page {
    title: &'static str,
    kind: &'static str,
    head: String,
    /// Plots of the objectives of a search, which precede the curves; empty for a sweep.
    first: Vec<Plot>,
    curves: Vec<Plot>,
    table: GridRows,
}

impl Page {
    fn write(self, version: &str, out: &mut dyn io::Write) -> io::Result<()> {
        let plots: Vec<Value> = self.first.iter().chain(&self.curves).map(Plot::json).collect();
        let data = json!({"panels": [], "plots": plots});
        let section = |id, name, html| Section { id, name, html };
        let mut sections = vec![section("summary", "Summary", self.head)];
        if !self.first.is_empty() {
            let html = render("Objectives over the load", OBJECTIVES, &self.first);
            sections.push(section("objectives", "Objectives", html));
        }
        if !self.curves.is_empty() {
            let html = render("Latency and throughput", CURVES, &self.curves);
            sections.push(section("curves", "Latency and throughput", html));
        }
        sections.push(section("points", "Points", points("Points", self.table)));
        sections.push(section("words", "Words", glossary(&SWEEP_WORDS)));
        let frame = Frame { title: self.title, kind: self.kind, data: &data, version, live: None };
        frame.write(&sections, out)
    }
}

const OBJECTIVES: &str =
    "What was seen at each load, with its bounds, and the limit as a dashed line.";
const CURVES: &str = "Each point with its 95 % intervals, as far as its run has them. Points of one axis share a crosshair and a zoom.";

fn render(title: &str, lead: &str, plots: &[Plot]) -> String {
    let mut html = Html::default();
    html.element("h2", title).element("p class=\"lead\"", lead).raw("<div class=\"pair\">\n");
    for plot in plots {
        html.raw(&format!("<div class=\"plot\" id=\"plot-{}\"></div>\n", plot.id));
    }
    html.raw("</div>\n");
    html.finish()
}

fn points(title: &str, table: GridRows) -> String {
    let cells = |row: Vec<Option<String>>| -> Vec<String> {
        row.into_iter().map(|cell| cell.unwrap_or_else(|| ABSENT.to_owned())).collect()
    };
    let rows: Vec<Vec<String>> = table.rows.into_iter().map(cells).collect();
    let mut html = Html::default();
    html.element("h2", title).table("", &table.heads, &rows);
    html.finish()
}

fn title(report: &SweepReport<'_>) -> String {
    let mut settings: Vec<&str> = Vec::new();
    for (key, _) in report.rows().iter().flat_map(SweepRow::settings) {
        if !settings.contains(&key.as_str()) {
            settings.push(key);
        }
    }
    if settings.is_empty() { "Sweep".to_owned() } else { settings.join(", ") }
}

/// Writes which points have a failed client audit or an adverse verdict.
fn audits(html: &mut Html, report: &SweepReport<'_>) {
    let doubtful = |verdict: Verdict| {
        let found = report.rows().iter().filter(move |row| row.verdict() == verdict);
        found.map(label).collect::<Vec<String>>()
    };
    let kinds = [(Verdict::ClientLimited, "bad"), (Verdict::Suspect, "fair")];
    let mut is_sound = true;
    for (verdict, class) in kinds {
        let found = doubtful(verdict);
        if !found.is_empty() {
            is_sound = false;
            html.raw(&format!("<li class=\"{class}\">"));
            html.element("b", &format!("client audit: {verdict}"));
            html.element("span", &found.join("; ")).raw("</li>\n");
        }
    }
    if is_sound && !report.rows().is_empty() {
        html.raw("<li class=\"good\">").element("b", "client audit");
        html.element("span", "no point is suspect or client-limited").raw("</li>\n");
    }
    let message =
        |row: &SweepRow<'_>| Some(format!("{}: {}", label(row), row.metrics().verdict_names()?));
    let message: Vec<String> = report.rows().iter().filter_map(message).collect();
    if !message.is_empty() {
        html.raw("<li class=\"fair\">").element("b", "run verdicts");
        html.element("span", &message.join("; ")).raw("</li>\n");
    }
}

/// Writes the points that are the best by a figure.
fn best(html: &mut Html, report: &SweepReport<'_>) {
    let of = |value: fn(&SweepRow<'_>) -> Option<f64>, sign: f64| {
        let known = report.rows().iter().filter_map(|row| Some((row, value(row)?)));
        known.max_by(|one, other| (sign * one.1).total_cmp(&(sign * other.1)))
    };
    let figures = [
        ("Most output tokens", "per second", of(output_tokens, 1.0)),
        ("Most requests", "per second", of(requests, 1.0)),
        ("Most output of a GPU", "tokens/s", of(TRADES[1].value, 1.0)),
        ("Lowest cost", "per 1M output tokens", of(TRADES[2].value, -1.0)),
        ("Least energy", "J per output token", of(TRADES[3].value, -1.0)),
        ("Shortest TTFT", "ms, median", of(|row| latency(row, Latency::Ttft)?.median_ms, -1.0)),
        ("Shortest TPOT", "ms, median", of(|row| latency(row, Latency::Tpot)?.median_ms, -1.0)),
        ("Shortest E2E", "ms, median", of(|row| latency(row, Latency::E2el)?.median_ms, -1.0)),
    ];
    html.raw("<div class=\"figures\">\n");
    for (name, unit, found) in figures {
        let Some((row, value)) = found else { continue };
        html.raw("<div>").element("h3", name).raw("<p class=\"value\">").text(&number(value));
        html.element("small", unit).raw("</p>");
        html.element("p class=\"range\"", &label(row)).raw("</div>\n");
    }
    html.raw("</div>\n");
}

/// Returns the plots of latency over throughput, and of the quantities of [`TRADES`] over the speed
/// of one user.
fn curves(report: &SweepReport<'_>) -> Vec<Plot> {
    let of_latencies = LATENCIES
        .into_iter()
        .filter(|(latency, _)| *latency != Latency::Itl)
        .filter_map(|(latency, name)| over_throughput(report, latency, name));
    of_latencies.chain(TRADES.iter().filter_map(|trade| trade.plot(report))).collect()
}

fn over_throughput(report: &SweepReport<'_>, of: Latency, name: &str) -> Option<Plot> {
    let generates = report.rows().iter().any(generates);
    let (unit, what) = if generates { ("tokens/s", "output tokens") } else { ("/s", "requests") };
    let throughput = |row: &SweepRow<'_>| {
        let value = if generates { output_tokens(row) } else { requests(row) }?;
        let rates = row.metrics().rate_estimates.as_ref();
        let rate = rates
            .map(|rates| if generates { rates.output_tokens_per_s } else { rates.requests_per_s });
        Some((value, around(value, rate.as_ref())))
    };
    let marker = |row: &SweepRow<'_>, percent: f64, is_named: bool| {
        let (x, x_range) = throughput(row)?;
        let summary = latency(row, of)?;
        let y = if percent.total_cmp(&50.0).is_eq() {
            summary.median_ms
        } else {
            summary.bounded_percentile_ms(percent)
        }?;
        let estimate = summary.estimates.as_ref().and_then(|all| all.percentile(percent));
        let y_range = estimate.and_then(|estimate| estimate.low.zip(estimate.high));
        let name = if is_named { label(row) } else { String::new() };
        Some(Marker { name, x, y, x_range, y_range })
    };
    let markers = |percent, is_named| -> Vec<Marker> {
        report.rows().iter().filter_map(|row| marker(row, percent, is_named)).collect()
    };
    let (median, p99) = (markers(50.0, true), markers(99.0, false));
    if median.is_empty() {
        return None;
    }
    let all = report.rows().iter().filter_map(throughput).map(|(value, _)| value);
    let mut plot = Plot {
        id: format!("over-{}", of.name()),
        title: name.to_owned(),
        unit: "ms",
        note: format!("ms, over {what} per second"),
        axis: Axis::from_zero("throughput", what, unit, all),
        scales: Scales::LinearOrLog,
        span: None,
        layers: Vec::new(),
    };
    if !p99.is_empty() {
        plot.joined_markers("p99", 1, &p99);
    }
    plot.joined_markers("median", 0, &median);
    Some(plot)
}

/// A plot of a quantity of each point over the speed of one user.
struct Trade {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    /// Quantity on the vertical axis, as the note names it.
    of: &'static str,
    better: Better,
    value: fn(&SweepRow<'_>) -> Option<f64>,
}

const TRADES: [Trade; 4] = [
    Trade {
        id: "trade",
        title: "All users over one user",
        unit: "tokens/s",
        of: "output tokens/s",
        better: Better::Higher,
        value: output_tokens,
    },
    Trade {
        id: "trade-gpu",
        title: "One GPU over one user",
        unit: "tokens/s",
        of: "output tokens/s of a GPU",
        better: Better::Higher,
        value: |row| {
            row.metrics().cost.as_ref()?.output_tokens_per_s_per_gpu.filter(|_| generates(row))
        },
    },
    Trade {
        id: "trade-cost",
        title: "Cost over one user",
        unit: "per 1M tokens",
        of: "cost of a million output tokens",
        better: Better::Lower,
        value: |row| row.metrics().cost.as_ref()?.per_million_output_tokens,
    },
    Trade {
        id: "trade-energy",
        title: "Energy over one user",
        unit: "J/token",
        of: "joules per output token",
        better: Better::Lower,
        value: |row| {
            let energy = row.metrics().energy.as_ref().filter(|energy| energy.valid)?;
            energy.joules_per_output_token
        },
    },
];

impl Trade {
    /// Returns the plot with the Pareto frontier, if any point has a value.
    fn plot(&self, report: &SweepReport<'_>) -> Option<Plot> {
        let markers: Vec<Marker> =
            report.rows().iter().filter_map(|row| self.marker(row)).collect();
        if markers.is_empty() {
            return None;
        }
        let sign = if self.better == Better::Lower { -1.0 } else { 1.0 };
        let best = frontier(&markers, |marker| (marker.x, sign * marker.y)).into_iter();
        let mut best: Vec<(f64, f64)> =
            best.map(|place| (markers[place].x, markers[place].y)).collect();
        best.sort_by(|one, other| one.0.total_cmp(&other.0));
        let axis = Axis::from_zero(
            "speed",
            "tokens/s of one user",
            "tokens/s",
            markers.iter().map(|marker| marker.x),
        );
        let mut plot = Plot {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            unit: self.unit,
            note: format!("{}, over tokens/s of one user (1 / median TPOT)", self.of),
            axis,
            scales: Scales::Linear,
            span: None,
            layers: Vec::new(),
        };
        plot.line("Pareto frontier", 2, &best);
        plot.markers("points", 2, &markers);
        Some(plot)
    }

    fn marker(&self, row: &SweepRow<'_>) -> Option<Marker> {
        let tpot = latency(row, Latency::Tpot)?;
        let x = tpot.median_ms.filter(|tpot| *tpot > 0.0).map(|tpot| 1000.0 / tpot)?;
        let median = tpot.estimates.as_ref().and_then(|all| all.percentile(50.0));
        let x_range = median.and_then(|median| median.low.zip(median.high));
        let x_range = x_range.filter(|(low, _)| *low > 0.0);
        let y = (self.value)(row)?;
        let rates = row.metrics().rate_estimates.as_ref();
        let rate = around(1.0, rates.map(|rates| rates.output_tokens_per_s).as_ref());
        // Cost and energy grow with time, so per token they are as uncertain as the token rate, and
        // their bounds are those of the rate in reverse.
        let y_range = match self.better {
            Better::Higher => rate.map(|(low, high)| (y * low, y * high)),
            Better::Lower => {
                rate.filter(|(low, _)| *low > 0.0).map(|(low, high)| (y / high, y / low))
            }
        };
        Some(Marker {
            name: label(row),
            x,
            y,
            x_range: x_range.map(|(low, high)| (1000.0 / high, 1000.0 / low)),
            y_range,
        })
    }
}

/// Returns the interval of a rate around the value of the whole run. The estimate leaves out the
/// beginning and the end of the run, so its relative width is applied to the value.
fn around(value: f64, estimate: Option<&Estimated>) -> Option<(f64, f64)> {
    let estimate = estimate?;
    let (low, high) = estimate.low.zip(estimate.high)?;
    let of = estimate.value.filter(|of| *of > 0.0)?;
    Some((value * low / of, value * high / of))
}

/// Returns a short name of a point: the values of its settings, or else its name.
fn label(row: &SweepRow<'_>) -> String {
    let value = |(_, value): &(String, Value)| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let values: Vec<String> = row.settings().iter().map(value).collect();
    if values.is_empty() { row.name().to_owned() } else { values.join(", ") }
}

fn latency<'a>(row: &SweepRow<'a>, latency: Latency) -> Option<&'a Summary> {
    row.metrics().latency(latency)
}

/// Returns whether the run of a point generates tokens, so that there is a first token.
fn generates(row: &SweepRow<'_>) -> bool {
    latency(row, Latency::Ttft).is_some_and(|ttft| ttft.samples > 0)
}

fn output_tokens(row: &SweepRow<'_>) -> Option<f64> {
    row.metrics().throughput.output_tokens_per_s.filter(|_| generates(row))
}

fn requests(row: &SweepRow<'_>) -> Option<f64> {
    row.metrics().throughput.requests_per_s
}
