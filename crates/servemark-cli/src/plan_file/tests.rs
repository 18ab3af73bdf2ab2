use std::ffi::OsString;

use serde_json::json;

use super::*;
use crate::commands::dispatch;
use crate::environment::Environment;
use crate::invocation::Invocation;

/// Returns the plan of a command line.
fn plan(line: &str) -> BenchPlan {
    let args = line.split_whitespace().map(OsString::from);
    match dispatch::parse(args, &Environment::default()).unwrap() {
        Invocation::Bench(parsed) => parsed.plan,
        other => panic!("{other:?}"),
    }
}

/// Returns the plan that a file holds.
#[track_caller]
fn read_back(text: &str, name: &str) -> BenchPlan {
    let environment = Environment::default().with_file(name, text);
    let document =
        read(Path::new(name), &environment).unwrap_or_else(|why| panic!("{why}: {text}"));
    plan_of(&document).unwrap_or_else(|faults| panic!("{faults:?}: {text}"))
}

#[test]
fn each_peers_command_survives_each_language() {
    for line in [
        "bench-serving --base-url http://h:1 --model m --tokenizer t",
        "bench-serving --simulate ttft=5ms --request-rate 3 --goodput ttft:100 --slo ttft:p90<1s",
        "python -m sglang.bench_serving --backend vllm-chat --dataset-name random --num-prompts 3",
        "vllm bench serve --model m --dataset-name random --request-rate 3 --ignore-eos",
        "vllm bench serve --model m --dataset-name sharegpt --dataset-path x --save-result",
        "bench-serving --extra-request-body {\"stop\":[\"a\\tb\",\"é\"],\"x\":{\"Y\":1.5}} --seed 7",
    ] {
        let plan = plan(line);
        for (format, name) in [
            (PlanFormat::Toml, "a.toml"),
            (PlanFormat::Yaml, "a.yaml"),
            (PlanFormat::Json, "a.json"),
        ] {
            let text = format.write(&plan).unwrap();
            assert_eq!(read_back(&text, name), plan, "{line}: {text}");
        }
    }
}

#[test]
fn what_toml_cannot_hold_is_refused() {
    let mut plan = plan("bench-serving --extra-request-body {\"stop\":null}");
    assert!(PlanFormat::Toml.write(&plan).unwrap_err().contains("use --as yaml"));
    assert_eq!(read_back(&PlanFormat::Yaml.write(&plan).unwrap(), "a.yml"), plan);
    plan.wire.common_mut().extra_body.clear();
    PlanFormat::Toml.write(&plan).unwrap();
}

#[test]
fn faults_are_told_with_the_nearest_key() {
    let faults = plan_of(&json!({
        "server": {"at": {"base_url": "http://h:1"}},
        "backend": "vllm",
        "workload": {"dataset": {"dataset": "sharegpt"}, "reqests": 3},
        "load": {"max_concurency": 3},
    }))
    .unwrap_err()
    .faults;
    assert_eq!(
        faults,
        [
            "workload.reqests: there is no such key; did you mean requests?",
            "load.max_concurency: there is no such key; did you mean max_concurrency?",
        ]
    );
}

#[test]
fn settings_change_a_document() {
    let mut document = json!({"load": {"lasts": 3}, "list": [1, 2]});
    for (given, path, value) in [
        ("load.lasts=5", "/load/lasts", json!(5)),
        ("model.name=org/m", "/model/name", json!("org/m")),
        ("list.1=\"7\"", "/list/1", json!("7")),
        ("server.at.base_url=http://h:1/?a=b", "/server/at/base_url", json!("http://h:1/?a=b")),
    ] {
        given.parse::<Setting>().unwrap().apply(&mut document).unwrap();
        assert_eq!(document.pointer(path), Some(&value), "{given}");
    }
    for wrong in ["load", "=3", "load.=3"] {
        assert!(wrong.parse::<Setting>().is_err(), "{wrong}");
    }
    for wrong in ["list.2=3", "load.lasts.x=1"] {
        let refused = wrong.parse::<Setting>().unwrap().apply(&mut document).unwrap_err();
        assert!(refused.starts_with("--set "), "{refused}");
    }
}

#[test]
fn a_file_that_is_no_plan_is_told() {
    for (name, text, message) in [
        ("a.txt", "", "name it .toml, .yaml or .json"),
        ("a.toml", "a = 1\nb = ", "is not TOML: line 2"),
        ("a.yaml", "a: [1", "is not YAML"),
        ("a.json", "{", "is not JSON"),
        ("a.yaml", "- 1", "holds no keys"),
        ("a.toml", "a = 1979-05-27", "no key takes a date"),
    ] {
        let environment = Environment::default().with_file(name, text);
        let refused = read(Path::new(name), &environment).unwrap_err();
        assert!(refused.contains(message), "{refused}");
    }
    let refused = read(Path::new("b.toml"), &Environment::default()).unwrap_err();
    assert!(refused.contains("cannot be read"), "{refused}");
}

#[test]
fn a_language_is_told_from_a_table_and_from_a_flag_of_vllm() {
    let format = |line: &str| {
        let args = line.split_whitespace().map(OsString::from);
        match dispatch::parse(args, &Environment::default()).unwrap() {
            Invocation::Bench(parsed) => parsed.plan_only,
            other => panic!("{other:?}"),
        }
    };
    let vllm = "vllm bench serve --model m --dataset-name random";
    assert_eq!(format(&format!("{vllm} --plan-only --as yaml")), Some(PlanFormat::Yaml));
    assert_eq!(format(&format!("{vllm} --as=toml --plan-only")), Some(PlanFormat::Toml));
    assert_eq!(format("bench-serving --plan-only"), Some(PlanFormat::Json));
    assert_eq!(format("bench-serving --plan-only --plan-format toml"), Some(PlanFormat::Toml));
    let table = ["rerun", "a", "--as", "toml"].map(OsString::from).to_vec();
    assert_eq!(with_plan_format(table.clone()), table);
}
