//! The points of a sweep: one row each, and curves of latency against throughput.

use std::fmt;
use std::io;

use serde::{Serialize, Serializer};
use serde_json::Value;
use servemark_metrics::{Audit, Latency, Metrics, RequestPart, Summary, Verdict};

use crate::grid::{Grid, GridRows, TableFormat};

/// The points of a sweep.
#[derive(Clone, Debug, Default)]
pub struct SweepReport<'a> {
    rows: Vec<SweepRow<'a>>,
}

/// A JSON document of points, with the name and version of its schema.
#[derive(Serialize)]
pub(crate) struct PointsDocument<'a, T> {
    pub(crate) schema: &'static str,
    pub(crate) points: &'a [T],
}

const SCHEMA: &str = "servemark/sweep/1";

/// A point of a sweep with its metrics.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SweepRow<'a> {
    name: &'a str,
    #[serde(serialize_with = "as_object")]
    settings: &'a [(String, Value)],
    metrics: &'a Metrics,
    audit: &'a Audit,
}

impl<'a> SweepRow<'a> {
    /// Returns a point with its name, the settings that distinguish it, its metrics and its audit.
    pub fn new(
        name: &'a str,
        settings: &'a [(String, Value)],
        metrics: &'a Metrics,
        audit: &'a Audit,
    ) -> Self {
        Self { name, settings, metrics, audit }
    }

    /// Returns the metrics of the point.
    pub fn metrics(&self) -> &'a Metrics {
        self.metrics
    }

    /// Returns the name of the point.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the settings that distinguish the point.
    pub fn settings(&self) -> &'a [(String, Value)] {
        self.settings
    }

    /// Returns the verdict of the client audit.
    pub fn verdict(&self) -> Verdict {
        self.audit.verdict
    }

    fn setting(&self, key: &str) -> Option<String> {
        let (_, value) = self.settings.iter().find(|(known, _)| known == key)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }
}

impl<'a> SweepReport<'a> {
    /// Returns a report of these points.
    pub fn of(rows: impl IntoIterator<Item = SweepRow<'a>>) -> Self {
        Self { rows: rows.into_iter().collect() }
    }

    /// Writes all points in the given format.
    pub fn write(&self, format: TableFormat, out: &mut dyn io::Write) -> io::Result<()> {
        match format {
            TableFormat::Csv => self.grid().write_csv(out),
            TableFormat::Json => {
                let document = PointsDocument { schema: SCHEMA, points: &self.rows };
                serde_json::to_writer_pretty(&mut *out, &document)?;
                writeln!(out)
            }
            TableFormat::Markdown => self.grid().write_markdown(out),
        }
    }

    /// Returns the points in order.
    pub fn rows(&self) -> &[SweepRow<'a>] {
        &self.rows
    }

    /// Returns the table of all points.
    pub fn table(&self) -> GridRows {
        self.grid().into_rows()
    }

    fn grid(&self) -> Grid {
        let settings = self.settings();
        let columns: Vec<&Column> = COLUMNS.iter().filter(|column| self.has(column)).collect();
        let heads = |head: fn(&Column) -> &str| {
            settings
                .iter()
                .copied()
                .chain(columns.iter().map(move |column| head(column)))
                .map(str::to_owned)
        };
        let row = |row: &SweepRow<'_>| {
            let own = settings.iter().map(|key| row.setting(key));
            own.chain(columns.iter().map(|column| (column.show)(row))).collect()
        };
        Grid {
            keys: heads(|column| column.key).collect(),
            words: heads(|column| column.words).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// Returns the keys that any point sets, in the order of first occurrence.
    fn settings(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in self.rows.iter().flat_map(|row| row.settings) {
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
        keys
    }

    /// Returns whether any point has a value in a column; empty columns are left out.
    fn has(&self, column: &Column) -> bool {
        self.rows.iter().any(|row| (column.show)(row).is_some())
    }
}

/// One line about a point, printed as soon as the point is done.
impl fmt::Display for SweepRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name)?;
        let figures = COLUMNS.iter().filter(|column| column.is_live);
        let mut visible = figures.filter_map(|column| Some((column.words, (column.show)(self)?)));
        visible.try_for_each(|(words, value)| write!(f, "  {words} {value}"))
    }
}

