//! evalscope's tables and files, compared with those that its own code made of the same answers.

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_metrics::Distribution;
use servemark_report::{EvalscopeStyle, EvalscopeSweep};

use crate::evalscope_golden::{Golden, percentiles};

const STYLES: [(EvalscopeStyle, usize); 3] =
    [(EvalscopeStyle::Newest, 22), (EvalscopeStyle::V1_7, 20), (EvalscopeStyle::V1_0, 16)];

fn goldens() -> impl Iterator<Item = Golden> {
    STYLES.into_iter().flat_map(|(style, count)| {
        let all = Golden::all(style);
        assert_eq!(all.len(), count, "a case of {style:?} was added or lost");
        all
    })
}

#[test]
fn the_tables_of_a_run_are_evalscopes() {
    for golden in goldens() {
        for (run, left) in golden.runs().iter().zip(&golden.left.runs) {
            let [ours, theirs] = [run.tables(), left.tables.clone()].map(|tables| {
                let text = tables.join("\n");
                if golden.sorts_what_is_no_number() { without_decoding(&text) } else { text }
            });
            alike(&ours, &theirs, &golden);
        }
    }
}

#[test]
fn the_final_report_is_evalscopes() {
    for golden in goldens() {
        let (runs, subject) = (golden.runs(), golden.subject());
        let ours = EvalscopeSweep::of(&runs, &subject).summary();
        alike(&ours, &golden.left.report, &golden);
    }
}

/// The row in which 1.7 sorts NaN among the other values.
const DECODE: &str = "Decode (tok/s)";

fn without_decoding(tables: &str) -> String {
    tables.lines().filter(|line| !line.contains(DECODE)).collect::<Vec<_>>().join("\n")
}

/// Compares line by line, so that the first difference is reported.
fn alike(ours: &str, theirs: &str, golden: &Golden) {
    for (one, other) in ours.lines().zip(theirs.lines()) {
        assert_eq!(one, other, "{} {:?}", golden.name, golden.style);
    }
    assert_eq!(ours, theirs, "{} {:?}", golden.name, golden.style);
}

#[test]
fn the_files_of_a_run_are_evalscopes() {
    for golden in goldens() {
        for (run, left) in golden.runs().iter().zip(&golden.left.runs) {
            let files = run.files(&JsonObject::new());
            let (args, files) = files.split_first().unwrap();
            assert_eq!(args.0, "benchmark_args.json");
            let mut names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            assert!(names.iter().eq(left.files.keys()), "{} {names:?}", golden.name);
            for (name, text) in files {
                let ours: Value = serde_json::from_str(text).unwrap();
                let what = format!("{} {:?} {name}", golden.name, golden.style);
                same(&ours, &left.files[*name], &what);
            }
        }
    }
}

/// Compares values. Times are integer nanoseconds here and float seconds in evalscope, so that they
/// may differ in their last bits.
fn same(ours: &Value, theirs: &Value, what: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            assert!(ours.keys().eq(theirs.keys()), "{what}: {ours:?} {theirs:?}");
            let told =
                theirs.iter().filter(|(key, _)| !what.contains("mixed V1_7") || *key != DECODE);
            told.for_each(|(key, value)| same(&ours[key], value, &format!("{what} {key}")));
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{what}");
            ours.iter().zip(theirs).for_each(|(one, other)| same(one, other, what));
        }
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            // A timeline's times are rounded to microseconds, and a tie may round either way.
            let tie = if what.ends_with(" t") { 1.1e-6 } else { 0.0 };
            assert!(
                (one - other).abs() <= tie + other.abs() * 1e-12,
                "{what}: {one} is not {other}"
            );
        }
        _ => assert_eq!(ours, theirs, "{what}"),
    }
}

