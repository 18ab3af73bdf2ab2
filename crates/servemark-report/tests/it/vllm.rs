//! vLLM's table and files, compared byte for byte.

use std::path::Path;

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::{
    Layout, Report, ReportFormat as _, ResultDetails, VllmOptions, VllmResult, vllm_file_name,
    vllm_pytorch_records,
};

use crate::recorded::Recorded;
use crate::report_text;
use crate::vllm_golden::Golden;

/// One hour ahead of UTC, in seconds.
const OFFSET: i32 = 3600;

#[test]
fn the_table_is_vllms() {
    let mut compared = 0;
    for Recorded { golden, left } in
        Recorded::of("metrics").into_iter().chain(Recorded::of("results"))
    {
        assert!(!golden.metrics.is_empty(), "{} is recorded by halves", golden.name);
        let ours = reported(&golden, |report| {
            report_text(&*Layout::Vllm(options(&golden)).table(), report)
        });
        // vLLM's client prints a line feed from the server as it is; Servemark keeps the text on
        // one line.
        let errors = left.errors().replace("\"quoted\"\nna", "\"quoted\"\\nna");
        assert_eq!(ours, errors + left.table(), "{}", golden.name);
        compared += 1;
    }
    assert_eq!(compared, 48, "a case was added or lost");
}

#[test]
fn the_result_is_vllms() {
    let mut compared = 0;
    for Recorded { golden, left } in Recorded::of("results") {
        let result = result(&golden);
        let ours = reported(&golden, |report| report_text(&result, report));
        let (name, text) = left.files.iter().find(|(name, _)| !is_pytorch(name)).unwrap();
        for line in text.lines() {
            assert_eq!(ours, line, "{}", golden.name);
        }
        if left.files.len() == 1 && !name.contains("own") {
            assert_eq!(vllm_file_name(&golden.log(), label(&golden), OFFSET), *name);
        }
        compared += 1;
    }
    assert_eq!(compared, 25, "a case was added or lost");
}

/// Values are compared with a tolerance, because inter-token latencies of these runs are rounded to
/// nanoseconds. Their date and texts differ.
#[test]
fn other_results_have_vllms_keys_in_their_order_and_nearly_its_numbers() {
    for Recorded { golden, left } in Recorded::of("metrics") {
        let result = result(&golden);
        let ours = reported(&golden, |report| report_text(&result, report));
        let ours: JsonObject = serde_json::from_str(&ours).unwrap();
        let file = left.file.as_ref().unwrap();
        let theirs: JsonObject = serde_json::from_str(&file.text).unwrap();
        assert!(ours.keys().eq(theirs.keys()), "{}: {ours:?}", golden.name);
        for (key, value) in &theirs {
            let is_other = ["date", "generated_texts", "rps_change_events"].contains(&&**key);
            assert!(is_other || near(&ours[key], value), "{} {key}: {}", golden.name, ours[key]);
        }
        let load = file.name.rsplit_once("-2026").unwrap().0;
        assert!(vllm_file_name(&golden.log(), label(&golden), OFFSET).starts_with(load), "{load}");
    }
}

#[test]
fn our_own_numbers_stand_behind_vllms_under_other_names() {
    for Recorded { golden, .. } in Recorded::of("results") {
        let result = result(&golden);
        let alone = reported(&golden, |report| result.object(report));
        let native = Metrics::score(&golden.log(), &MetricPolicy::native());
        let both = reported(&golden, |report| result.object(&report.with_native(&native)));
        let (vllms, ours): (Vec<_>, Vec<_>) =
            both.into_iter().partition(|(key, _)| !key.starts_with("native_"));
        assert!(alone.into_iter().eq(vllms), "{}", golden.name);
        assert!(ours.len() >= 10, "{}: {ours:?}", golden.name);
    }
}