/// A column: its key for programs, its heading for readers, and its format.
struct Column {
    key: &'static str,
    words: &'static str,
    show: fn(&SweepRow<'_>) -> Option<String>,
    is_live: bool,
}

const COLUMNS: [Column; 41] = [
    live("completed", "ok", |row| Some(row.metrics.requests.completed.to_string())),
    live("failed", "failed", |row| Some(row.metrics.requests.failed.to_string())),
    column("duration_s", "duration (s)", |row| number(Some(row.metrics.duration_s))),
    live("requests_per_s", "requests/s", |row| number(row.metrics.throughput.requests_per_s)),
    column("items_per_s", "items/s", |row| {
        number(row.metrics.items.items_per_s.filter(|_| !generates(row)))
    }),
    column("input_tokens_per_s", "input tokens/s", |row| {
        number(row.metrics.throughput.input_tokens_per_s)
    }),
    live("output_tokens_per_s", "output tokens/s", |row| number(output_tokens_per_s(row))),
    column("output_tokens_per_s_half_width", "+/- 95 %", |row| {
        let rates = row.metrics.rate_estimates.as_ref().filter(|_| generates(row))?;
        number(rates.output_tokens_per_s.half_width())
    }),
    column("mean_concurrency", "in flight", |row| number(row.metrics.concurrency.mean)),
    column("goodput_requests_per_s", "good requests/s", |row| {
        number(row.metrics.goodput.as_ref().and_then(|goodput| goodput.requests_per_s))
    }),
    column("mean_ttft_ms", "TTFT mean (ms)", |row| number(ttft(row).mean_ms)),
    column("mean_ttft_ms_half_width", "+/- 95 %", |row| half_width(ttft(row))),
    column("median_ttft_ms", "TTFT p50 (ms)", |row| number(ttft(row).median_ms)),
    column("median_ttft_ms_low", "from", |row| low(ttft(row), 50.0)),
    column("median_ttft_ms_high", "to", |row| high(ttft(row), 50.0)),
    live("p99_ttft_ms", "TTFT p99 (ms)", |row| number(ttft(row).bounded_percentile_ms(99.0))),
    column("p99_ttft_ms_low", "from", |row| low(ttft(row), 99.0)),
    column("p99_ttft_ms_high", "to", |row| high(ttft(row), 99.0)),
    column("mean_tpot_ms", "TPOT mean (ms)", |row| number(tpot(row).mean_ms)),
    column("mean_tpot_ms_half_width", "+/- 95 %", |row| half_width(tpot(row))),
    column("median_tpot_ms", "TPOT p50 (ms)", |row| number(tpot(row).median_ms)),
    column("median_tpot_ms_low", "from", |row| low(tpot(row), 50.0)),
    column("median_tpot_ms_high", "to", |row| high(tpot(row), 50.0)),
    live("p99_tpot_ms", "TPOT p99 (ms)", |row| number(tpot(row).bounded_percentile_ms(99.0))),
    column("p99_tpot_ms_low", "from", |row| low(tpot(row), 99.0)),
    column("p99_tpot_ms_high", "to", |row| high(tpot(row), 99.0)),
    column("mean_e2el_ms", "E2E mean (ms)", |row| number(e2el(row).mean_ms)),
    column("mean_e2el_ms_half_width", "+/- 95 %", |row| half_width(e2el(row))),
    column("median_e2el_ms", "E2E p50 (ms)", |row| number(e2el(row).median_ms)),
    column("median_e2el_ms_low", "from", |row| low(e2el(row), 50.0)),
    column("median_e2el_ms_high", "to", |row| high(e2el(row), 50.0)),
    live("p99_e2el_ms", "E2E p99 (ms)", |row| number(e2el(row).bounded_percentile_ms(99.0))),
    column("p99_e2el_ms_low", "from", |row| low(e2el(row), 99.0)),
    column("p99_e2el_ms_high", "to", |row| high(e2el(row), 99.0)),
    column("p99_server_queue_ms", "server queue p99 (ms)", |row| {
        number(part_p99_ms(row, RequestPart::ServerQueue))
    }),
    column("p99_prefill_ms", "prefill p99 (ms)", |row| {
        number(part_p99_ms(row, RequestPart::Prefill))
    }),
    column("output_tokens_per_s_per_gpu", "output tokens/s/GPU", |row| {
        let cost = row.metrics.cost.as_ref().filter(|_| generates(row))?;
        number(cost.output_tokens_per_s_per_gpu)
    }),
    column("cost_per_million_output_tokens", "cost per 1M output tokens", |row| {
        row.metrics.cost.as_ref()?.per_million_output_tokens.map(significant)
    }),
    column("joules_per_output_token", "J per output token", |row| {
        let energy = row.metrics.energy.as_ref().filter(|energy| energy.valid)?;
        energy.joules_per_output_token.map(significant)
    }),
    live("client_audit", "client audit", |row| Some(row.audit.verdict.to_string())),
    live("run_verdicts", "run verdicts", |row| row.metrics.verdict_names()),
];

type Show = fn(&SweepRow<'_>) -> Option<String>;

const fn column(key: &'static str, words: &'static str, show: Show) -> Column {
    Column { key, words, show, is_live: false }
}

const fn live(key: &'static str, words: &'static str, show: Show) -> Column {
    Column { key, words, show, is_live: true }
}

fn ttft<'a>(row: &SweepRow<'a>) -> &'a Summary {
    &row.metrics.latencies.ttft
}

