//! Tables and results of older releases, compared byte for byte except for intended additions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use servemark_core::JsonObject;
use servemark_metrics::{Audit, Metrics};
use servemark_report::{
    Layout, Report, ResultDetails, SglangOptions, SglangStyle, VllmMetric, VllmResult, VllmStyle,
};

use crate::golden::Golden;
use crate::recorded::Recorded;
use crate::{report_text, vllm, vllm_golden};

/// Output of an older release for a run.
#[derive(Deserialize)]
struct Older {
    console: String,
    jsonl: String,
}

#[test]
fn tables_and_lines_of_older_sglangs_are_theirs() {
    for (release, count) in [("0.5.1", 20), ("0.5.6", 21), ("0.5.9", 21)] {
        let style = SglangStyle::from_name(release).unwrap();
        let theirs: BTreeMap<String, Older> = read("sglang", release);
        let runs = Golden::all();
        let runs = runs.iter().filter_map(|golden| Some((golden, theirs.get(&golden.name)?)));
        let compared = runs.map(|(golden, theirs)| compare(golden, theirs, style)).count();
        assert_eq!(compared, count, "a run of {release} was added or lost");
    }
}

fn compare(golden: &Golden, theirs: &Older, style: SglangStyle) {
    let name = format!("{} of {style:?}", golden.name);
    let mut options = SglangOptions::of(style);
    options.output_details = golden.flag("output_details");
    let log = golden.log();
    let mut scores = golden.exact_scores(&log);
    if style.policy().others.speculative_itl.is_none() {
        for score in &mut scores {
            score.speculative_itl_s = None;
        }
    }
    let metrics = Metrics::of_scores(&log, &style.policy(), &scores);
    let audit = Audit::of(&log);
    let report = Report::new(&log, &metrics, &audit).with_scores(&scores);
    let failed = golden.outputs.iter().filter(|output| !output.success).count();
    let added = format!("{:<40} {failed:<10}\n", "Failed requests:");
    let table = report_text(&*Layout::Sglang(options).table(), &report);
    assert_eq!(table.replace(&added, ""), theirs.console, "{name}");
    let line = theirs.jsonl.replace(": Infinity,", ": null,");
    let line = line.replace("\"accept_length\": 2,", "\"accept_length\": 2.0,");
    let line = line.replace("\"accept_length\": 2}", "\"accept_length\": 2.0}");
    assert_eq!(report_text(&*Layout::Sglang(options).document(), &report), line, "{name}");
}

/// Output of an older vLLM release for a run.
#[derive(Deserialize)]
struct OlderVllm {
    console: String,
    result: String,
}

#[test]
fn tables_and_results_of_older_vllms_are_theirs() {
    for (release, count) in [("0.10.0", 8), ("0.10.2", 9), ("0.11.0", 9), ("0.11.1", 9)] {
        let style = VllmStyle::from_name(release).unwrap();
        let theirs: BTreeMap<String, OlderVllm> = read("vllm", release);
        assert_eq!(theirs.len(), count, "a run of {release} was added or lost");
        for (name, theirs) in theirs {
            compare_vllm(&Recorded::from_name(&name).golden, &theirs, style);
        }
    }
}

fn compare_vllm(golden: &vllm_golden::Golden, theirs: &OlderVllm, style: VllmStyle) {
    let name = format!("{} of {style:?}", golden.name);
    let mut options = vllm::options(golden);
    options.style = style;
    // These releases ignore metric names that they do not know.
    let newer = [VllmMetric::ClientQueueTime, VllmMetric::E2elIncludingClientQueue];
    if let Some(metrics) = &mut options.metrics {
        metrics.retain(|one| !newer.contains(one));
    }
    let log = golden.log();
    let metrics = Metrics::score(&log, &golden.policy());
    let audit = Audit::of(&log);
    let report = Report::new(&log, &metrics, &audit);
    // Only the newest of these releases prints failures; Servemark always does.
    let tells = style >= VllmStyle::V0_11_1;
    let is_ours = |line: &&str| {
        line.starts_with("Error ")
            || line.starts_with("Failed requests") && (!tells || line.contains("during"))
    };
    let table = report_text(&*Layout::Vllm(options.clone()).table(), &report);
    let table: Vec<&str> = table.lines().filter(|line| !is_ours(line)).collect();
    assert_eq!(table, theirs.console.lines().collect::<Vec<_>>(), "{name}");
    let details = if theirs.result.contains("\"ttfts\"") {
        ResultDetails::Full
    } else {
        ResultDetails::Brief
    };
    let result = VllmResult::new(options, details, 0).object(&report);
    let theirs: JsonObject = serde_json::from_str(&theirs.result).unwrap();
    assert!(result.keys().eq(theirs.keys()), "{name}: {result:?}");
    for (key, value) in &theirs {
        // Inter-token latencies are serialized directly from the records; 0.10 cut a label at its
        // second equals sign.
        let is_cut = key == "label" && style <= VllmStyle::V0_10_2;
        let is_other = is_cut || ["date", "itls"].contains(&&**key);
        assert!(is_other || vllm::near(&result[key], value), "{name} {key}: {}", result[key]);
    }
}

fn read<T: serde::de::DeserializeOwned>(peer: &str, release: &str) -> T {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let path = fixtures.join(format!("{peer}/older/{release}.json"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}
