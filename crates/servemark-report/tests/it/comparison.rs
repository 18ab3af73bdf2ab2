//! Comparisons, byte for byte as vLLM's Rust client prints them, and Servemark's own table.

use std::fs;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use servemark_core::{Finish, Footer, Header, Phase, Recorder, RunFacts, RunLog, Sample, Stamp};
use servemark_metrics::{
    Audit, ComparedRun, ComparedSide, Comparison, Doubt, Figure, MetricPolicy, RunVerdict,
    Tolerance,
};
use servemark_report::{Side, comparison_json, figure_in, write_changes, write_comparison};

fn recorded(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vllm/rust");
    fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

fn result(name: &str) -> Value {
    serde_json::from_str(&recorded(name)).unwrap()
}

fn table(comparison: &Comparison, sides: &[Side; 2]) -> String {
    let mut out = Vec::new();
    write_comparison(comparison, sides, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn is_recorded(before: &str, after: &str, expected: &str) {
    let results = [before, after].map(result);
    let [read_a, read_b] = results.each_ref().map(|of| move |figure| figure_in(of, figure));
    let comparison = Comparison::of(&Figure::headline(), read_a, read_b);
    let sides = [Side::of_result(before, &results[0]), Side::of_result(after, &results[1])];
    assert_eq!(table(&comparison, &sides), recorded(expected));
}

#[test]
fn two_results_are_compared_as_vllm_does() {
    is_recorded("limited.json", "wider.json", "compare_wider.txt");
    is_recorded("limited.json", "unlimited.json", "compare_unlimited.txt");
}

#[test]
fn a_result_of_sglangs_is_read_by_its_own_keys() {
    let result = json!({"total_throughput": 5.0, "p99_e2e_latency_ms": 7, "mean_ttft_ms": null});
    let read = |name: &str| figure_in(&result, name.parse().unwrap());
    assert_eq!(read("total_token_throughput"), Some(5.0));
    assert_eq!(read("e2el:p99"), Some(7.0));
    assert_eq!(read("ttft:mean"), None);
}

fn changes(comparison: &Comparison, sides: &[Vec<Side>; 2]) -> String {
    changes_in(80, comparison, sides)
}

fn changes_in(columns: usize, comparison: &Comparison, sides: &[Vec<Side>; 2]) -> String {
    let mut out = Vec::new();
    write_changes(comparison, sides, columns, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn sides(before: &[&str], after: &[&str]) -> [Vec<Side>; 2] {
    [before, after].map(|names| names.iter().copied().map(Side::new).collect())
}

/// Returns a run of 40 sequential requests with latencies from `latency_ms` to 39 ms more.
fn log(latency_ms: u64) -> RunLog {
    let mut now = Stamp::ZERO;
    let records = (0..40).map(|index| {
        let latency = Duration::from_millis(latency_ms + (index * 17 % 40) as u64);
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 5, 1), now);
        recorder.record_sent(now);
        now = now + latency;
        recorder.body(now, 1);
        recorder.finish(Ok(Finish::default()), now)
    });
    let records = records.collect();
    let mut footer = Footer::default();
    footer.ended = now;
    RunLog::new(Header::new(0, RunFacts::default(), Value::Null), records, Some(footer))
}

fn figures() -> [Figure; 3] {
    ["request_throughput", "mean_e2el_ms", "completed"].map(|of| of.parse().unwrap())
}

fn runs(latencies_ms: &[u64]) -> Vec<ComparedRun> {
    let run = |latency_ms: &u64| {
        ComparedRun::of_log(&log(*latency_ms), &MetricPolicy::native(), &figures())
    };
    latencies_ms.iter().map(run).collect()
}

#[test]
fn two_runs_are_compared_by_their_requests() {
    let comparison = Comparison::of_runs(&runs(&[100]), &runs(&[150]), &figures());
    let sides = sides(&["a.jsonl"], &["b.jsonl"]);
    assert_snapshot!(changes(&comparison, &sides), @"
    ================================== Comparison ==================================
      A: a.jsonl
      B: b.jsonl

    Metric                                     A           B    Change  Significance
    -------------------------------- ----------- ----------- ---------  -----
    Request throughput (req/s)              8.37        5.90   -29.5 %  worse
        99 % interval [-35.0, -23.1] %
    Mean E2EL (ms)                        119.50      169.50   +41.8 %  worse
        99 % interval [+40.1, +43.6] %
    Completed requests                        40          40    +0.0 %  ~
    ================================================================================
    Change: from A to B. Significance: better or worse by more than chance, with all
    figures tested at once at 1 % (Holm); ~ where chance alone would make the
    change, ? where the runs cannot tell.
    A change of 1.6 % of the mean E2EL would be seen in eight of ten such
    comparisons.
    Both sides sent the same requests, so means are compared in pairs.
    All this holds within these two runs: what differs between any two runs of the
    same server is not in it. Several runs a side tell that: servemark compare
    --before A1 A2 … --after B1 B2 …
    ");
    let tolerance: Tolerance = "e2el:mean=5%".parse().unwrap();
    let document = comparison_json(&comparison, &sides, &tolerance.judge(&comparison));
    assert_eq!((&document["judged"], &document["doubts"]), (&json!(true), &json!([])));
    assert_eq!(document["runs"], json!({"before": 1, "after": 1}));
    let mean = &document["changes"][1];
    assert_eq!((&mean["figure"], &mean["worth"]), (&json!("e2el_ms.mean"), &json!("worse")));
    assert!(mean["low_percent"].as_f64().unwrap() > 30.0);
    assert_eq!(document["changes"][2]["low_percent"], Value::Null);
    assert_eq!(document["no_worse_than"][0]["verdict"], "fails");
}

#[test]
fn several_runs_a_side_show_what_differs_between_them() {
    let comparison =
        Comparison::of_runs(&runs(&[100, 101, 99]), &runs(&[100, 101, 103]), &figures());
    let sides = sides(&["a1.jsonl", "a2.jsonl", "a3.jsonl"], &["b1.jsonl", "b2.jsonl", "b3.jsonl"]);
    assert_snapshot!(changes(&comparison, &sides), @"
    ================================== Comparison ==================================
      A: 3 runs: a1.jsonl, a2.jsonl, a3.jsonl
      B: 3 runs: b1.jsonl, b2.jsonl, b3.jsonl

    Metric                                     A           B    Change  Significance
    -------------------------------- ----------- ----------- ---------  -----
    Request throughput (req/s)              8.37        8.28    -1.1 %  ~
        99 % interval [-5.4, +3.4] %; between runs 0.0 %, within a run 1.6 %
    Mean E2EL (ms)                        119.50      120.83    +1.1 %  ~
        99 % interval [-3.3, +5.8] %; between runs 0.0 %, within a run 1.5 %
    Completed requests                        40          40    +0.0 %  ~
        between runs 0.0 %
    ================================================================================
    Change: from A to B. Significance: better or worse by more than chance, with all
    figures tested at once at 1 % (Holm); ~ where chance alone would make the
    change, ? where the runs cannot tell.
    A change of 6.0 % of the mean E2EL would be seen in eight of ten such
    comparisons.
    Runs are compared by their figures (Welch's t). Between: standard deviation
    between the runs of a side, apart from the chance within each. Within: standard
    error by the requests of one run.
    ");
}

#[test]
fn a_table_is_no_wider_than_the_terminal_and_uses_a_wide_one() {
    let comparison = Comparison::of_runs(&runs(&[100, 101]), &runs(&[100, 103]), &figures());
    let doubt = Doubt::of(ComparedSide::After, &Audit::of(&log(150))).expect("a suspect");
    let names = ["a folder of results/1.runlog.jsonl", "a folder of results/2.runlog.jsonl"];
    let sides = sides(&names, &names);
    let comparison = comparison.with_doubts([doubt]);
    for (columns, most) in [(0, 80), (80, 80), (99, 80), (114, 80), (115, 115), (300, 115)] {
        let table = changes_in(columns, &comparison, &sides);
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(most), "{columns}: {table}");
        let has_columns = table.contains("99 % interval     Between  Within  Significance\n");
        assert_eq!(has_columns, most == 115, "{columns}: {table}");
    }
    let alone = Comparison::of_runs(&runs(&[100]), &runs(&[150]), &figures());
    let table = changes_in(100, &alone, &sides);
    assert!(table.contains("41.8 %  [+40.1, +43.6]    worse\n"), "{table}");
}

#[test]
fn verdicts_on_the_runs_stand_at_the_head() {
    let comparison = Comparison::of_runs(&runs(&[100]), &runs(&[150]), &figures());
    let mut sides = sides(&["a.jsonl"], &["b.jsonl"]);
    let mut facts = RunFacts::default();
    facts.request_rate = Some(20.0);
    let records = (0..400).map(|index| {
        let stamp = |ms: usize| Stamp::from_nanos(ms as u64 * 1_000_000);
        let due = stamp(50 * index);
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 5, 1), due);
        recorder.record_sent(due);
        recorder.body(stamp(100 * index + 100), 1);
        recorder.finish(Ok(Finish::default()), stamp(100 * index + 100))
    });
    let records = records.collect();
    let log = RunLog::new(Header::new(0, facts, Value::Null), records, None);
    sides[1][0].verdicts = RunVerdict::of_log(&log);
    let rendered = changes(&comparison, &sides);
    let line = "\n  B: saturated: asked 20.0 requests/s, done 10.0/s, ";
    assert!(rendered.contains(line), "{rendered}");
    let document = comparison_json(&comparison, &sides, &[]);
    assert_eq!(document["sources"]["after"][0]["verdicts"][0]["kind"], "saturated");
    assert_eq!(document["sources"]["before"][0]["verdicts"], json!([]));
}

#[test]
fn a_run_whose_client_is_in_doubt_is_named_at_the_head_and_nothing_is_judged() {
    let doubt = Doubt::of(ComparedSide::After, &Audit::of(&log(150))).expect("a suspect");
    assert!(doubt.to_string().starts_with("the client of B was suspect: "), "{doubt}");
    let comparison = Comparison::of_runs(&runs(&[100]), &runs(&[150]), &figures());
    let comparison = comparison.with_doubts([doubt.clone().about_run(2)]);
    let sides = sides(&["a.jsonl"], &["b.jsonl"]);
    let rendered = changes(&comparison, &sides);
    let head = "(--force judges all the same).\n  the client of B, run 2, was suspect: ";
    assert!(rendered.contains("\n\nNOT JUDGED: ") && rendered.contains(head), "{rendered}");
    assert!(rendered.contains("  not judged\n") && !rendered.contains("  worse\n"), "{rendered}");
    let document = comparison_json(&comparison, &sides, &[]);
    assert_eq!(document["judged"], false);
    assert_eq!(document["doubts"][0]["side"], "after");
    let change = &document["changes"][0];
    assert_eq!((&change["worth"], &change["better"]), (&json!("unknown"), &Value::Null));
    let forced = changes(&comparison.judged_anyway(), &sides);
    assert!(forced.contains("\n\nJUDGED BY FORCE: ") && forced.contains("  worse\n"), "{forced}");
}