fn tpot<'a>(row: &SweepRow<'a>) -> &'a Summary {
    &row.metrics.latencies.tpot
}

fn e2el<'a>(row: &SweepRow<'a>) -> &'a Summary {
    &row.metrics.latencies.e2el
}

fn output_tokens_per_s(row: &SweepRow<'_>) -> Option<f64> {
    row.metrics.throughput.output_tokens_per_s.filter(|_| generates(row))
}

/// Returns whether the run generates tokens, so that there is a first token.
fn generates(row: &SweepRow<'_>) -> bool {
    ttft(row).samples > 0
}

/// Returns half the width of a mean's confidence interval, if the run supports one.
fn half_width(summary: &Summary) -> Option<String> {
    number(summary.estimates.as_ref()?.mean.half_width())
}

/// Returns the lower end of a percentile's confidence interval, if the run supports one.
fn low(summary: &Summary, percent: f64) -> Option<String> {
    number(summary.estimates.as_ref()?.percentile(percent)?.low)
}

/// Returns the upper end of a percentile's confidence interval, if the run supports one.
fn high(summary: &Summary, percent: f64) -> Option<String> {
    number(summary.estimates.as_ref()?.percentile(percent)?.high)
}

fn number(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{value:.2}"))
}

/// Formats a number of any size with four significant digits, and no fewer than two decimals for
/// one below 100.
fn significant(value: f64) -> String {
    let digits = [(100.0, 1), (1.0, 2), (0.1, 4), (0.01, 5), (0.001, 6)];
    let digits =
        digits.into_iter().find(|(least, _)| value >= *least).map_or(9, |(_, digits)| digits);
    format!("{value:.digits$}")
}

fn part_p99_ms(row: &SweepRow<'_>, part: RequestPart) -> Option<f64> {
    row.metrics.latency(Latency::Part(part))?.percentile_ms(99.0)
}

fn as_object<S: Serializer>(settings: &[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(settings.iter().map(|(key, value)| (key, value)))
}
