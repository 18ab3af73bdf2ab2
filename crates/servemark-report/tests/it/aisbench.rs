//! AISBench's tables and files, compared byte for byte.

use serde_json::{Value, json};
use servemark_core::{DataPart, RequestRecord, RunFacts};
use servemark_metrics::{Audit, Metrics};
use servemark_report::{
    AisbenchCsv, AisbenchDetails, AisbenchFailed, AisbenchFailures, AisbenchInputs, AisbenchJson,
    AisbenchOptions, AisbenchPart, AisbenchRps, AisbenchTable, AisbenchTimeline, PrefillRow,
    RateTarget, Report, ReportFormat,
};

use crate::aisbench_golden::{Golden, GoldenOutput};
use crate::report_text;

#[test]
fn the_tables_and_files_are_aisbenchs() {
    let mut compared = 0;
    for golden in Golden::all() {
        let GoldenOutput::Tables { console, csv, json } = &golden.left else { continue };
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
fn a_run_without_a_limit_of_its_own_has_that_of_its_model() {
    let golden = Golden::all().into_iter().find(|golden| golden.name == "plain_10").unwrap();
    let mut options = options(&golden);
    options.batch_size = Some(7);
    let (facts, limit) = (RunFacts::default(), golden.log().header().facts.max_concurrency);
    assert_eq!(options.limit(&facts), Some(7));
    assert_eq!(options.limit(&golden.log().header().facts), limit);
    assert_ne!(limit, Some(7));
}

#[test]
fn where_there_is_no_table_the_reason_is_aisbenchs() {
    let mut compared = 0;
    for golden in Golden::all() {
        let GoldenOutput::Nothing { error } = &golden.left else { continue };
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

#[test]
fn pages_need_nothing_but_themselves() {
    let pages: [&dyn ReportFormat; 2] =
        [&AisbenchTimeline, &AisbenchRps::new(Some(RateTarget::Constant(6.0)))];
    let golden = Golden::all().into_iter().find(|golden| golden.name == "plain_300").unwrap();
    for format in pages {
        let page = scored(&golden, format);
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(!page.contains("src=") && !page.contains("href="), "it loads something");
    }
}

#[test]
fn a_timeline_has_every_life_and_the_steps_of_all() {
    let golden = Golden::all().into_iter().find(|golden| golden.name == "one_token").unwrap();
    let page = scored(&golden, &AisbenchTimeline);
    let data = page.split_once("const data = ").unwrap().1.split_once(";\n").unwrap().0;
    let expected = concat!(
        r#"{"lives":[[0,150000,150000,1],[100000,250007,250007,2],[200000,350014,350014,3],"#,
        r#"[300000,450021,450021,4]],"steps":[[0,1],[100000,2],[150000,1],[200000,2],[250007,1],"#,
        r#"[300000,2],[350014,1],[450021,0]],"last":450021}"#
    );
    assert_eq!(data, expected);
    let whole = Golden::all().into_iter().find(|golden| golden.name == "whole").unwrap();
    assert!(scored(&whole, &AisbenchTimeline).contains(r#"{"lives":[],"steps":[[0,1],"#));
}

#[test]
fn details_have_the_time_points_of_every_request() {
    let goldens = Golden::all();
    let [pictures, failed] = ["pictures", "all_failed"]
        .map(|name| goldens.iter().find(|golden| golden.name == name).unwrap());
    let lines = scored(pictures, &AisbenchDetails::of(&part(pictures), AisbenchInputs::UNKNOWN));
    assert_eq!(
        lines.lines().next().unwrap(),
        r#"{"data_abbr": "synthetic", "id": 0, "success": true, "error_info": "", "time_points": [1.0, 1.2, 1.231234567, 1.26111111], "input_tokens": 0, "output_tokens": 3, "extra_perf_data": {}, "extra_details_data": {}, "input": null, "uuid": "0", "turn_id": 0, "prediction": "xx"}"#
    );
    assert_eq!(lines.lines().count(), 3);
    let failures = |golden: &Golden| {
        scored(golden, &AisbenchFailed::of(&part(golden), AisbenchInputs::UNKNOWN))
    };
    assert_eq!(failures(pictures), "");
    let lines = failures(failed);
    assert_eq!(
        lines.lines().last().unwrap(),
        r#"{"data_abbr": "synthetic", "id": 1, "input": null, "error_info": "Bad Request"}"#
    );
}

#[test]
fn details_have_what_was_asked_where_it_is_known() {
    let golden = Golden::all().into_iter().find(|golden| golden.name == "pictures").unwrap();
    let asked = |body: &'static str| {
        let body = |_: &RequestRecord| Some(body.as_bytes().to_vec());
        let inputs = AisbenchInputs::in_bodies(&body);
        let lines = scored(&golden, &AisbenchDetails::of(&part(&golden), inputs));
        let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        first["input"].clone()
    };
    let messages = json!([{"role": "user", "content": "é"}]);
    let chat = r#"{"stream": true, "messages": [{"role": "user", "content": "é"}], "model": "m"}"#;
    assert_eq!(asked(chat), messages);
    assert_eq!(asked(r#"{"prompt": "a", "model": "m"}"#), "a");
    assert_eq!(asked(r#"{"inputs": "b", "parameters": {"inputs": 1}}"#), "b");
    assert_eq!(asked(r#"{"id": "x", "text_input": "c"}"#), "c");
}

#[test]
fn each_data_set_of_a_run_has_details_of_its_own() {
    let golden = Golden::all().into_iter().find(|golden| golden.name == "pictures").unwrap();
    let mut facts = golden.log().header().facts.clone();
    facts.parts = vec![DataPart::new("one", 1), DataPart::new("others", 2)];
    let ids = |part: &AisbenchPart| {
        let lines = scored(&golden, &AisbenchDetails::of(part, AisbenchInputs::UNKNOWN));
        let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.map(|entry| (entry["data_abbr"].clone(), entry["id"].clone())).collect::<Vec<_>>()
    };
    let parts = AisbenchPart::all(&options(&golden), &facts);
    let told: Vec<_> = parts.iter().flat_map(ids).collect();
    let expected = [("one", 0), ("others", 0), ("others", 1)];
    assert_eq!(told, expected.map(|(name, id)| (json!(name), json!(id))));
}

fn part(golden: &Golden) -> AisbenchPart {
    AisbenchPart::all(&options(golden), &RunFacts::default()).remove(0)
}

fn options(golden: &Golden) -> AisbenchOptions {
    let prefill = if golden.has_one_prefill() { PrefillRow::OfRun } else { PrefillRow::OfRequests };
    AisbenchOptions::new("vllm-api-stream-chat", "synthetic")
        .with_statistics(golden.statistics())
        .with_stage(golden.stage())
        .with_prefill(prefill)
}

/// Returns the lines of both tables.
fn tables(text: &str) -> String {
    let is_box = |line: &&str| line.starts_with(['╒', '│', '╞', '├', '╘']);
    text.lines().filter(is_box).collect::<Vec<_>>().join("\n")
}

fn scored(golden: &Golden, format: &dyn ReportFormat) -> String {
    let log = golden.log();
    let metrics = Metrics::score(&log, &golden.policy());
    report_text(format, &Report::new(&log, &metrics, &Audit::of(&log)))
}
