//! Verdicts on the run, and the whole run beside its settled part.

use servemark_metrics::{
    Audit, Latencies, Latency, Metrics, SettledPart, SettledRun, SettledStatus,
};

use super::latencies::row_label;
use super::style::{absent, number};
use crate::table::Table;

/// Writes all verdicts at the top of the table; writes nothing if there are none.
pub(super) fn verdicts(table: &mut Table, metrics: &Metrics, audit: &Audit) {
    if metrics.verdicts.is_empty() {
        return;
    }
    table.section("Verdicts");
    table.row("client audit", audit.verdict);
    for verdict in &metrics.verdicts {
        table.paragraph(verdict.kind.name(), &verdict.reason);
    }
}

/// Writes which part of the run is settled; if it is only a part, the whole run stands beside it.
pub(super) fn write_settled(table: &mut Table, metrics: &Metrics, settled: &SettledRun) {
    let reason = settled.reason.as_deref().unwrap_or_default();
    match (settled.status, &settled.part) {
        (SettledStatus::Whole, _) => table.row("settled part", "the whole run"),
        (SettledStatus::Part, Some(part)) => {
            let span = format!("from {:.1} s to {:.1} s", part.from_s, part.to_s);
            table.paragraph("settled part", &format!("{span}; {reason}"));
            side_by_side(table, metrics, part);
        }
        _ => table.paragraph("settled part", &format!("none: {reason}")),
    }
}

fn side_by_side(table: &mut Table, metrics: &Metrics, part: &SettledPart) {
    let mean_of = |latencies: &Latencies, latency| latencies.summary(latency)?.mean_ms;
    let means = Latency::SERVICE.map(|latency| {
        let (all, settled) = (&metrics.latencies, &part.latencies);
        (row_label(latency), mean_of(all, latency), mean_of(settled, latency))
    });
    let rates = [
        ("requests/s", metrics.throughput.requests_per_s, Some(part.requests_per_s)),
        ("output tokens/s", metrics.throughput.output_tokens_per_s, part.output_tokens_per_s),
        ("in flight", metrics.concurrency.mean, Some(part.in_flight)),
    ];
    table.grid("Whole run and settled part (means in ms)", ["whole", "settled", "differs"]);
    let known = means.into_iter().chain(rates).filter(|(_, all, _)| all.is_some());
    for (label, all, settled) in known {
        table.cells(label, vec![number(all), number(settled), difference(all, settled)]);
    }
    let requests = metrics.requests.completed + metrics.requests.failed;
    table.cells("requests", vec![requests.to_string(), part.requests.to_string()]);
}

/// Returns the relative difference of the settled part from the whole run, such as `-12.3 %`.
fn difference(all: Option<f64>, settled: Option<f64>) -> String {
    let Some((all, settled)) = all.zip(settled).filter(|(all, _)| *all != 0.0) else {
        return absent();
    };
    let percent = (settled / all - 1.0) * 100.0;
    if percent.abs() < 0.05 { "0.0 %".to_owned() } else { format!("{percent:+.1} %") }
}
