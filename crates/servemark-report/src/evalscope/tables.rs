//! The tables that evalscope prints after a run: summary, percentiles and the optional ones.

use std::io;

use servemark_metrics::{Distribution, WorkloadRates};
use servemark_pyjson::{general, repr};

use super::field::Field;
use super::number_format::{fixed, short};
use super::{EvalscopeOptions, EvalscopeRun, EvalscopeStyle, speeds};
use crate::boxes::{Align, Boxed, Frame};
use crate::{Report, ReportFormat};

/// The tables that evalscope prints after a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvalscopeTable {
    options: EvalscopeOptions,
}

impl EvalscopeTable {
    /// Returns the tables with the given options.
    pub fn new(options: EvalscopeOptions) -> Self {
        Self { options }
    }
}

impl ReportFormat for EvalscopeTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let tables = EvalscopeRun::of(report, self.options).tables();
        tables.iter().try_for_each(|table| writeln!(out, "{table}"))
    }
}

impl EvalscopeRun {
    /// Returns each table below its title and without a final newline.
    pub fn tables(&self) -> Vec<String> {
        let mut tables = vec![
            format!("Benchmarking summary:\n{}", self.summary_table()),
            format!("Percentile results:\n{}", self.percentile_table()),
        ];
        if let Some(traces) = &self.traces {
            let title = format!("Per-trace summary ({} traces):", traces.traces);
            tables.push(format!("{title}\n{}", self.trace_table()));
        }
        if !self.workload.points.is_empty() {
            let title = format!("Workload throughput ({} samples):", self.workload.points.len());
            tables.push(format!("{title}\n{}", self.workload_table()));
        }
        if !self.speeds.is_empty() {
            let table = speeds::table(&self.speeds, self.options.style);
            tables.push(format!("Speed Benchmark Results:\n{table}"));
        }
        tables
    }

    fn summary_table(&self) -> String {
        if self.options.style == EvalscopeStyle::V1_0 {
            return self.first_summary();
        }
        let rows = SECTIONS.into_iter().flat_map(|section| self.section(section));
        let columns = [("Metric", Align::Left), ("Value", Align::Right)];
        Boxed::new(columns).with_rows(rows).text(&Frame::OUTLINE)
    }

    /// Returns the rows of a section below its title; no rows if it has no values.
    fn section(&self, (title, rows): (&str, &[Row])) -> Vec<Vec<String>> {
        let rows: Vec<Vec<String>> = rows.iter().filter_map(|row| self.row(*row)).collect();
        if rows.is_empty() {
            return rows;
        }
        let title = vec![format!("── {title} ──"), String::new()];
        [vec![title], rows].concat()
    }

    fn row(&self, row: Row) -> Option<Vec<String>> {
        let counts = |fields: &[Field]| {
            let counts = fields.iter().map(|field| self.numbers.at(*field).to_string());
            counts.collect::<Vec<_>>().join(" / ")
        };
        let field = match row {
            Row::Always(field) => field,
            Row::UnlessZero(field) if self.numbers.at(field) != 0.0 => field,
            Row::UnlessZero(_) => return None,
            Row::Known(field) => self.numbers.get(field).map(|_| field)?,
            Row::Outcomes => {
                let outcomes = counts(&[Field::Total, Field::Success, Field::Failed]);
                return Some(vec!["Total / Success / Failed".to_owned(), outcomes]);
            }
            Row::Streams => {
                let kinds = [Field::Stream, Field::NonStream];
                let is_mixed = kinds.iter().all(|kind| self.numbers.at(*kind) > 0.0);
                return is_mixed.then(|| vec!["Stream / Non-Stream".to_owned(), counts(&kinds)]);
            }
        };
        let value = self.format(field, self.numbers.at(field));
        Some(vec![field.name(self.options.style).to_owned(), value])
    }

    fn format(&self, field: Field, value: f64) -> String {
        match self.options.style {
            EvalscopeStyle::Newest => field.format(value),
            _ if field.is_count() => value.to_string(),
            _ => fixed(Some(value), 2),
        }
    }

    fn first_summary(&self) -> String {
        let row = |&(field, value): &(Field, f64)| {
            vec![field.name(EvalscopeStyle::V1_0).to_owned(), general(value)]
        };
        let rows = self.numbers.entries.iter().map(row);
        let columns = [("Key", Align::Left), ("Value", Align::Point)];
        Boxed::new(columns).with_rows(rows).text(&Frame::GRID)
    }

    fn percentile_table(&self) -> String {
        let (style, percentiles) = (self.options.style, &self.percentiles);
        if style == EvalscopeStyle::V1_0 {
            return self.first_percentiles();
        }
        let row = |row: &super::percentiles::PercentileRow| {
            let shown = |value: &Option<f64>| match style {
                EvalscopeStyle::Newest => row.sample.format(*value),
                _ => fixed(*value, 2),
            };
            let name = row.sample.name(style).to_owned();
            [vec![name], row.values.iter().map(shown).collect()].concat()
        };
        let labels = percentiles.labels.iter().map(String::as_str);
        draw_rows("Metric", labels, percentiles.rows.iter().map(row))
    }

    /// Returns 1.0's percentile table, which has one row per percentile.
    fn first_percentiles(&self) -> String {
        let (labels, rows) = (&self.percentiles.labels, &self.percentiles.rows);
        let cell = |row: &super::percentiles::PercentileRow, place: usize| match row.values[place] {
            None => "nan".to_owned(),
            Some(count) if row.sample.is_count() => count.to_string(),
            Some(value) => repr(value),
        };
        let line = |(place, label): (usize, &String)| {
            [vec![label.clone()], rows.iter().map(|row| cell(row, place)).collect()].concat()
        };
        let names = rows.iter().map(|row| row.sample.name(EvalscopeStyle::V1_0));
        let heads = ["Percentiles"].into_iter().chain(names);
        let table = Boxed::new(heads.map(|head| (head, Align::Center)));
        table.with_rows(labels.iter().enumerate().map(line)).text(&Frame::PLAIN)
    }

