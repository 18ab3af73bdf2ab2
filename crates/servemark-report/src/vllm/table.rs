//! vLLM's console table.

use std::io;

use servemark_metrics::{Diffusion, Metrics, Probes, Speculation};

use super::families::{Family, families};
use super::{VllmOptions, VllmStyle};
use crate::fifty_columns::FiftyColumns;
use crate::table::Table;
use crate::{Report, ReportFormat};

/// vLLM's console table.
#[derive(Clone, Debug, Default)]
pub struct VllmTable {
    options: VllmOptions,
}

impl VllmTable {
    /// Returns a table with the given options.
    pub fn new(options: VllmOptions) -> Self {
        Self { options }
    }
}

impl ReportFormat for VllmTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let generates = report.log.header().facts.generates();
        let mut table = Table::default();
        if generates {
            failures(&mut table, report);
        }
        table.title("Serving Benchmark Result");
        load(&mut table, report, self.options.style);
        if generates {
            self.of_tokens(&mut table, report);
        } else {
            self.of_items(&mut table, report.metrics);
        }
        if let Some(probes) = &report.metrics.probes {
            self::probes(&mut table, probes);
        }
        for family in families(report, &self.options) {
            self::family(&mut table, &family);
        }
        if self.is_newest() {
            server_work(&mut table, report.metrics);
        }
        table.end();
        table.write(&FiftyColumns { before_title: "" }, out)
    }
}

impl VllmTable {
    fn of_tokens(&self, table: &mut Table, report: &Report<'_>) {
        let metrics = report.metrics;
        let (tokens, rates) = (&metrics.tokens, &metrics.throughput);
        let tells_tokens = self.options.tells_tokens;
        let has_peaks = self.options.style >= VllmStyle::V0_11_0;
        table.row("Total input tokens:", tokens.input);
        if tells_tokens {
            table.row("Total generated tokens:", tokens.output.unwrap_or_default());
        }
        table.row("Request throughput (req/s):", fixed(rates.requests_per_s));
        if let Some(goodput) = &metrics.goodput {
            table.row("Request goodput (req/s):", fixed(goodput.requests_per_s));
        }
        if tells_tokens {
            let output = rates.output_tokens_per_s.or(Some(0.0));
            table.row("Output token throughput (tok/s):", fixed(output));
        }
        if tells_tokens && has_peaks {
            let peak = rates.peak_output_tokens_per_s as f64;
            table.row("Peak output token throughput (tok/s):", fixed(Some(peak)));
        }
        if has_peaks {
            table.row("Peak concurrent requests:", fixed(Some(metrics.concurrency.peak as f64)));
        }
        if let Some(factor) = super::speed_of_speech(report).filter(|_| self.is_newest()) {
            table.row("RTFx (Inverse Real-Time Factor):", fixed(Some(factor)));
        }
        self.all_tokens(table, metrics);
    }

    fn of_items(&self, table: &mut Table, metrics: &Metrics) {
        table.row("Total input tokens:", metrics.tokens.input);
        table.row("Request throughput (req/s):", fixed(metrics.throughput.requests_per_s));
        if self.is_newest() {
            table.row("Input throughput (inputs/s):", fixed(metrics.items.items_per_s));
        }
        self.all_tokens(table, metrics);
    }

    fn all_tokens(&self, table: &mut Table, metrics: &Metrics) {
        if self.options.tells_tokens {
            let rate = metrics.throughput.total_tokens_per_s;
            table.row(self.options.style.total_label(), fixed(rate));
        }
    }

    fn is_newest(&self) -> bool {
        self.options.style == VllmStyle::Newest
    }
}

/// Writes the first error messages, above the table.
fn failures(table: &mut Table, report: &Report<'_>) {
    let errors = report.log.measured().filter_map(|record| record.outcome.as_ref().err());
    for (number, error) in errors.take(MOST_ERRORS).enumerate() {
        if number == 0 {
            table.note("Failed requests during benchmark run detected (capping to 10):");
        }
        table.note(format!("Error {number}: {}", error.message));
    }
}

const MOST_ERRORS: usize = 10;

fn load(table: &mut Table, report: &Report<'_>, style: VllmStyle) {
    let facts = &report.log.header().facts;
    table.row("Successful requests:", report.metrics.requests.completed);
    table.row("Failed requests:", report.metrics.requests.failed);
    let has_load = style >= VllmStyle::V0_10_2;
    if let Some(limit) = facts.max_concurrency.filter(|_| has_load) {
        table.row("Maximum request concurrency:", limit);
    }
    if let Some(rate) = super::requested_rate(facts).filter(|_| has_load) {
        table.row("Request rate configured (RPS):", fixed(Some(rate)));
    }
    table.row("Benchmark duration (s):", fixed(Some(report.metrics.duration_s)));
}

fn family(table: &mut Table, family: &Family<'_>) {
    let (label, summary) = (family.metric.label(), &family.summary);
    table.section(family.metric.title());
    table.row(&format!("Mean {label} (ms):"), fixed(summary.mean_ms));
    table.row(&format!("Median {label} (ms):"), fixed(summary.median_ms));
    for (percent, value) in family.percentiles() {
        table.row(&format!("P{percent} {label} (ms):"), fixed(value));
    }
}

fn probes(table: &mut Table, probes: &Probes) {
    let e2el = &probes.e2el;
    table.section("Probe Requests");
    table.row("Probe requests completed:", probes.completed);
    table.row("Probe requests failed:", probes.failed);
    table.row("Median probe E2EL (ms):", fixed(e2el.median_ms));
    table.row("P99 probe E2EL (ms):", fixed(e2el.percentile_ms(99.0)));
    table.row("Max probe E2EL (ms):", fixed(e2el.max_ms));
}

/// Writes the server's figures of diffusion or of speculative decoding; a run has only one of them.
fn server_work(table: &mut Table, metrics: &Metrics) {
    let work = &metrics.server_work;
    match (&work.diffusion, &work.speculation) {
        (Some(diffusion), _) => denoised(table, diffusion),
        (None, Some(speculation)) => guessed(table, speculation),
        (None, None) => {}
    }
}

fn denoised(table: &mut Table, work: &Diffusion) {
    table.section("Diffusion Decoding");
    table.row("Committed throughput (tok/s):", fixed(Some(work.committed_tokens_per_s)));
    table.row("Denoising steps per canvas:", fixed(Some(work.steps_per_canvas)));
    table.row("Committed per denoising step:", fixed(Some(work.committed_per_step)));
    table.row("Committed tokens:", work.committed_tokens);
    table.row("Denoising steps:", work.denoising_steps as i64);
    table.row("Canvas positions evaluated:", work.canvas_positions);
}

fn guessed(table: &mut Table, work: &Speculation) {
    table.section("Speculative Decoding");
    table.row("Acceptance rate (%):", fixed(Some(work.acceptance_rate_percent)));
    table.row("Acceptance length:", fixed(Some(work.acceptance_length)));
    table.row("Drafts:", work.drafts);
    table.row("Draft tokens:", work.draft_tokens);
    table.row("Accepted tokens:", work.accepted_tokens);
    if !work.acceptance_by_position.is_empty() {
        table.note("Per-position acceptance (%):");
    }
    for (position, rate) in work.acceptance_by_position.iter().enumerate() {
        table.row(&format!("  Position {position}:"), fixed(Some(rate * 100.0)));
    }
}

fn fixed(value: Option<f64>) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.2}"))
}