#[test]
fn percentiles_are_those_of_each_version() {
    for (style, _) in STYLES {
        let (percents, table) = percentiles(style);
        assert!(table.len() >= 10 && percents.len() >= 10);
        for (size, values) in table {
            let sample = (1..=size.parse().unwrap()).map(|value: u32| f64::from(value));
            let ours = Distribution::by_rule(sample, style.policy().percentile_rule, &percents);
            let ours: Vec<f64> = ours.percentiles.into_iter().map(|(_, value)| value).collect();
            assert_eq!(ours, values, "{style:?} of {size}");
        }
    }
}

#[test]
fn the_folder_of_a_run_says_its_load() {
    for golden in Golden::all(EvalscopeStyle::Newest) {
        for (run, left) in golden.runs().iter().zip(&golden.left.runs) {
            // evalscope's command line parses rates as floats.
            let theirs = left.folder.replace("rate_10_", "rate_10.0_");
            assert_eq!(run.folder(), theirs, "{}", golden.name);
        }
    }
}

/// Lines that users have published of these versions.
#[test]
fn published_lines_are_drawn_alike() {
    let [plain, bundled] =
        ["plain", "bundled"].map(|name| Golden::from_name(EvalscopeStyle::V1_7, name));
    let tables = plain.runs()[0].tables();
    assert!(tables[0].contains("\n│ Total / Success / Failed  │ 20 / 20 / 0 │\n"), "{}", tables[0]);
    assert!(tables[0].contains("\n│ Request Rate (req/s)      │       -1.00 │\n"));
    assert!(tables[1].contains("\n│ TTFT (ms)      │"), "{}", tables[1]);
    let tables = bundled.runs()[0].tables();
    assert!(
        tables[0].contains("\n│ ── Speculative Decoding ── │             │\n"),
        "{}",
        tables[0]
    );
}

/// Of twenty requests, every row of per-request values has its p95 equal to its p99, and its p90
/// below.
#[test]
fn of_twenty_requests_the_seventh_version_reads_p95_at_the_largest() {
    let plain = Golden::from_name(EvalscopeStyle::V1_7, "plain");
    let files = plain.runs()[0].files(&JsonObject::new());
    let (_, text) = files.iter().find(|(name, _)| *name == "benchmark_percentile.json").unwrap();
    let rows: Vec<JsonObject> = serde_json::from_str(text).unwrap();
    let of = |label: &str| rows.iter().find(|row| row["Percentiles"] == *label).unwrap();
    for key in ["Latency (s)", "TPOT (ms)", "Input tokens", "Output (tok/s)", "Total (tok/s)"] {
        assert_eq!(of("95%")[key], of("99%")[key], "{key}");
        assert!(of("90%")[key].as_f64() < of("95%")[key].as_f64(), "{key}");
    }
}

/// The summary and the workload table divide one number of tokens by two durations, in evalscope's
/// own files, too.
#[test]
fn the_two_output_rates_of_a_run_are_of_the_same_tokens() {
    let mut noticed = Vec::new();
    for golden in Golden::all(EvalscopeStyle::Newest) {
        for (run, left) in golden.runs().iter().zip(&golden.left.runs) {
            let Some(rates) = run.output_rates() else { continue };
            let theirs = |name: &str, key: &str| left.files[name][key].as_f64().unwrap();
            let summary = |key| theirs("benchmark_summary.json", key);
            let of_summary = summary("Output Throughput (tok/s)") * summary("Test Duration (s)");
            let wall_s = theirs("workload_throughput.json", "wall_time_s");
            let of_workload = rates.workload_per_s * wall_s;
            assert!((of_summary / of_workload - 1.0).abs() < 1e-3, "{} {rates}", golden.name);
            assert!((rates.workload_s - wall_s).abs() < 1e-4, "{} {rates}", golden.name);
            noticed.extend(rates.differ().then(|| rates.to_string()));
        }
    }
    let [told] = &noticed[..] else { panic!("{noticed:?}") };
    assert!(told.contains("124.23 tok/s in the summary, over the 0.700 s from"), "{told}");
    assert!(told.contains("125.21 tok/s in the workload table, over the 0.695 s since"), "{told}");
}
