//! Reports of embedding and rerank runs: the table of one run, and a grid of several.

use std::io;

use serde::Serialize;
use serde_json::{Value, json};
use servemark_metrics::{Audit, FailureGroup, Metrics, PercentileSource, Summary, Verdict};

use crate::grid::Grid;
use crate::native::requests_needed;
use crate::sweep::PointsDocument;
use crate::table::{Line, Style, Table, wrapped};
use crate::{Report, ReportFormat, TableFormat};

/// The table of an embedding or rerank run.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddingTable;

impl ReportFormat for EmbeddingTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let latency = &report.metrics.latencies.e2el;
        let point = GridPoint::of(report).bounded(latency);
        let facts = &report.log.header().facts;
        let mut table = Table::default();
        table.title(if facts.api_path == RERANK { "Rerank report" } else { "Embedding report" });
        table.row("backend", format!("{} ({})", facts.backend, facts.api_path));
        table.row("model", &facts.model);
        for column in COLUMNS {
            table.row(column.words, (column.show)(&point));
        }
        if latency.percentiles_of == PercentileSource::Histogram {
            table.row("percentiles", "histogram (0.05 %)");
        }
        unbounded(&mut table, latency);
        verdicts(&mut table, report.metrics);
        audit(&mut table, report.audit);
        report.metrics.failures.iter().for_each(|group| failure(&mut table, group));
        table.end();
        table.write(&EmbeddingStyle, out)
    }
}

/// Notes the number of requests that the omitted percentiles need.
fn unbounded(table: &mut Table, latency: &Summary) {
    let needs = requests_needed(latency).map(|needs| format!("-: no bound yet; {needs}"));
    for line in needs.iter().flat_map(|words| wrapped(words, WIDTH - 2)) {
        table.note(format!("  {line}"));
    }
}

/// Notes the reasons for the run's verdicts; the verdicts themselves have a row.
fn verdicts(table: &mut Table, metrics: &Metrics) {
    let reasons = metrics.verdicts.iter();
    let reasons = reasons.map(|verdict| format!("{}: {}", verdict.kind.name(), verdict.reason));
    for line in reasons.flat_map(|words| wrapped(&words, WIDTH - 2)) {
        table.note(format!("  {line}"));
    }
}

/// Notes the reasons for the audit's verdict and the checks that were not possible; the verdict
/// itself has a row.
fn audit(table: &mut Table, audit: &Audit) {
    let reasons = audit.reasons.iter().map(|found| found.reason.clone());
    let unchecked = audit.unchecked.iter().map(|unchecked| format!("not checked: {unchecked}"));
    for line in reasons.chain(unchecked).flat_map(|words| wrapped(&words, WIDTH - 2)) {
        table.note(format!("  {line}"));
    }
}

fn failure(table: &mut Table, group: &FailureGroup) {
    for example in &group.messages {
        table.note(format!("  {}: {} x {}", group.kind, example.count, example.message));
    }
}

/// Writes a grid with one row per run.
pub fn write_grid(
    reports: &[Report<'_>],
    format: TableFormat,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let points: Vec<GridPoint> = reports.iter().map(GridPoint::of).collect();
    let grid = || Grid {
        keys: COLUMNS.map(|column| column.key.to_owned()).into(),
        words: COLUMNS.map(|column| column.words.to_owned()).into(),
        rows: points.iter().map(GridPoint::cells).collect(),
    };
    match format {
        TableFormat::Csv => grid().write_csv(out),
        TableFormat::Json => {
            let document = PointsDocument { schema: SCHEMA, points: &points };
            serde_json::to_writer_pretty(&mut *out, &document)?;
            writeln!(out)
        }
        TableFormat::Markdown => grid().write_markdown(out),
    }
}

const SCHEMA: &str = "servemark/grid/1";

/// Returns the settings that distinguish a run of a grid.
pub fn grid_settings(report: &Report<'_>) -> Vec<(String, Value)> {
    GridPoint::of(report).settings()
}

/// One run of a grid. A field is `None` if there is nothing to count or too few samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct GridPoint {
    items_per_request: u32,
    max_concurrency: Option<usize>,
    completed: usize,
    failed: usize,
    duration_s: f64,
    requests_per_s: Option<f64>,
    items_per_s: Option<f64>,
    server_tokens_per_s: Option<f64>,
    input_tokens_per_s: Option<f64>,
    mean_ms: Option<f64>,
    median_ms: Option<f64>,
    p90_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    bytes_per_item: Option<f64>,
    client_audit: Verdict,
    run_verdicts: Option<String>,
}

