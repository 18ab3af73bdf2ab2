//! SGLang's layouts, byte for byte but for what we add on purpose.

use servemark_metrics::Metrics;
use servemark_report::{Layout, Report, ReportFormat, SglangOptions};

use crate::golden::Golden;
use crate::written;

/// What we do not write as the peer does, and why.
const GAPS: [(&str, &str); 3] = [
    ("cache_details", "a record has no device, host and storage parts of the cached tokens"),
    ("cache_storage_unnamed", "the same"),
    ("multi_turn", "the peer counts no input for conversations, a known defect of it"),
];

#[test]
fn the_table_is_the_peers_but_for_the_failures() {
    compare(
        |golden| golden.console.clone(),
        Layout::table,
        |golden, ours| {
            let failed = golden.outputs.iter().filter(|output| !output.success).count();
            let added = format!("{:<40} {failed:<10}\n", "Failed requests:");
            assert_eq!(ours.matches(&added).count(), 1, "{}", golden.name);
            ours.replace(&added, "")
        },
    );
}

#[test]
fn the_line_is_the_peers_but_for_what_is_no_json() {
    let json = |golden: &Golden| {
        let line = golden.jsonl.as_ref()?.replace(": Infinity,", ": null,");
        // The peer writes what the server sent; we keep the length as a float.
        Some(line.replace("\"accept_length\": 2,", "\"accept_length\": 2.0,"))
    };
    compare(json, Layout::document, |golden, ours| {
        serde_json::from_str::<serde_json::Value>(&ours).expect(&golden.name);
        ours
    });
}

fn compare(
    expected: fn(&Golden) -> Option<String>,
    format: fn(Layout) -> Box<dyn ReportFormat>,
    without_ours: fn(&Golden, String) -> String,
) {
    let mut compared = 0;
    for golden in Golden::all() {
        let Some(expected) = expected(&golden) else { continue };
        let log = golden.log();
        let metrics = Metrics::of_scores(&log, &golden.policy(), golden.exact_scores(&log));
        let format = format(Layout::Sglang(options(&golden)));
        let written = written(&*format, &Report::new(&log, &metrics));
        let ours = without_ours(&golden, written);
        match GAPS.iter().find(|(name, _)| *name == golden.name) {
            Some((name, reason)) => {
                assert_ne!(ours, expected, "{name} no longer differs: {reason}");
            }
            None => assert_eq!(ours, expected, "{}", golden.name),
        }
        compared += 1;
    }
    assert!(compared >= 29, "only {compared} runs were compared");
}

fn options(golden: &Golden) -> SglangOptions {
    let mut options = SglangOptions::default();
    options.output_details = golden.flag("output_details");
    options.cache_report = golden.flag("cache_report");
    options
}
