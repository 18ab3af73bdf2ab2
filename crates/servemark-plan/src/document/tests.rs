use serde_json::json;
use servemark_datasets::{
    AisbenchCustomSpec, AisbenchData, AisbenchSpec, DatasetSpec, EvalscopeData,
    EvalscopePromptSpec, EvalscopeSpec, VllmData, VllmShareGptSpec, VllmSpec,
};

use super::*;
use crate::PlanError;

/// Returns the shortest document of a plan.
fn shortest() -> Value {
    json!({
        "server": {"at": {"base_url": "http://h:1"}},
        "backend": "sglang-oai-chat",
        "workload": {"dataset": {"dataset": "sharegpt"}},
    })
}

/// Checks that a document has one fault, an unknown key at `path`, and that `known` is among the
/// keys that are known there.
#[track_caller]
fn check_unknown(document: &Value, path: &str, known: &str) {
    let faults = BenchPlan::from_document(document).unwrap_err().faults;
    let [DocumentFault::UnknownKey { path: actual, known: names }] = faults.as_slice() else {
        panic!("{faults:?}")
    };
    assert_eq!(actual, path);
    assert!(names.iter().any(|name| name == known), "{names:?}");
}

#[test]
fn sections_may_be_left_out() {
    let plan = BenchPlan::from_document(&shortest()).unwrap();
    assert_eq!(plan.wire.route().path(), "/v1/chat/completions");
    assert_eq!((plan.workload.requests, plan.workload.seed), (1000, 42));
    assert_eq!(plan.load, servemark_runner::LoadSpec::default());
    let mut with_model = shortest();
    with_model["model"] = json!({"name": "m"});
    with_model["wire"] = json!({"stream": false});
    let plan = BenchPlan::from_document(&with_model).unwrap();
    let common = plan.wire.common();
    assert_eq!((common.model.as_str(), common.stream, common.ignore_eos), ("m", false, true));
}

#[test]
fn a_whole_plan_is_its_own_document() {
    let plan = BenchPlan::from_document(&shortest()).unwrap();
    assert_eq!(BenchPlan::from_document(&plan.to_json()).unwrap(), plan);
}

#[test]
fn unknown_keys_are_told_wherever_they_are() {
    let with = |section: &str, value: Value| {
        let mut document = shortest();
        document[section] = value;
        document
    };
    check_unknown(&with("laod", json!({})), "laod", "load");
    // `LoadSpec` and the data sets ignore unknown keys, and `OutputSpec` refuses them.
    check_unknown(
        &with("load", json!({"max_concurency": 3})),
        "load.max_concurency",
        "max_concurrency",
    );
    check_unknown(&with("output", json!({"run_logg": "x"})), "output.run_logg", "run_log");
    check_unknown(&with("wire", json!({"streem": true})), "wire.streem", "stream");
    let dataset = json!({"dataset": {"dataset": "sharegpt", "shaping": {"context": 1}}});
    check_unknown(&with("workload", dataset), "workload.dataset.shaping.context", "context_tokens");
    check_unknown(
        &with("server", json!({"at": {"base_url": "http://h:1", "timeout": {}}})),
        "server.at.timeout",
        "timeouts",
    );
}

/// Returns the document of a plan whose data set of AISBench is followed by another one.
fn followed(follower: &Value) -> Value {
    let first = json!({
        "dataset": "aisbench", "kind": "custom", "path": "a.jsonl", "template": {"text": "{q}"},
        "messages": true, "output_tokens": 8, "repeats": 1, "followed_by": [["more", follower]],
    });
    let mut document = shortest();
    document["workload"] = json!({"dataset": first});
    document
}

#[test]
fn a_data_set_that_follows_another_is_read_and_refused_like_any_other() {
    let source = AisbenchData::Custom(AisbenchCustomSpec::default());
    let data = json!(AisbenchSpec::new(source, 8));
    let plan = BenchPlan::from_document(&followed(&data)).unwrap();
    assert_eq!(BenchPlan::from_document(&plan.to_json()).unwrap(), plan);
    let with = |key: &str, value: Value| {
        let mut data = data.clone();
        data[key] = value;
        followed(&data)
    };
    let place = "workload.dataset.followed_by[0][1]";
    check_unknown(&with("repets", json!(2)), &format!("{place}.repets"), "repeats");
    let faults = BenchPlan::from_document(&with("repeats", json!("x"))).unwrap_err().faults;
    let [DocumentFault::Value { path, .. }] = faults.as_slice() else { panic!("{faults:?}") };
    assert_eq!(path, &format!("{place}.repeats"));
    let nested = BenchPlan::from_document(&with("followed_by", json!([["x", data]]))).unwrap();
    assert_eq!(nested.check(), Err(PlanError::NestedFollowers));
}

