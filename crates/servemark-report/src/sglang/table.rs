//! SGLang's console table.

use std::io;

use servemark_metrics::{Completeness, Goodput, Latency, Metrics, PercentileSource};
use servemark_pyjson::{general, repr};

use super::cache::CacheTotals;
use super::columns::{COLUMNS, absent, fixed};
use super::style::Family;
use super::{SglangOptions, SglangStyle, steady};
use crate::table::Table;
use crate::{Report, ReportFormat};

/// SGLang's console table.
#[derive(Clone, Copy, Debug, Default)]
pub struct SglangTable {
    options: SglangOptions,
}

impl SglangTable {
    /// Returns a table with the given options.
    pub const fn new(options: SglangOptions) -> Self {
        Self { options }
    }
}

impl ReportFormat for SglangTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let (generates, style) = (report.log.header().facts.generates(), self.options.style);
        let mut table = Table::default();
        table.title("Serving Benchmark Result");
        load(&mut table, report);
        outcome(&mut table, report.metrics);
        tokens(&mut table, report, style);
        throughput(&mut table, report, style);
        if let Some(goodput) = &report.metrics.goodput {
            self::goodput(&mut table, goodput);
        }
        for family in Family::ALL {
            if (generates || !family.latency.needs_tokens()) && style.has_section(family.latency) {
                self::family(&mut table, family, report.metrics, style);
            }
        }
        if self.options.cache_report {
            cache(&mut table, &CacheTotals::of(report.log));
        }
        table.end();
        table.write(&COLUMNS, out)?;
        steady::write(report, out)
    }
}

fn load(table: &mut Table, report: &Report<'_>) {
    let facts = &report.log.header().facts;
    let rate = match facts.echo.get("request_rate").and_then(|rate| rate.as_str()) {
        Some(label) => label.to_owned(),
        None => repr(facts.request_rate.unwrap_or(f64::INFINITY)),
    };
    let limit = facts.max_concurrency.filter(|&limit| limit > 0);
    table.row("Backend:", &facts.backend);
    table.row("Traffic request rate:", rate);
    table.row(
        "Max request concurrency:",
        limit.map_or_else(|| "not set".to_owned(), |limit| limit.to_string()),
    );
}

/// Writes the failures and the incomplete mark. SGLang prints neither, but the other numbers cannot
/// be judged without them.
fn outcome(table: &mut Table, metrics: &Metrics) {
    table.row("Successful requests:", metrics.requests.completed);
    table.row("Failed requests:", metrics.requests.failed);
    let how = match metrics.completeness {
        Completeness::Complete => return,
        Completeness::Interrupted => "interrupted",
        Completeness::Killed => "killed",
    };
    let missing = metrics.requests.unfinished();
    table.row("Incomplete run:", format!("{how}, {missing} requests unfinished"));
}

fn tokens(table: &mut Table, report: &Report<'_>, style: SglangStyle) {
    let (metrics, facts) = (report.metrics, &report.log.header().facts);
    table.row("Benchmark duration (s):", fixed(Some(metrics.duration_s)));
    table.row("Total input tokens:", metrics.tokens.input);
    if style >= SglangStyle::V0_5_6 {
        table.row("Total input text tokens:", metrics.tokens.input_text);
    }
    if style.has_vision_rows(&facts.dataset) {
        table.row("Total input vision tokens:", metrics.tokens.input_vision);
    }
    if facts.generates() {
        let retokenized = metrics.tokens.output_retokenized;
        table.row("Total generated tokens:", metrics.tokens.output.unwrap_or_default());
        table.row(
            "Total generated tokens (retokenized):",
            retokenized.map_or_else(absent, |tokens| tokens.to_string()),
        );
    }
}

fn throughput(table: &mut Table, report: &Report<'_>, style: SglangStyle) {
    let (metrics, generates) = (report.metrics, report.log.header().facts.generates());
    let (rates, has_peaks) = (&metrics.throughput, style >= SglangStyle::V0_5_6);
    table.row("Request throughput (req/s):", fixed(rates.requests_per_s));
    table.row("Input token throughput (tok/s):", fixed(rates.input_tokens_per_s));
    if generates {
        let output = rates.output_tokens_per_s.or(Some(0.0));
        table.row("Output token throughput (tok/s):", fixed(output));
    }
    if generates && has_peaks {
        let peak = rates.peak_output_tokens_per_s as f64;
        table.row("Peak output token throughput (tok/s):", fixed(Some(peak)));
    }
    if has_peaks {
        table.row("Peak concurrent requests:", metrics.concurrency.peak);
    }
    if generates {
        table.row("Total token throughput (tok/s):", fixed(rates.total_tokens_per_s));
    }
    table.row("Concurrency:", fixed(metrics.concurrency.mean));
    if let Some(length) = metrics.accept_length.since_start.filter(|&length| length != 0.0) {
        table.row("Accept length:", fixed(Some(length)));
    }
}

fn goodput(table: &mut Table, goodput: &Goodput) {
    let percent = |share: Option<f64>| fixed(share.map(|share| share * 100.0));
    let slos = goodput
        .by_slo
        .iter()
        .map(|result| format!("{}:{}", result.slo.metric.name(), general(result.slo.limit_ms)));
    table.section("Goodput");
    table.row("SLOs (ms):", slos.collect::<Vec<_>>().join(" "));
    table.row("Request goodput (req/s):", fixed(goodput.requests_per_s));
    table.row("SLO attainment (%):", percent(goodput.attainment));
    for result in &goodput.by_slo {
        let name = result.slo.metric.name().to_uppercase();
        table.row(&format!("{name} SLO attainment (%):"), percent(result.attainment));
    }
}

fn family(table: &mut Table, family: Family, metrics: &Metrics, style: SglangStyle) {
    let (name, summary) = (family.label, family.summary(metrics));
    table.section(family.title);
    table.row(&format!("Mean {name} (ms):"), fixed(summary.mean_ms));
    table.row(&format!("Median {name} (ms):"), fixed(summary.median_ms));
    for percent in style.table_percentiles(family.latency) {
        table.row(&format!("P{percent} {name} (ms):"), fixed(summary.percentile_ms(*percent)));
    }
    if summary.percentiles_of == PercentileSource::Histogram {
        table.row(&format!("{name} percentiles:"), "histogram (0.05 %)");
    }
    if family.latency == Latency::Itl {
        table.row("Max ITL (ms):", fixed(summary.max_ms));
    }
}

fn cache(table: &mut Table, totals: &CacheTotals<'_>) {
    table.section("Cache Hit Details");
    table.row("Total prompt tokens:", totals.prompt);
    table.row("Total cached tokens:", totals.cached);
    let places = totals.rows();
    for (label, tokens) in &places {
        table.row(label, tokens);
    }
    table.cells("Cache hit rate:", vec![percent(totals.hit_rate_percent())]);
    for (label, tokens) in &places {
        let share = *tokens as f64 / totals.cached as f64;
        table.cells(label, vec![percent(share * 100.0)]);
    }
}

fn percent(value: f64) -> String {
    format!("{value:.1}%")
}