#[test]
fn a_run_of_another_command_line_says_what_its_facts_say() {
    let golden = Recorded::from_name("brief").golden;
    let log = golden.log();
    let mut header = log.header().clone();
    header.facts.echo = JsonObject::new();
    header.facts.model_id = Some("org/a-model".to_owned());
    let records = log.records().to_vec();
    let log = servemark_core::RunLog::new(header, records, log.footer().cloned());
    let metrics = Metrics::score(&log, &golden.policy());
    let audit = Audit::of(&log);
    let ours = VllmResult::default().object(&Report::new(&log, &metrics, &audit));
    assert_eq!(ours["label"], Value::Null);
    assert_eq!((&ours["num_prompts"], &ours["request_rate"]), (&json!(12), &json!("inf")));
    assert_eq!((&ours["burstiness"], &ours["model_id"]), (&json!(1.0), &json!("org/a-model")));
    assert_eq!(vllm_file_name(&log, None, 0), "openai-infqps-a-model-20260304-040616.json");
}

#[test]
fn an_infinite_burstiness_is_written_as_python_writes_it() {
    let golden = Recorded::from_name("brief").golden;
    let log = golden.log();
    let mut header = log.header().clone();
    header.facts.echo.insert("burstiness".to_owned(), json!("inf"));
    let records = log.records().to_vec();
    let log = servemark_core::RunLog::new(header, records, log.footer().cloned());
    let metrics = Metrics::score(&log, &golden.policy());
    let audit = Audit::of(&log);
    let mut written = Vec::new();
    VllmResult::default().write(&Report::new(&log, &metrics, &audit), &mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    assert!(text.contains(r#""request_rate": "inf", "burstiness": Infinity, "#), "{text}");
    assert_eq!(servemark_pyjson::parse(&text).unwrap()["burstiness"], Value::Null);
}

#[test]
fn records_for_pytorchs_database_are_vllms() {
    let mut compared = 0;
    for Recorded { golden, left } in Recorded::of("results") {
        let Some((name, text)) = left.files.iter().find(|(name, _)| is_pytorch(name)) else {
            continue;
        };
        let result = result(&golden);
        let object = reported(&golden, |report| result.object(report));
        let theirs: Value = serde_json::from_str(text).unwrap();
        let ours = vllm_pytorch_records(&args_of(&theirs), &object);
        assert_eq!(
            servemark_pyjson::to_string(&ours, servemark_pyjson::Text::Ascii).unwrap(),
            *text
        );
        let file = left.files.keys().find(|name| !is_pytorch(name)).unwrap();
        assert_eq!(Path::new(file).with_extension("pytorch.json"), Path::new(name));
        compared += 1;
    }
    assert_eq!(compared, 2);
}

/// Returns the flags as the records repeat them, without those taken from the metadata.
fn args_of(records: &Value) -> JsonObject {
    let args = &records[0]["benchmark"]["extra_info"]["args"];
    let mut args = args.as_object().unwrap().clone();
    args.shift_remove("tensor_parallel_size");
    args
}

fn is_pytorch(name: &str) -> bool {
    name.ends_with(".pytorch.json")
}

fn label(golden: &Golden) -> Option<&str> {
    golden.args["label"].as_str()
}

pub(crate) fn options(golden: &Golden) -> VllmOptions {
    let options = VllmOptions::default().with_percentiles(golden.percentiles());
    match golden.args["percentile_metrics"].as_str() {
        Some(names) => options.with_metrics(names.split(',')),
        None => options,
    }
}

fn result(golden: &Golden) -> VllmResult {
    let is_full = golden.args["save_detailed"] == json!(true);
    let details = if is_full { ResultDetails::Full } else { ResultDetails::Brief };
    VllmResult::new(options(golden), details, OFFSET)
}

fn reported<T>(golden: &Golden, read: impl FnOnce(&Report<'_>) -> T) -> T {
    let log = golden.log();
    let metrics = Metrics::score(&log, &golden.policy());
    let audit = Audit::of(&log);
    read(&Report::new(&log, &metrics, &audit))
}

pub(crate) fn near(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(one, other)| near(one, other))
        }
        _ => match (ours.as_f64(), theirs.as_f64()) {
            // Tolerance: a nanosecond, in seconds or milliseconds, or its effect on a rate.
            (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 2e-6 + theirs.abs() * 1e-9,
            _ => ours == theirs,
        },
    }
}
