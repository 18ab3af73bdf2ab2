//! Multi-turn sessions by turn.

use std::io;

use servemark_metrics::{ConversationFigures, Percentile, Summary, TurnFigures};

use crate::table::{Line, Style, Table};
use crate::{Report, ReportFormat};

/// Multi-turn sessions by turn. Writes nothing if the run has no sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct TurnsTable;

impl ReportFormat for TurnsTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let Some(figures) = ConversationFigures::of(report.log, report.metrics) else {
            return Ok(());
        };
        let mut table = Table::default();
        table.title("Multi-Turn Benchmark Result");
        conversations(&mut table, report, &figures);
        block(&mut table, " Overall (All Turns) ", &figures.overall);
        for (number, turn) in (1..).zip(&figures.turns) {
            let samples = turn.completed + turn.failed;
            block(&mut table, &format!(" Turn {number} ({samples} samples) "), turn);
        }
        table.end();
        table.write(&TurnsStyle, out)
    }
}

fn conversations(table: &mut Table, report: &Report<'_>, figures: &ConversationFigures) {
    let ConversationFigures { completed, failed, mean_turns, mean_duration_ms, .. } = figures;
    let all = completed + failed;
    table.row("Conversations completed/total:", format!("{completed}/{all}"));
    table.row("Avg turns completed:", format!("{mean_turns:.1}"));
    table.row("Avg conversation duration (ms):", format!("{mean_duration_ms:.0}"));
    let limit = report.log.header().facts.max_concurrency;
    let limit = limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    table.row("Concurrency:", limit);
    table.row("Benchmark duration (s):", fixed(report.metrics.duration_s));
}

fn block(table: &mut Table, title: &str, turn: &TurnFigures) {
    table.section(title);
    table.row("Successful requests:", turn.completed);
    table.row("Failed requests:", turn.failed);
    table.row("Total input tokens:", turn.input_tokens);
    table.row("Total generated tokens:", turn.output_tokens);
    table.row("Request throughput (req/s):", fixed(turn.requests_per_s));
    table.row("Input token throughput (tok/s):", fixed(turn.input_tokens_per_s));
    table.row("Output token throughput (tok/s):", fixed(turn.output_tokens_per_s));
    let total = turn.input_tokens_per_s + turn.output_tokens_per_s;
    table.row("Total token throughput (tok/s):", fixed(total));
    latency(table, "Time to First Token", "TTFT", &turn.latencies.ttft);
    latency(table, "Time per Output Token (excl. 1st token)", "TPOT", &turn.latencies.tpot);
    latency(table, "Inter-token Latency", "ITL", &turn.latencies.itl);
    latency(table, "End-to-end Latency", "E2EL", &turn.latencies.e2el);
}

fn latency(table: &mut Table, title: &str, name: &str, summary: &Summary) {
    table.section(title);
    let value = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), fixed);
    table.row(&format!("Mean {name} (ms):"), value(summary.mean_ms));
    table.row(&format!("Median {name} (ms):"), value(summary.median_ms));
    for percent in summary.percentiles.iter().map(Percentile::percent) {
        table.row(&format!("P{percent} {name} (ms):"), value(summary.percentile_ms(percent)));
    }
}

fn fixed(value: f64) -> String {
    format!("{value:.2}")
}

/// Style with 60 columns: labels 45 wide.
struct TurnsStyle;

impl Style for TurnsStyle {
    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => format!("{:=^60}", format!(" {title} ")),
            Line::Section(title, _) => format!("{title:-^60}"),
            Line::Row(label, value) | Line::Paragraph(label, value) => {
                format!("{label:<45} {value}")
            }
            Line::Cells(label, values) => format!("{label:<45} {}", values.join(" ")),
            Line::Note(note) | Line::LongNote(note) => note.clone(),
            Line::End => "=".repeat(60),
        }
    }
}
