//! vLLM's table, byte for byte.

use servemark_metrics::{Audit, Metrics};
use servemark_report::{Report, VllmMetric, VllmTable};

use crate::vllm_golden::Golden;
use crate::written;

#[test]
fn the_table_is_vllms() {
    let mut compared = 0;
    for golden in Golden::all().iter().filter(|golden| !has_more(&golden.name)) {
        assert!(!golden.metrics.is_empty(), "{} is recorded by halves", golden.name);
        let log = golden.log();
        let metrics = Metrics::score(&log, &golden.policy());
        let audit = Audit::of(&log);
        let ours = written(&table(golden), &Report::new(&log, &metrics, &audit));
        assert_eq!(ours, golden.console, "{}", golden.name);
        compared += 1;
    }
    assert_eq!(compared, 20, "a case was added or lost");
}

/// Whether the table tells what no log holds.
fn has_more(name: &str) -> bool {
    ["audio", "diffusion", "speculative"].contains(&name)
}

fn table(golden: &Golden) -> VllmTable {
    match golden.args["percentile_metrics"].as_str() {
        Some(names) => VllmTable::of(names.split(',').filter_map(VllmMetric::of).collect()),
        None => VllmTable::default(),
    }
}
