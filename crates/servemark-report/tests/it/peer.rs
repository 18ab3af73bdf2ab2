//! SGLang's layouts, compared byte for byte except for intended additions.

use servemark_metrics::{Audit, ConcurrencyRatio, Metrics};
use servemark_report::{Layout, Report, ReportFormat, SglangOptions, SteadyStateLine};

use crate::golden::Golden;
use crate::report_text;

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
        // The outputs in this line were constructed with lengths that only a server could report.
        // For embeddings, the peer's client reads no such lengths and lists the planned ones.
        let line = if golden.backend.contains("embedding") {
            let (told, planned) = ("[10, 10, 10, 10, 10]", "[30, 31, 32, 33, 34]");
            line.replace(&format!("\"input_lens\": {told}"), &format!("\"input_lens\": {planned}"))
        } else {
            line
        };
        // The peer writes the length as the server sent it; Servemark stores it as a float.
        Some(line.replace("\"accept_length\": 2,", "\"accept_length\": 2.0,"))
    };
    compare(json, Layout::document, |golden, ours| {
        serde_json::from_str::<serde_json::Value>(&ours).expect(&golden.name);
        ours
    });
}

#[test]
fn the_steady_state_is_the_peers() {
    let mut compared = 0;
    for golden in Golden::all() {
        for recorded in golden.steady_state().results {
            let ratio = recorded["ratio"].as_f64().unwrap();
            let (table, line) = steady_state(&golden, ratio);
            let name = format!("{} at {ratio}", golden.name);
            if let Some(error) = recorded["error"].as_str() {
                assert!(
                    table.contains(&format!("\n{error}\n")) && line.is_empty(),
                    "{name}: {table}"
                );
                continue;
            }
            let expected = |key: &str| recorded[key].as_str().unwrap();
            assert_eq!(table, expected("console"), "{name}");
            assert_eq!(line, expected("jsonl"), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 90, "only {compared} results were compared");
}

/// The second table of a run, and its line.
fn steady_state(golden: &Golden, ratio: f64) -> (String, String) {
    let log = golden.log();
    let policy = golden.policy().with_steady_state(ConcurrencyRatio::new(ratio).ok());
    let metrics = Metrics::of_scores(&log, &policy, &golden.exact_scores(&log));
    let audit = Audit::of(&log);
    let report = Report::new(&log, &metrics, &audit);
    let tables = report_text(&*Layout::Sglang(SglangOptions::default()).table(), &report);
    let second = tables.find("\n============== Steady-State Result").expect("a second table");
    (tables[second..].to_owned(), report_text(&SteadyStateLine, &report))
}

fn compare(
    expected: fn(&Golden) -> Option<String>,
    format: fn(Layout) -> Box<dyn ReportFormat>,
    without_ours: fn(&Golden, String) -> String,
) {
    let mut compared = 0;
    for golden in Golden::all() {
        let Some(expected) = expected(&golden) else { continue };
        assert!(golden.metrics.is_some(), "{} is recorded by halves", golden.name);
        let log = golden.log();
        let scores = golden.exact_scores(&log);
        let metrics = Metrics::of_scores(&log, &golden.policy(), &scores);
        let format = format(Layout::Sglang(options(&golden)));
        let audit = Audit::of(&log);
        let report = Report::new(&log, &metrics, &audit).with_scores(&scores);
        let written = report_text(&*format, &report);
        let ours = without_ours(&golden, written);
        assert_eq!(ours, expected, "{}", golden.name);
        compared += 1;
    }
    assert!(compared >= 34, "only {compared} runs were compared");
}

fn options(golden: &Golden) -> SglangOptions {
    SglangOptions {
        output_details: golden.flag("output_details"),
        cache_report: golden.flag("cache_report"),
        ..SglangOptions::default()
    }
}
