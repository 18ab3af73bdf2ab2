//! Text and result line of SGLang 0.5.23's offline benchmark of an engine, with its labels and
//! keys, followed by Servemark's.

use std::io;

use serde_json::{Value, json};
use servemark_core::{JsonObject, RunLog};
use servemark_pyjson::{Text, to_writer};

use super::columns::{COLUMNS, fixed};
use super::line::incomplete;
use crate::table::Table;
use crate::{Report, ReportFormat, calls};

/// SGLang's "Offline Throughput Benchmark Result".
#[derive(Clone, Copy, Debug, Default)]
pub struct SglangOfflineTable;

/// SGLang's offline result line, which is appended to a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct SglangOfflineLine;

impl ReportFormat for SglangOfflineTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let (totals, facts) = (Totals::of(report), &report.log.header().facts);
        let [requests, input, output] = [totals.requests as u64, totals.input, totals.output];
        let mut table = Table::default();
        table.title("Offline Throughput Benchmark Result");
        table.row("Backend:", &facts.backend);
        table.row("Successful requests:", requests);
        table.row("Benchmark duration (s):", fixed(Some(totals.seconds)));
        table.row("Total input tokens:", input);
        table.row("Total generated tokens:", output);
        table.row("Last generation throughput (tok/s):", fixed(totals.last));
        table.row("Request throughput (req/s):", fixed(totals.rate(requests)));
        table.row("Input token throughput (tok/s):", fixed(totals.rate(input)));
        table.row("Output token throughput (tok/s):", fixed(totals.rate(output)));
        table.row("Total token throughput (tok/s):", fixed(totals.rate(input + output)));
        if totals.failed > 0 {
            table.row("Failed requests:", totals.failed);
        }
        if let Some(how) = incomplete(report.metrics) {
            table.row("Incomplete run:", how);
        }
        table.end();
        table.write(&COLUMNS, out)
    }
}

impl ReportFormat for SglangOfflineLine {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let (totals, header) = (Totals::of(report), report.log.header());
        let (input, output) = (totals.input, totals.output);
        let mut line = JsonObject::new();
        let mut put = |key: &str, value: Value| line.insert(key.to_owned(), value);
        put("backend", json!(header.facts.backend));
        put("successful_requests", json!(totals.requests));
        put("total_latency", json!(totals.seconds));
        put("total_input_tokens", json!(input));
        put("total_output_tokens", json!(output));
        put("request_throughput", json!(totals.rate(totals.requests as u64)));
        put("input_throughput", json!(totals.rate(input)));
        put("output_throughput", json!(totals.rate(output)));
        put("total_throughput", json!(totals.rate(input + output)));
        put("last_gen_throughput", json!(totals.last));
        put("native_failed_requests", json!(totals.failed));
        put("native_output_tokens_retokenized", json!(report.metrics.tokens.output_retokenized));
        put("native_engine", json!(header.engine));
        if let Some(how) = incomplete(report.metrics) {
            put("incomplete", json!(how));
        }
        to_writer(&line, Text::Ascii, &mut *out)?;
        out.write_all(b"\n")
    }
}

/// Totals over the answered requests, and the time from the first that started to the last that
/// ended.
struct Totals {
    requests: usize,
    failed: usize,
    seconds: f64,
    input: u64,
    output: u64,
    /// The engine's own report of its last generation throughput.
    last: Option<f64>,
}

impl Totals {
    fn of(report: &Report<'_>) -> Self {
        let answered = report.log.measured().filter(|record| record.is_success());
        Self {
            requests: answered.count(),
            failed: report.metrics.requests.failed,
            seconds: calls::seconds(report.log),
            input: report.metrics.tokens.input,
            output: report.metrics.tokens.output.unwrap_or_default(),
            last: last_generation(report.log),
        }
    }

    fn rate(&self, count: u64) -> Option<f64> {
        (self.seconds > 0.0).then(|| count as f64 / self.seconds)
    }
}

fn last_generation(log: &RunLog) -> Option<f64> {
    let info = log.footer()?.server_info.as_ref()?;
    info["internal_states"][0]["last_gen_throughput"].as_f64()
}