impl GridPoint {
    fn of(report: &Report<'_>) -> Self {
        let Metrics { requests, items, throughput, latencies, duration_s, .. } = report.metrics;
        let latency = &latencies.e2el;
        let planned = report.log.measured().map(|record| record.planned.items);
        Self {
            items_per_request: planned.max().unwrap_or_default(),
            max_concurrency: report.log.header().facts.max_concurrency,
            completed: requests.completed,
            failed: requests.failed,
            duration_s: *duration_s,
            requests_per_s: throughput.requests_per_s,
            items_per_s: items.items_per_s,
            server_tokens_per_s: items.server_tokens_per_s,
            input_tokens_per_s: throughput.input_tokens_per_s,
            mean_ms: latency.mean_ms,
            median_ms: latency.median_ms,
            p90_ms: latency.percentile_ms(90.0),
            p95_ms: latency.percentile_ms(95.0),
            p99_ms: latency.percentile_ms(99.0),
            bytes_per_item: items.bytes_per_item,
            client_audit: report.audit.verdict,
            run_verdicts: report.metrics.verdict_names(),
        }
    }

    /// Replaces percentiles by their bounded versions, which are `None` if the run has too few
    /// samples for a confidence bound.
    fn bounded(self, latency: &Summary) -> Self {
        Self {
            median_ms: latency.bounded_percentile_ms(50.0),
            p90_ms: latency.bounded_percentile_ms(90.0),
            p95_ms: latency.bounded_percentile_ms(95.0),
            p99_ms: latency.bounded_percentile_ms(99.0),
            ..self
        }
    }

    /// Returns the settings that distinguish the runs of a grid.
    fn settings(&self) -> Vec<(String, Value)> {
        let Self { items_per_request, max_concurrency, .. } = self;
        let settings = [
            ("items_per_request", json!(items_per_request)),
            ("max_concurrency", json!(max_concurrency)),
        ];
        settings.map(|(key, value)| (key.to_owned(), value)).into()
    }

    fn cells(&self) -> Vec<Option<String>> {
        COLUMNS
            .iter()
            .map(|column| Some((column.show)(self)).filter(|cell| cell != ABSENT))
            .collect()
    }
}

/// A column of the grid: its key for programs, its heading for readers, and its format.
#[derive(Clone, Copy)]
struct Column {
    key: &'static str,
    words: &'static str,
    show: fn(&GridPoint) -> String,
}

const COLUMNS: [Column; 17] = [
    column("items_per_request", "items per request", |point| point.items_per_request.to_string()),
    column("max_concurrency", "at most in flight", |point| {
        point.max_concurrency.map_or_else(|| ABSENT.to_owned(), |limit| limit.to_string())
    }),
    column("completed", "ok", |point| point.completed.to_string()),
    column("failed", "failed", |point| point.failed.to_string()),
    column("duration_s", "duration (s)", |point| number(Some(point.duration_s))),
    column("requests_per_s", "requests/s", |point| number(point.requests_per_s)),
    column("items_per_s", "items/s", |point| number(point.items_per_s)),
    column("server_tokens_per_s", "input tokens/s, by the server", |point| {
        number(point.server_tokens_per_s)
    }),
    column("input_tokens_per_s", "input tokens/s, by us", |point| number(point.input_tokens_per_s)),
    column("mean_ms", "mean (ms)", |point| number(point.mean_ms)),
    column("median_ms", "median (ms)", |point| number(point.median_ms)),
    column("p90_ms", "p90 (ms)", |point| number(point.p90_ms)),
    column("p95_ms", "p95 (ms)", |point| number(point.p95_ms)),
    column("p99_ms", "p99 (ms)", |point| number(point.p99_ms)),
    column("bytes_per_item", "bytes per item", |point| number(point.bytes_per_item)),
    column("client_audit", "client audit", |point| point.client_audit.to_string()),
    column("run_verdicts", "run verdicts", |point| {
        point.run_verdicts.clone().unwrap_or_else(|| ABSENT.to_owned())
    }),
];

const fn column(key: &'static str, words: &'static str, show: fn(&GridPoint) -> String) -> Column {
    Column { key, words, show }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.2}"))
}

/// A table 60 columns wide, with 40 columns for labels.
struct EmbeddingStyle;

impl Style for EmbeddingStyle {
    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => format!("\n{:=^60}", format!(" {title} ")),
            Line::Section(title, _) => format!("{title:-^60}"),
            Line::Row(label, value) | Line::Paragraph(label, value) => {
                format!("{label:<40} {value}")
            }
            Line::Cells(label, values) => format!("{label:<40} {}", values.join(" ")),
            Line::Note(note) | Line::LongNote(note) => note.clone(),
            Line::End => "=".repeat(WIDTH),
        }
    }
}

const WIDTH: usize = 60;

/// Shown for a number that is absent or needs more samples.
const ABSENT: &str = "-";
const RERANK: &str = "/v1/rerank";
