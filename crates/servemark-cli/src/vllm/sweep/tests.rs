use serde_json::{Value, json};
use servemark_core::JsonObject;

use super::args::{ParetoArgs, PlotArgs, ServeArgs, StartupArgs, WorkloadArgs};
use super::*;
use crate::mirror::{mirrors, recorded};

/// Returns the recorded flags of a sweep, each under its long name.
fn flags(kind: &str) -> Vec<Value> {
    let mut flags =
        recorded("vllm", "flags.json")[format!("sweep {kind}")].as_array().unwrap().clone();
    for flag in &mut flags {
        if let Some(long) = flag["aliases"].get(0).cloned() {
            flag["name"] = long;
            flag["aliases"] = json!([]);
        }
    }
    flags
}

#[test]
fn every_flag_is_the_peers() {
    mirrors::<ServeArgs>(flags("serve"));
    mirrors::<WorkloadArgs>(flags("serve_workload"));
    mirrors::<StartupArgs>(flags("startup"));
    mirrors::<PlotArgs>(flags("plot"));
    mirrors::<ParetoArgs>(flags("plot_pareto"));
}

fn golden(part: &str) -> Vec<Value> {
    recorded("vllm", "sweeps.json")[part].as_array().unwrap().clone()
}

fn combination(record: &Value) -> Combination {
    combinations(&json!([record]).to_string()).unwrap().remove(0)
}

#[test]
fn commands_are_changed_as_the_peer_changes_them() {
    let lines: Vec<Vec<String>> = golden("commands")
        .iter()
        .map(|line| shell::split(line.as_str().unwrap()).unwrap())
        .collect();
    for case in golden("items") {
        let combination = combination(&case["item"]);
        assert_eq!(combination.name(), case["name"].as_str().unwrap());
        assert_eq!(combination.text(", "), case["text"].as_str().unwrap());
        assert_eq!(combination.python_text(), case["shown"].as_str().unwrap());
        let has: Vec<&str> = ["request_rate", "max_concurrency"]
            .into_iter()
            .filter(|key| combination.has(key))
            .collect();
        assert_eq!(json!(has), case["has"], "{case}");
        let commands: Vec<_> = lines.iter().map(|line| combination.apply(line)).collect();
        assert_eq!(json!(commands), case["commands"], "{case}");
    }
}

#[test]
fn lines_are_taken_apart_as_shlex_does() {
    for case in golden("lines") {
        match shell::split(case["line"].as_str().unwrap()) {
            Ok(words) => assert_eq!(json!(words), case["is"]),
            Err(why) => assert_eq!(why, case["words"].as_str().unwrap()),
        }
    }
}

#[test]
fn files_hold_a_list_or_an_object() {
    for case in golden("files") {
        match combinations(&case["file"].to_string()) {
            Ok(all) => {
                let all: Vec<&JsonObject> = all.iter().map(Combination::parameters).collect();
                assert_eq!(json!(all), case["is"]);
            }
            Err(error) => assert!(case["error"].is_string(), "{case}: {error}"),
        }
    }
}

#[test]
fn folders_are_named_as_the_peer_names_them() {
    for case in golden("paths") {
        let (serve, bench) = (combination(&case["serve"]), combination(&case["bench"]));
        let is_named = |second: &str, level, expected: &Value| {
            let name = folder_name(&[("SERVE", &serve), (second, &bench)], level);
            let path = PathBuf::from("results/x").join(name);
            assert_eq!(path, PathBuf::from(expected.as_str().unwrap()), "{case}");
        };
        is_named("BENCH", None, &case["plain"]);
        is_named("BENCH", Some(("request_rate", 3)), &case["workload"]);
        is_named("STARTUP", None, &case["startup"]);
    }
}

#[test]
fn levels_are_the_peers() {
    for case in golden("levels") {
        let number = |key: &str| case[key].as_i64().unwrap();
        let levels = usize::try_from(number("iters")).unwrap();
        let workload = Workload { variable: WorkloadVariable::RequestRate, levels };
        assert_eq!(json!(workload.between(number("from"), number("to"))), case["levels"], "{case}");
    }
}

#[test]
fn a_result_goes_where_the_sweep_says() {
    let lines = [
        "vllm bench startup",
        "x --output-json a --b",
        "x --output_json=a --output-json",
        "x --output-jsonl a",
    ];
    for (line, expected) in lines.into_iter().zip(golden("stripped")) {
        assert_eq!(json!(with_output(&shell::split(line).unwrap(), "d/run=0.json")), expected);
    }
}

