//! vLLM 0.33.0's console table, label for label.
//!
//! What a run log does not hold is not in it: probes, and what the server's `/metrics` say of
//! speculative and diffusion decoding.

use std::io;

use servemark_metrics::{Metrics, Summary};

use crate::table::{Line, Style, Table};
use crate::{Report, ReportFormat};

/// vLLM's console table.
#[derive(Clone, Debug, Default)]
pub struct VllmTable {
    selected: Option<Vec<VllmMetric>>,
}

impl VllmTable {
    /// A table with sections about these metrics (`--percentile-metrics`). Without a choice, as
    /// [`default`](Self::default) has it, they are those of the first token, the time per token and
    /// the time between tokens; of embeddings and rankings, the latency.
    pub fn of(metrics: Vec<VllmMetric>) -> Self {
        Self { selected: Some(metrics) }
    }

    fn shows(&self, metric: VllmMetric, generates: bool) -> bool {
        match &self.selected {
            Some(selected) => selected.contains(&metric),
            None => metric.is_default(generates),
        }
    }
}

/// A metric with a section of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum VllmMetric {
    /// How long requests waited in the client.
    ClientQueueTime,
    /// Latency.
    E2el,
    /// Latency and how long requests waited in the client.
    E2elIncludingClientQueue,
    /// Time between tokens.
    Itl,
    /// Time per token after the first.
    Tpot,
    /// Time to the first token.
    Ttft,
}

impl VllmMetric {
    /// The metric of a name that `--percentile-metrics` takes; vLLM overlooks every other name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "client_queue_time" => Self::ClientQueueTime,
            "e2el" => Self::E2el,
            "e2el_including_client_queue" => Self::E2elIncludingClientQueue,
            "itl" => Self::Itl,
            "tpot" => Self::Tpot,
            "ttft" => Self::Ttft,
            _ => return None,
        })
    }

    fn is_default(self, generates: bool) -> bool {
        if generates {
            matches!(self, Self::Itl | Self::Tpot | Self::Ttft)
        } else {
            self == Self::E2el
        }
    }
}

impl ReportFormat for VllmTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let generates = report.log.header().facts.generates();
        let mut table = Table::default();
        table.title("Serving Benchmark Result");
        load(&mut table, report);
        totals(&mut table, report.metrics, generates);
        if generates {
            self.tokens(&mut table, report.metrics);
        }
        if self.shows(VllmMetric::E2el, generates) {
            family(&mut table, "End-to-end Latency", "E2EL", &report.metrics.latencies.e2el);
        }
        self.queueing(&mut table, report, generates);
        table.end();
        table.write(&VllmStyle, out)
    }
}

impl VllmTable {
    fn tokens(&self, table: &mut Table, metrics: &Metrics) {
        let latencies = &metrics.latencies;
        if self.shows(VllmMetric::Ttft, true) {
            family(table, "Time to First Token", "TTFT", &latencies.ttft);
        }
        if self.shows(VllmMetric::Tpot, true) {
            family(table, "Time per Output Token (excl. 1st token)", "TPOT", &latencies.tpot);
        }
        if self.shows(VllmMetric::Itl, true) {
            family(table, "Inter-token Latency", "ITL", &latencies.itl);
        }
    }

    /// Told where requests may wait, which is where their number is limited. Latencies with that
    /// wait are told only where requests come at a rate: else all of them wait from the start.
    fn queueing(&self, table: &mut Table, report: &Report<'_>, generates: bool) {
        let facts = &report.log.header().facts;
        if facts.max_concurrency.is_none() {
            return;
        }
        let scores = report.scores();
        let successes = || scores.iter().filter(|score| score.success);
        if self.shows(VllmMetric::ClientQueueTime, generates) {
            let waits: Vec<f64> = successes().map(|score| score.waited_s).collect();
            let summary = summary(waits, report.metrics);
            family(table, "Client-side Queueing", "Client Queue Time", &summary);
        }
        let is_paced = facts.request_rate.is_some();
        if is_paced && self.shows(VllmMetric::E2elIncludingClientQueue, generates) {
            let whole = successes().map(|score| score.waited_s + score.latency_s).collect();
            let summary = summary(whole, report.metrics);
            let title = "Queue-inclusive End-to-end Latency";
            family(table, title, "E2EL incl. Client Queue", &summary);
        }
    }
}

/// Of nothing, vLLM says zero.
fn summary(mut sample_s: Vec<f64>, metrics: &Metrics) -> Summary {
    if sample_s.is_empty() {
        sample_s.push(0.0);
    }
    Summary::of(&sample_s, &metrics.policy)
}

fn load(table: &mut Table, report: &Report<'_>) {
    let facts = &report.log.header().facts;
    table.row("Successful requests:", report.metrics.requests.completed);
    table.row("Failed requests:", report.metrics.requests.failed);
    if let Some(limit) = facts.max_concurrency {
        table.row("Maximum request concurrency:", limit);
    }
    if let Some(rate) = facts.request_rate {
        table.row("Request rate configured (RPS):", fixed(Some(rate)));
    }
    table.row("Benchmark duration (s):", fixed(Some(report.metrics.duration_s)));
}

fn totals(table: &mut Table, metrics: &Metrics, generates: bool) {
    let (tokens, rates) = (&metrics.tokens, &metrics.throughput);
    table.row("Total input tokens:", tokens.input);
    if generates {
        table.row("Total generated tokens:", tokens.output.unwrap_or_default());
    }
    table.row("Request throughput (req/s):", fixed(rates.requests_per_s));
    if generates {
        if let Some(goodput) = &metrics.goodput {
            table.row("Request goodput (req/s):", fixed(goodput.requests_per_s));
        }
        let peak = rates.peak_output_tokens_per_s as f64;
        let output = rates.output_tokens_per_s.or(Some(0.0));
        table.row("Output token throughput (tok/s):", fixed(output));
        table.row("Peak output token throughput (tok/s):", fixed(Some(peak)));
        table.row("Peak concurrent requests:", fixed(Some(metrics.concurrency.peak as f64)));
    } else {
        table.row("Input throughput (inputs/s):", fixed(metrics.items.items_per_s));
    }
    table.row("Total token throughput (tok/s):", fixed(rates.total_tokens_per_s));
}

fn family(table: &mut Table, title: &str, name: &str, summary: &Summary) {
    table.section(title);
    table.row(&format!("Mean {name} (ms):"), fixed(summary.mean_ms));
    table.row(&format!("Median {name} (ms):"), fixed(summary.median_ms));
    for percentile in &summary.percentiles {
        let percent = percentile.percent();
        table.row(&format!("P{percent} {name} (ms):"), fixed(summary.percentile_ms(percent)));
    }
}

fn fixed(value: Option<f64>) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.2}"))
}

/// Fifty columns, labels in forty of them, values padded to ten.
struct VllmStyle;

impl Style for VllmStyle {
    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => format!("{:=^50}", format!(" {title} ")),
            Line::Section(title, _) => format!("{title:-^50}"),
            Line::Row(label, value) => format!("{label:<40} {value:<10}"),
            Line::Cells(label, values) => format!("{label:<40} {}", values.join(" ")),
            Line::Note(note) => note.clone(),
            Line::End => "=".repeat(50),
        }
    }
}
