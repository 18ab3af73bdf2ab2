//! A report of the program: one row of a Markdown table for each run.

use std::io::{self, Write};
use std::time::Duration;

use servemark::backends::{ChatSpec, CommonSpec};
use servemark::core::{Sample, Session};
use servemark::mock::{MockServer, MockSpec};
use servemark::report::{Report, ReportFormat};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{Bench, Scores};

/// One row of a Markdown table: the load, the answered requests and the typical latencies.
#[derive(Debug)]
struct MarkdownRow;

impl ReportFormat for MarkdownRow {
    fn write(&self, report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (facts, metrics) = (&report.log.header().facts, report.metrics);
        let cell = |value: Option<f64>| value.map_or_else(|| "-".into(), |ms| format!("{ms:.1}"));
        writeln!(
            out,
            "| {} | {} | {} | {} |",
            cell(facts.request_rate),
            metrics.requests.completed,
            cell(metrics.latencies.ttft.median_ms),
            cell(metrics.latencies.e2el.median_ms),
        )
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server =
        MockServer::start(MockSpec::new(Duration::from_millis(20), Duration::from_millis(1)))?;
    let chat = ChatSpec::new(CommonSpec::new("m"));
    let prompts = vec![Session::from(Sample::new("Tell me a story.", 5, 16)); 50];
    let mut out = io::stdout();
    writeln!(out, "| requests/s | answered | TTFT (ms) | E2E (ms) |\n|---:|---:|---:|---:|")?;
    for rate in [50.0, 100.0] {
        let (chat, prompts) = (("chat", chat.clone()), ("stories", prompts.clone()));
        let load = LoadSpec::new(ArrivalSpec::at_rate(rate)?);
        let bench = Bench::at(server.base_url().parse()?, chat, prompts, 50, load);
        let run = bench.run()?;
        Scores::of(&run.log, &bench.plan.scoring).write_report(&MarkdownRow, &mut out)?;
    }
    Ok(())
}