#[test]
fn all_unknown_keys_are_told_together() {
    let mut document = shortest();
    document["load"] = json!({"concurrency": 3, "lsats": {"deep": 1}});
    document["output"] = json!({"run_logg": "x"});
    let faults = BenchPlan::from_document(&document).unwrap_err().faults;
    let paths: Vec<&str> = faults
        .iter()
        .map(|fault| match fault {
            DocumentFault::UnknownKey { path, .. } => path.as_str(),
            DocumentFault::Value { reason, .. } => panic!("{reason}"),
        })
        .collect();
    assert_eq!(paths, ["output.run_logg", "load.concurrency", "load.lsats"]);
}

fn paths(faults: &[DocumentFault]) -> Vec<&str> {
    let paths = faults.iter().map(|fault| match fault {
        DocumentFault::UnknownKey { path, .. } | DocumentFault::Value { path, .. } => path.as_str(),
    });
    paths.collect()
}

#[test]
fn all_wrong_values_are_told_together() {
    let mut document = shortest();
    document["load"] = json!({"max_concurrency": "many", "lasts": [], "lsats": 1});
    document["workload"]["requests"] = json!("all");
    let FaultyDocument { faults, rest } = BenchPlan::from_document(&document).unwrap_err();
    let mut paths = paths(&faults);
    paths.sort_unstable();
    assert_eq!(paths, ["load.lasts", "load.lsats", "load.max_concurrency", "workload.requests"]);
    assert_eq!(rest.as_deref(), BenchPlan::from_document(&shortest()).as_ref().ok());
}

#[test]
fn what_a_wrong_value_leaves_missing_is_no_fault_of_its_own() {
    let mut document = shortest();
    document["server"]["at"]["base_url"] = json!(7);
    let FaultyDocument { faults, rest } = BenchPlan::from_document(&document).unwrap_err();
    let [DocumentFault::Value { path, .. }] = faults.as_slice() else { panic!("{faults:?}") };
    assert_eq!((path.as_str(), rest), ("server.at.base_url", None));
    // What may be left out is, so that the rest is known.
    let mut document = shortest();
    document["scoring"] = json!({"slo": {"objectives": ["none"]}});
    let FaultyDocument { faults, rest } = BenchPlan::from_document(&document).unwrap_err();
    assert_eq!(paths(&faults), ["scoring.slo.objectives"]);
    assert_eq!(rest.as_deref(), BenchPlan::from_document(&shortest()).as_ref().ok());
    document["scoring"] = json!({"slos": [{"metric": 3, "limit_ms": 5.0}]});
    let faults = BenchPlan::from_document(&document).unwrap_err().faults;
    assert_eq!(paths(&faults), ["scoring.slos[0].metric"]);
}

#[test]
fn keys_with_default_values_are_known() {
    let mut document = shortest();
    document["load"] = json!({"precise_send": false, "max_concurrency": null, "lasts": null});
    document["echo"] = json!({"anything": 1});
    BenchPlan::from_document(&document).unwrap();
}

#[test]
fn a_wrong_value_is_told_with_its_path() {
    for (section, value, place) in [
        ("load", json!({"max_concurrency": "many", "in_waves": true}), "load.max_concurrency"),
        ("load", json!({"arrivals": {"process": "poisson"}}), "load.arrivals"),
        ("workload", json!({"requests": 3}), "workload"),
        ("server", json!({"at": {"base_url": "h h"}}), "server.at.base_url"),
    ] {
        let mut document = shortest();
        document[section] = value;
        let faults = BenchPlan::from_document(&document).unwrap_err().faults;
        let [DocumentFault::Value { path, .. }] = faults.as_slice() else { panic!("{faults:?}") };
        assert_eq!(path, place, "{faults:?}");
    }
}

#[test]
fn a_missing_section_is_missing_in_the_whole_document() {
    let mut document = shortest();
    document.as_object_mut().unwrap().shift_remove("workload");
    document["scoring"] = json!({"tolerated_failures": 0.5});
    let faults = BenchPlan::from_document(&document).unwrap_err().faults;
    let reason = "missing field `workload`".to_owned();
    assert_eq!(faults, [DocumentFault::Value { path: String::new(), reason }]);
}

