//! The additional output of SGLang's `steady_state_serving`: a second table, and a line for a
//! separate file.

use std::io;

use servemark_metrics::SteadyState;
use servemark_pyjson::{Text, to_writer};

use super::columns::{COLUMNS, fixed};
use crate::table::Table;
use crate::{Report, ReportFormat};

/// The line for the steady-state file. Writes nothing if no steady state was requested or found.
#[derive(Clone, Copy, Debug, Default)]
pub struct SteadyStateLine;

impl ReportFormat for SteadyStateLine {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let Some(steady) = &report.metrics.steady_state else { return Ok(()) };
        to_writer(steady, Text::Ascii, &mut *out)?;
        out.write_all(b"\n")
    }
}

/// Writes the table, if a steady state was requested.
pub(super) fn write(report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    if report.metrics.policy.steady_state.is_none() {
        return Ok(());
    }
    let mut table = Table::default();
    table.title("Steady-State Result");
    match &report.metrics.steady_state {
        Some(steady) => rows(&mut table, steady),
        None => table.note("no successful requests with positive latency"),
    }
    table.end();
    table.write(&COLUMNS, out)
}

fn rows(table: &mut Table, steady: &SteadyState) {
    let number = |value: f64| fixed(Some(value));
    table.row("Concurrency ratio:", number(steady.concurrency_ratio.get()));
    table.row("Measurement duration (s):", number(steady.duration));
    table.row("Minimum concurrency:", steady.concurrency_threshold);
    table.row("Completed requests:", steady.completed);
    if let Some(input) = steady.total_input {
        table.row("Input tokens:", input);
    }
    let rate = steady.input_throughput.map_or_else(|| "N/A".to_owned(), number);
    table.row("Input token throughput (tok/s):", rate);
    table.row("Generated tokens:", number(steady.total_output));
    table.row("Output token throughput (tok/s):", number(steady.output_throughput));
    let retokenized = fixed(steady.output_throughput_retokenized);
    table.row("Output throughput, retokenized (tok/s):", retokenized);
    table.row("Average concurrency:", number(steady.average_concurrency));
    table.row("Peak concurrency:", steady.peak_concurrency);
    table.row("Peak output throughput (tok/s):", number(steady.peak_output_throughput));
}