fn parsed(line: &str) -> Result<SweepCommand, String> {
    let args = shell::split(line).unwrap().into_iter().map(Into::into);
    parse(args, &Environment::default()).map_err(|error| error.to_string())
}

fn serve(line: &str) -> ServeSweep {
    match parsed(line) {
        Ok(SweepCommand::Serve(sweep)) => sweep,
        other => panic!("{other:?}"),
    }
}

#[test]
fn links_are_read_as_the_peer_reads_them() {
    for case in golden("links") {
        let links = case["links"].as_str().unwrap();
        match parsed(&format!("serve --serve-cmd a --bench-cmd b --link-vars '{links}'")) {
            Ok(SweepCommand::Serve(sweep)) => assert_eq!(json!(sweep.links), case["is"]),
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(case["error"].is_string(), "{case}: {error}"),
        }
    }
}

#[test]
fn linked_parameters_are_there_and_equal() {
    let link = ("a".to_owned(), "b".to_owned());
    let is_linked =
        |here: Value, there: Value| combination(&here).is_linked(&combination(&there), &link);
    assert!(is_linked(json!({"a": 1}), json!({"b": 1.0})));
    assert!(!is_linked(json!({"a": 1}), json!({"b": 2})));
    assert!(!is_linked(json!({"a": 1}), json!({})));
    assert!(!is_linked(json!({}), json!({})));
}

#[test]
fn short_names_and_abbreviations_are_the_peers() {
    let sweep = serve(
        "serve --serve_cmd 'vllm serve m' --bench-c 'vllm bench serve' -oa -e=b --num_runs=1",
    );
    assert_eq!(sweep.experiment.folder, PathBuf::from("a/b"));
    assert_eq!((sweep.serve.len(), sweep.experiment.runs), (3, 1));
    let sweep = serve(
        "serve_workload --serve-cmd a --bench-cmd b -o x -e y --workload-var max_concurrency",
    );
    let workload = Workload { variable: WorkloadVariable::MaxConcurrency, levels: 10 };
    assert_eq!((sweep.workload, sweep.experiment.folder), (Some(workload), PathBuf::from("x/y")));
}

#[track_caller]
fn refuses(line: &str, message: &str) {
    let error = parsed(line).unwrap_err();
    assert!(error.contains(message), "{error}");
}

#[test]
fn what_cannot_be_is_refused() {
    refuses("serve", "the following arguments are required: --serve-cmd, --bench-cmd");
    refuses(
        "serve --serve-cmd a --bench-cmd \"'\"",
        "--bench-cmd is no command: No closing quotation",
    );
    refuses("serve --serve-cmd a --bench-cmd b --num-runs 0", "`num_runs` should be at least 1.");
    refuses("serve --serve-cmd a --bench-cmd b --warmup-num-prompts -1", "`warmup_num_prompts`");
    refuses("serve --serve-cmd a --bench-cmd b c", "unrecognized arguments: c");
    refuses("serve_workload --serve-cmd a --bench-cmd b --workload-iters 1", "at least 2");
    refuses("serve_workload --workload-var x", "invalid choice: 'x'");
    refuses("plot", "the following arguments are required: EXPERIMENT_DIR");
    refuses("plot a b", "unrecognized arguments: b");
    refuses("plot a --filter-by x", "\"x\" has no operator; there are ==, !=, <=, >=, < and >");
    refuses("plot a --scale-x logit", "--scale-x \"logit\" is no scale");
    refuses("plot a --fig-dpi 0", "--fig-dpi must be from 1 to 2400 dots");
    refuses("nothing", "vllm bench sweep nothing is no command");
    refuses("--help", "serve_workload");
}

#[test]
fn what_is_required_is_looked_for_before_what_is_unknown() {
    let refusal = |line: &str| {
        let args = line.split_whitespace().map(Into::into);
        parse(args, &Environment::default()).unwrap_err().cause().unwrap().to_string()
    };
    let line = "serve --bench-cmd b --nonsense=5";
    assert_eq!(refusal(line), "the following arguments are required: --serve-cmd");
    assert_eq!(refusal(&format!("{line} --serve-cmd s")), "unrecognized arguments: --nonsense=5");
    assert!(refusal("serve_sla --serve-cmd s").contains("vllm bench sweep serve_workload"));
}
