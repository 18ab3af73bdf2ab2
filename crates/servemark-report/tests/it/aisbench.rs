//! AISBench's tables and files, byte for byte.

use servemark_metrics::{Audit, Metrics};
use servemark_report::{
    AisbenchCsv, AisbenchFailures, AisbenchJson, AisbenchOptions, AisbenchTable, PrefillRow,
    Report, ReportFormat,
};

use crate::aisbench_golden::{Golden, Left};
use crate::written;

#[test]
fn the_tables_and_files_are_aisbenchs() {
    let mut compared = 0;
    for golden in Golden::all() {
        let Left::Tables { console, csv, json } = &golden.left else { continue };
        let options = options(&golden);
        let table = scored(&golden, &AisbenchTable::new(options.clone()));
        assert_eq!(tables(&table), tables(console), "{}", golden.name);
        let first = console.lines().next().unwrap();
        assert!(table.lines().any(|line| line == first), "{}: {first}", golden.name);
        assert_eq!(scored(&golden, &AisbenchCsv::new(options.clone())), *csv, "{}", golden.name);
        assert_eq!(scored(&golden, &AisbenchJson::new(options)), *json, "{}", golden.name);
        compared += 1;
    }
    assert_eq!(compared, 20, "a case was added or lost");
}

#[test]
fn where_there_is_no_table_the_reason_is_aisbenchs() {
    let mut compared = 0;
    for golden in Golden::all() {
        let Left::Nothing { error } = &golden.left else { continue };
        let options = options(&golden);
        let table = scored(&golden, &AisbenchTable::new(options.clone()));
        let theirs = error.replace("conccurency", "concurrency");
        assert_eq!(table.lines().last(), Some(theirs.as_str()), "{}", golden.name);
        assert_eq!(scored(&golden, &AisbenchCsv::new(options.clone())), "");
        assert_eq!(scored(&golden, &AisbenchJson::new(options)), "{}");
        compared += 1;
    }
    assert_eq!(compared, 3, "a case was added or lost");
}

#[test]
fn reasons_of_failures_stand_in_aisbenchs_box() {
    let mut compared = 0;
    for golden in Golden::all() {
        let ours = scored(&golden, &AisbenchFailures);
        let theirs = golden.failed.as_ref().map(|table| format!("{table}\n"));
        assert_eq!(ours, theirs.unwrap_or_default(), "{}", golden.name);
        compared += usize::from(golden.failed.is_some());
    }
    assert_eq!(compared, 2, "a case was added or lost");
}

fn options(golden: &Golden) -> AisbenchOptions {
    let prefill = if golden.has_one_prefill() { PrefillRow::OfRun } else { PrefillRow::OfRequests };
    AisbenchOptions::new("vllm-api-stream-chat", "synthetic")
        .with_statistics(golden.statistics())
        .with_stage(golden.stage())
        .with_prefill(prefill)
}

/// The lines of both boxes.
fn tables(text: &str) -> String {
    let is_box = |line: &&str| line.starts_with(['╒', '│', '╞', '├', '╘']);
    text.lines().filter(is_box).collect::<Vec<_>>().join("\n")
}

fn scored(golden: &Golden, format: &dyn ReportFormat) -> String {
    let log = golden.log();
    let metrics = Metrics::score(&log, &golden.policy());
    written(format, &Report::new(&log, &metrics, &Audit::of(&log)))
}