#[test]
fn the_schema_has_the_keys_of_the_types() {
    let schema = plan_schema();
    let load = &schema["properties"]["load"]["properties"];
    assert_eq!(load["precise_send"]["type"], "boolean");
    assert_eq!(load["max_concurrency"]["type"], json!(["integer", "null"]));
    let datasets = &schema["properties"]["workload"]["properties"]["dataset"]["oneOf"];
    let sharegpt = datasets
        .as_array()
        .unwrap()
        .iter()
        .find(|dataset| dataset["properties"]["dataset"]["const"] == "sharegpt");
    let shaping = &sharegpt.unwrap()["properties"]["shaping"]["properties"];
    assert!(shaping.get("context_tokens").is_some(), "{shaping}");
}

/// Returns the schema of the alternative that a tag selects.
fn alternative<'a>(of: &'a Value, tag: &str, name: &str) -> &'a Value {
    let mut all = of["oneOf"].as_array().unwrap().iter();
    all.find(|schema| schema["properties"][tag]["const"] == name).unwrap()
}

#[test]
fn the_schema_describes_each_arrival_process() {
    let schema = plan_schema();
    let arrivals = &schema["properties"]["load"]["properties"]["arrivals"];
    for (process, keys) in [
        ("burst", &[][..]),
        ("gamma", &["requests_per_second", "burstiness"]),
        ("poisson", &["requests_per_second"]),
        ("ramp", &["ramp", "burstiness"]),
        ("timetable", &[]),
        ("trace", &["slowdown"]),
    ] {
        let fields = alternative(arrivals, "process", process)["properties"].as_object().unwrap();
        let all: Vec<&str> = fields.keys().map(String::as_str).collect();
        assert_eq!(all, [&["process"], keys].concat(), "{process}");
    }
    assert_eq!(arrivals["oneOf"].as_array().unwrap().len(), 6, "a process has no keys here");
}

#[test]
fn a_batch_takes_its_prompts_from_any_data_set() {
    let schema = plan_schema();
    let datasets = &schema["properties"]["workload"]["properties"]["dataset"];
    let batch = &alternative(datasets, "dataset", "batch")["properties"];
    let place = batch["source"]["oneOf"][0]["properties"]["dataset"]["$ref"].as_str().unwrap();
    assert_eq!(schema.pointer(place.strip_prefix('#').unwrap()), Some(datasets));
    assert!(batch["lengths"]["oneOf"].is_array(), "{batch}");
    assert!(alternative(datasets, "dataset", "provided")["properties"]["name"].is_object());
}

#[test]
fn every_kind_of_a_peers_data_sets_is_described() {
    let schema = plan_schema();
    let datasets = &schema["properties"]["workload"]["properties"]["dataset"];
    for (peer, kinds) in [("vllm", 13), ("evalscope", 16), ("aisbench", 6)] {
        let schema = alternative(datasets, "dataset", peer);
        let all = schema["oneOf"].as_array().unwrap();
        assert_eq!(all.len(), kinds, "{peer}");
        for kind in all {
            let fields = kind["properties"].as_object().unwrap();
            assert!(fields.len() > 1, "{peer}: {kind}");
        }
    }
}

#[test]
fn the_fields_that_a_peers_data_sets_share_are_those_of_the_types() {
    let schema = plan_schema();
    let datasets = &schema["properties"]["workload"]["properties"]["dataset"];
    let vllm = VllmSpec::new(VllmData::Sharegpt(VllmShareGptSpec::default()));
    let evalscope = EvalscopeSpec::new(EvalscopeData::Prompt(EvalscopePromptSpec::new("Hi")));
    for spec in [DatasetSpec::Vllm(vllm), DatasetSpec::Evalscope(evalscope)] {
        let document = serde_json::to_value(&spec).unwrap();
        let peer = document["dataset"].as_str().unwrap();
        let schema = alternative(datasets, "dataset", peer);
        let kind = alternative(schema, "kind", document["kind"].as_str().unwrap());
        for key in document.as_object().unwrap().keys() {
            let is_known = [schema, kind].iter().any(|of| of["properties"].get(key).is_some());
            assert!(is_known, "{peer}: {key}");
        }
    }
}