    fn trace_table(&self) -> String {
        let row = |(name, values): (&'static str, &Distribution)| {
            let decimals = trace_decimals(name);
            let percentiles = values.percentiles.iter().map(|(_, value)| *value);
            let ends = [values.mean, values.min].into_iter().chain(percentiles.map(Some));
            let numbers = ends.chain([values.max]);
            let shown = numbers.map(|value| short(value.unwrap_or_default(), decimals));
            [vec![name.to_owned()], shown.collect()].concat()
        };
        let heads = ["mean", "min", "p50", "p90", "p95", "p99", "max"];
        draw_rows("Metric", heads, self.trace_rows().into_iter().map(row))
    }

    /// Returns the per-trace figures with their names.
    pub(super) fn trace_rows(&self) -> Vec<(&'static str, &Distribution)> {
        let Some(traces) = &self.traces else { return Vec::new() };
        vec![
            ("Latency (s)", &traces.latency_s),
            ("First-Turn TTFT (s)", &traces.first_turn_ttft_s),
            ("TTFAT (s)", &traces.last_answer_s),
            ("Decode TPS", &traces.decode_per_s),
            ("Cache Hit Rate (%)", &traces.cache_hit_percent),
            ("Eligible Cache Hit Rate (%)", &traces.eligible_hit_percent),
        ]
    }

    fn workload_table(&self) -> String {
        let row = |(name, rates): (&str, [f64; 3])| {
            [vec![name.to_owned()], rates.map(|rate| short(rate, 2)).to_vec()].concat()
        };
        draw_rows(WORKLOAD_HEAD, WORKLOAD_PARTS, self.workload_rows().into_iter().map(row))
    }

    /// Returns the workload rates with their names: overall, of the last seconds, and of the steady
    /// part.
    pub(super) fn workload_rows(&self) -> [(&'static str, [f64; 3]); 4] {
        let (workload, first) = (&self.workload, f64::from(FIRST_PERCENT) / 100.0);
        let parts = [workload.overall(), workload.last(LAST_S), workload.without_first(first)];
        let of = |rate: fn(&WorkloadRates) -> f64| parts.each_ref().map(rate);
        [
            ("Total Prompt tok/s", of(|rates| rates.prompt)),
            ("New Prompt tok/s", of(|rates| rates.new_prompt)),
            ("Cached Prompt tok/s", of(|rates| rates.cached_prompt)),
            ("Completion tok/s", of(|rates| rates.output)),
        ]
    }
}

/// Length of the last part of a run in the workload table, in seconds.
pub(super) const LAST_S: f64 = 30.0;

/// Percentage at the start of a run that the steady part leaves out.
pub(super) const FIRST_PERCENT: u8 = 20;

pub(super) const WORKLOAD_HEAD: &str = "Metric (tok/s)";

pub(super) const WORKLOAD_PARTS: [&str; 3] = ["Overall", "Last 30s", "Steady (drop 20%)"];

/// Returns the number of decimals of a per-trace figure: only the latency is a field of the summary
/// and has its three decimals.
pub(super) fn trace_decimals(name: &str) -> usize {
    if name == "Latency (s)" { 3 } else { 4 }
}

/// Draws rows with a left-aligned name and right-aligned numbers.
fn draw_rows<'a>(
    name: &'a str,
    heads: impl IntoIterator<Item = &'a str>,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let heads = heads.into_iter().map(|head| (head, Align::Right));
    let columns = [(name, Align::Left)].into_iter().chain(heads);
    Boxed::new(columns).with_rows(rows).text(&Frame::OUTLINE)
}

/// A row of the summary and the condition under which it is shown.
#[derive(Clone, Copy, Debug)]
enum Row {
    Always(Field),
    UnlessZero(Field),
    Known(Field),
    Outcomes,
    Streams,
}

const SECTIONS: [(&str, &[Row]); 5] = [
    (
        "General",
        &[
            Row::Always(Field::Duration),
            Row::Always(Field::Concurrency),
            Row::Always(Field::Rate),
            Row::Outcomes,
            Row::Streams,
            Row::Always(Field::Requests),
        ],
    ),
    (
        "Latency",
        &[
            Row::Always(Field::Latency),
            Row::UnlessZero(Field::Ttft),
            Row::UnlessZero(Field::Tpot),
            Row::UnlessZero(Field::Itl),
            Row::Known(Field::SteadyItl),
            Row::Known(Field::Handoff),
            Row::Known(Field::HandoffOverhead),
        ],
    ),
    (
        "Tokens",
        &[
            Row::Always(Field::InputTokens),
            Row::UnlessZero(Field::OutputTokens),
            Row::UnlessZero(Field::OutputRate),
            Row::UnlessZero(Field::TotalRate),
            Row::UnlessZero(Field::InputRate),
        ],
    ),
    (
        "Multi-turn",
        &[
            Row::Known(Field::Turns),
            Row::Known(Field::Cached),
            Row::Known(Field::FirstTtft),
            Row::Known(Field::LaterTtft),
        ],
    ),
    ("Speculative Decoding", &[Row::Known(Field::TokensPerStep), Row::Known(Field::Accepted)]),
];
