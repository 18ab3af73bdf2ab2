//! Additional output of vLLM's Rust client: the plateau of a run, multi-turn sessions by turn, and
//! several runs side by side.

pub(crate) mod json;
mod sweep;
mod turns;

use std::io;

use servemark_metrics::{Plateau, PlateauWindow, Summary};

pub use self::sweep::{SweptRun, write_swept};
pub use self::turns::TurnsTable;
use crate::table::{Line, Style, Table};
use crate::{Report, ReportFormat};

/// The plateau of a run, its steady state at full concurrency. Writes nothing if it was not
/// requested, and one line if the run has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlateauTable;

impl ReportFormat for PlateauTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        if report.metrics.policy.plateau.is_none() {
            return Ok(());
        }
        let Some(plateau) = &report.metrics.plateau else {
            return writeln!(out, "{NONE}");
        };
        let mut table = Table::default();
        warning(&mut table, &plateau.window);
        table.title("Steady-State Metrics");
        window(&mut table, &plateau.window);
        rates(&mut table, plateau);
        latency(&mut table, "TTFT", &plateau.ttft);
        latency(&mut table, "TPOT", &plateau.tpot);
        table.end();
        table.write(&PlateauStyle, out)
    }
}

const NONE: &str = "No steady state: it takes --max-concurrency without a --request-rate, and a run \
                    that reaches that limit.";

fn warning(table: &mut Table, window: &PlateauWindow) {
    if let Some(warning) = warning_of(window) {
        table.note(format!("Warning: {warning}"));
    }
}

/// Returns the warning about a plateau that is too short.
fn warning_of(window: &PlateauWindow) -> Option<String> {
    let (seconds, percent) = (window.duration_s, window.too_short? * 100.0);
    Some(format!(
        "steady-state window is {seconds:.1}s ({percent:.1}% of run); may not be representative"
    ))
}

fn window(table: &mut Table, window: &PlateauWindow) {
    let (share, limit) = (window.threshold.get(), window.target_concurrency);
    let least = window.threshold_requests;
    table.row("Concurrency threshold:", format!(">= {share:.2} * {limit} = {least}"));
    let (start, end, seconds) = (window.start_s, window.end_s, window.duration_s);
    table.row("Window:", format!("{start:.1}s -> {end:.1}s  ({seconds:.1}s)"));
    table.row("Observed peak concurrency:", window.observed_peak);
    let (started, total) = (window.requests_started, window.requests_total);
    let percent = 100.0 * started as f64 / total.max(1) as f64;
    table.row("Requests started in window:", format!("{started} / {total} ({percent:.1}%)"));
    table.row("Requests completed in window:", window.requests_completed);
}

fn rates(table: &mut Table, plateau: &Plateau) {
    let fixed = |value: f64| format!("{value:.2}");
    table.section("");
    table.row("Request throughput (req/s):", fixed(plateau.requests_per_s));
    table.row("Output token throughput (tok/s):", fixed(plateau.output_tokens_per_s));
    table.row("Input token throughput (tok/s):", fixed(plateau.input_tokens_per_s));
    table.row("Total token throughput (tok/s):", fixed(plateau.total_tokens_per_s));
}

fn latency(table: &mut Table, name: &str, summary: &Summary) {
    if summary.samples == 0 {
        return;
    }
    let fixed = |value: Option<f64>| format!("{:.2}", value.unwrap_or_default());
    table.section("");
    table.row(&format!("Mean {name} (ms):"), fixed(summary.mean_ms));
    table.row(&format!("Median {name} (ms):"), fixed(summary.median_ms));
    for percent in summary.percentiles.iter().map(servemark_metrics::Percentile::percent) {
        table.row(&format!("P{percent} {name} (ms):"), fixed(summary.percentile_ms(percent)));
    }
}

/// Style with 47 columns: labels 35 wide.
struct PlateauStyle;

impl Style for PlateauStyle {
    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => format!("{:=^47}", format!(" {title} ")),
            Line::Section(..) => "-".repeat(47),
            Line::Row(label, value) | Line::Paragraph(label, value) => {
                format!("{label:<35} {value}")
            }
            Line::Cells(label, values) => format!("{label:<35} {}", values.join(" ")),
            Line::Note(note) | Line::LongNote(note) => note.clone(),
            Line::End => "=".repeat(47),
        }
    }
}
