//! Servemark's own measurement error, compared with the simulator's log.

use servemark_metrics::{Deviation, TruthComparison};

use crate::table::Table;

pub(super) fn truth(table: &mut Table, truth: &TruthComparison) {
    table.grid("Against the bundled simulator's own log (ms)", ["reported", "truth", "difference"]);
    let rows = [
        ("mean TTFT", Some(truth.mean_ttft)),
        ("p99 TTFT", Some(truth.p99_ttft)),
        ("max TTFT", Some(truth.max_ttft)),
        ("p99 ITL", truth.p99_itl),
        ("max ITL", truth.max_itl),
    ];
    for (label, deviation) in rows {
        if let Some(deviation) = deviation {
            table.cells(label, deviation_cells(deviation));
        }
    }
    table.note(format!("  {}", compared(truth)));
}

fn deviation_cells(deviation: Deviation) -> Vec<String> {
    let Deviation { reported_ms, truth_ms, difference_ms, .. } = deviation;
    let microseconds = |value: f64| format!("{value:.3}");
    vec![microseconds(reported_ms), microseconds(truth_ms), format!("{difference_ms:+.3}")]
}

fn compared(truth: &TruthComparison) -> String {
    format!(
        "{} requests compared, {} without truth, {} with another number of pieces",
        truth.requests, truth.without_truth, truth.other_pieces
    )
}
