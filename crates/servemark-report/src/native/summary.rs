//! The summary of a run: the figures of one screen.

use std::io;

use servemark_core::printable;
use servemark_metrics::{FailureTally, Summary};

use crate::table::wrapped;
use crate::{Report, ReportFormat};

/// Summary of a run in at most 80 columns: what was measured, requests and rates, each latency with
/// the 95 % intervals of its median and 99th percentile, and the verdict on the client.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunSummary;

impl ReportFormat for RunSummary {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let rows = [("Measured", measured(report)), ("Requests", requests(report))];
        let rows = rows.into_iter().chain(latencies(report));
        let audit = report.audit;
        let client = format!(
            "{}: load {}, latencies {}",
            audit.verdict, audit.load.verdict, audit.latencies
        );
        for (name, text) in rows.chain([("Client", client)]) {
            row(name, &text, out)?;
        }
        Ok(())
    }
}

/// Writes a name and a text of several lines.
fn row(name: &str, text: &str, out: &mut dyn io::Write) -> io::Result<()> {
    let mut name = name;
    for line in wrapped(&printable(text), COLUMNS - INDENT) {
        writeln!(out, "  {name:<NAME$}{line}")?;
        name = "";
    }
    Ok(())
}

const COLUMNS: usize = 80;
const NAME: usize = 12;
const INDENT: usize = NAME + 2;

fn measured(report: &Report<'_>) -> String {
    let header = report.log.header();
    let facts = &header.facts;
    let place = match &header.engine {
        Some(engine) => format!("{} {}", engine.name, engine.version),
        None => facts.target.clone(),
    };
    let model = facts.model_id.as_deref().unwrap_or(&facts.model);
    if model.is_empty() { place } else { format!("{place}, model {model}") }
}

fn requests(report: &Report<'_>) -> String {
    let metrics = report.metrics;
    let counts = metrics.requests;
    let generates = report.log.header().facts.generates();
    let rates = [
        (metrics.throughput.requests_per_s, "requests/s"),
        (metrics.throughput.output_tokens_per_s.filter(|_| generates), "output tokens/s"),
    ];
    let rates = rates.map(|(rate, unit)| rate.map(|rate| format!(", {rate:.1} {unit}")));
    let failed = (counts.failed > 0).then(|| {
        let mut tally = FailureTally::default();
        tally.add_metrics(metrics);
        format!("; {tally}")
    });
    let more: String = rates.into_iter().chain([failed]).flatten().collect();
    format!("{} of {} in {:.1} s{more}", counts.completed, counts.planned, metrics.duration_s)
}

/// Returns a row for each latency that requests have.
fn latencies(report: &Report<'_>) -> impl Iterator<Item = (&'static str, String)> {
    let latencies = &report.metrics.latencies;
    let all = [
        ("TTFT", &latencies.ttft),
        ("TPOT", &latencies.tpot),
        ("ITL", &latencies.itl),
        ("E2E", &latencies.e2el),
    ];
    let all = all.map(|(name, summary)| (name, summary.samples, latency(summary)));
    all.into_iter().filter(|(_, samples, _)| *samples > 0).map(|(name, _, text)| (name, text))
}

fn latency(summary: &Summary) -> String {
    let percentile = |percent: f64, name: &str| {
        let known = summary.estimates.as_ref().and_then(|known| known.percentile(percent));
        let bounds = known.and_then(|known| known.low.zip(known.high));
        match (summary.percentile_ms(percent), bounds) {
            (Some(value), Some((low, high))) => {
                format!("{name} {value:.1} ms ({low:.1} to {high:.1})")
            }
            (Some(value), None) if percent <= 50.0 => format!("{name} {value:.1} ms"),
            _ => match known.and_then(|known| known.reason) {
                Some(reason) => format!("{name} not known: {reason}"),
                None => format!("{name} not known"),
            },
        }
    };
    format!("{}, {}", percentile(50.0, "p50"), percentile(99.0, "p99"))
}
