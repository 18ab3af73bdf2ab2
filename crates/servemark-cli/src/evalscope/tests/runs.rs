//! Tests of the plans that command lines become.

use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_datasets::{DatasetSpec, EvalscopeHub};
use servemark_plan::{BenchPlan, PointsSpec, ServerSpec, SweepSpec};
use servemark_runner::LeadInSpec;
use servemark_schedule::{ArrivalSpec, Rate};

use crate::environment::{Environment, LocalTime};
use crate::evalscope::{Consumed, EvalscopeRuns, EvalscopeTask, parse};

fn runs(line: &str) -> EvalscopeRuns {
    let now = LocalTime::new((2026, 1, 2), (3, 4, 5), 0.0);
    let args = line.split_whitespace().map(Into::into);
    parse("evalscope perf", args, &Environment::default().at(now)).unwrap()
}

fn refusal(line: &str) -> String {
    let args = line.split_whitespace().map(Into::into);
    let refusal = parse("evalscope perf", args, &Environment::default()).unwrap_err();
    refusal.cause().unwrap().to_string()
}

fn sweep(runs: &EvalscopeRuns) -> &SweepSpec {
    match &runs.task {
        EvalscopeTask::Runs(spec) => spec,
        EvalscopeTask::Search(search) => panic!("{search:?}"),
    }
}

fn plans(runs: &EvalscopeRuns) -> Vec<(&str, &BenchPlan)> {
    let PointsSpec::Listed(plans) = &sweep(runs).points else { panic!("it is a list") };
    plans.iter().map(|named| (named.name.as_str(), &named.plan)).collect()
}

#[test]
fn sides_of_a_sweep_go_together() {
    let runs =
        runs("--model a/m --parallel 1 4 -n 5 20 --warmup-num 0.2 --dataset-path x --seed 7");
    let plans = plans(&runs);
    let names: Vec<&str> = plans.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["parallel_1_number_5", "parallel_4_number_20"]);
    let loads: Vec<_> = plans.iter().map(|(_, plan)| &plan.load).collect();
    assert_eq!(loads[1].max_concurrency, NonZeroUsize::new(4));
    assert_eq!(loads[0].lead_in, LeadInSpec::flowing(1));
    assert_eq!(loads[1].lead_in, LeadInSpec::flowing(4));
    let requests: Vec<usize> = plans.iter().map(|(_, plan)| plan.workload.requests).collect();
    assert_eq!(requests, [6, 24]);
    let seeds: Vec<u32> = plans.iter().map(|(_, plan)| plan.workload.seed).collect();
    assert_eq!(seeds, [7, 7]);
    let offsets: Vec<_> = plans.iter().map(|(_, plan)| &plan.echo["dataset_offset"]).collect();
    assert_eq!(offsets, [0, 5]);
    assert_eq!(sweep(&runs).isolation.cool_down, Duration::from_secs(5));
    let log = plans[1].1.output.run_log.as_ref().unwrap().display().to_string();
    assert_eq!(log, "outputs/20260102_030405/m/parallel_4_number_20/run.runlog.jsonl");
}

#[test]
fn figures_that_are_to_be_known_end_each_run() {
    let line =
        "--model m --parallel 1 4 -n 50 200 --dataset-path x --until ttft:mean+-2%,e2el:p99+-5ms";
    let runs = runs(line);
    for (name, plan) in plans(&runs) {
        let spec = plan.scoring.until.as_ref().unwrap();
        let targets: Vec<String> = spec.targets.iter().map(ToString::to_string).collect();
        assert_eq!(targets, ["ttft:mean+-2%", "e2el:p99+-5ms"], "{name}");
    }
    let search = "--model m --dataset-path x --sla-auto-tune --sla-variable parallel";
    let search = format!("{search} --sla-params [{{\"p99_ttft\":\"<=2\"}}] --until ttft:mean+-2%");
    let message =
        "--until has no effect with --sla-auto-tune, whose runs have a set number of requests";
    assert!(refusal(&search).starts_with(message), "{}", refusal(&search));
    let embeddings = "--model m --api openai_embedding --dataset-path x --until ttft:mean+-2%";
    assert!(refusal(embeddings).contains("is about tokens"), "{}", refusal(embeddings));
}

#[test]
fn a_run_draws_after_those_before_it_where_it_draws() {
    let after = |line: &str| -> Vec<usize> {
        let runs = runs(&format!("--model m --parallel 1 2 4 -n 5 6 7 {line}"));
        plans(&runs).iter().map(|(_, plan)| plan.workload.after.len()).collect()
    };
    assert_eq!(after("--dataset random --tokenizer-path t"), [0, 1, 2]);
    assert_eq!(after("--dataset-path x --max-tokens 3 9"), [0, 1, 2]);
    assert_eq!(after("--dataset-path x --rate 3"), [0, 1, 2]);
    assert_eq!(after("--dataset-path x"), [0, 0, 0]);
    let runs = runs("--model m --parallel 1 2 -n 5 6 --rate 3 --dataset-path x --warmup-num 2");
    let earlier = &plans(&runs)[1].1.workload.after[0];
    assert_eq!(earlier.requests, 7);
    assert_eq!(earlier.load.arrivals.mean_rate(), Some(3.0));
}

#[test]
fn turns_may_be_paced() {
    let runs =
        runs("--model m --dataset custom_multi_turn --dataset-path x --multi-turn --rate 2.5 -n 4");
    let load = &runs.first.plan.load;
    assert_eq!(load.arrivals, ArrivalSpec::Burst);
    assert_eq!(load.sessions.turn_rate.map(Rate::per_second), Some(2.5));
}

#[test]
fn a_search_may_have_no_limit_to_what_is_in_flight() {
    let runs = runs(
        r#"--model m --dataset-path x --sla-auto-tune --sla-params [{"avg_ttft":"<=40"}] -n 9
           --sla-variable rate --open-loop --rate 3"#,
    );
    let plan = &runs.first.plan;
    assert_eq!((plan.load.arrivals.mean_rate(), plan.load.max_concurrency), (Some(3.0), None));
    assert_eq!(plan.workload.requests, 6);
}

#[test]
fn progress_is_counted_up_to_what_all_runs_have() {
    let tracked = |line: &str| runs(&format!("--model m --dataset-path x {line}")).tracked;
    assert_eq!(tracked("--parallel 1 2 -n 5 6 --enable-progress-tracker"), Some(11));
    assert_eq!(tracked("-n 5"), None);
}

#[test]
fn an_open_loop_has_rates_and_no_limit() {
    let runs = runs(
        "--model m --open-loop --rate 2 4.5 -n 5 9 --warmup-num 3 --duration 7 --dataset-path x",
    );
    let plans = plans(&runs);
    assert_eq!(plans[1].0, "rate_4.5_number_9");
    let load = &plans[1].1.load;
    assert_eq!((load.max_concurrency, load.lead_in), (None, LeadInSpec::already_ended(3)));
    assert_eq!(load.arrivals.mean_rate(), Some(4.5));
    assert_eq!(load.lasts, Some(Duration::from_secs(7)));
}

#[test]
fn a_closed_loop_may_be_paced() {
    let runs = runs("--model m --rate 2.5 --parallel 3 -n 9 --dataset-path x");
    let load = &runs.first.plan.load;
    assert_eq!(load.arrivals.mean_rate(), Some(2.5));
    assert_eq!(load.max_concurrency, NonZeroUsize::new(3));
}

#[test]
fn recorded_requests_come_when_they_came() {
    let runs = runs("--dataset workload_trace --dataset-path x --open-loop --warmup-num 2");
    let plan = &runs.first.plan;
    assert_eq!(plan.load.arrivals, ArrivalSpec::Timetable);
    assert_eq!((plan.workload.requests, plan.load.lead_in), (0, LeadInSpec::flowing(2)));
}

#[test]
fn a_server_is_greeted_for_a_minute_or_as_long_as_is_said() {
    let greeting = |line: &str| runs(line).first.plan.control.greeting.map(|time| time.as_secs());
    assert_eq!(greeting("--model m --dataset-path x"), Some(60));
    assert_eq!(greeting("--model m --dataset-path x --total-timeout 300"), Some(300));
    assert_eq!(greeting("--model m --dataset-path x --no-test-connection"), None);
    assert_eq!(greeting("--model m --api embedding --dataset embedding --dataset-path x"), None);
}

#[test]
fn a_server_may_be_silent_for_as_long_as_a_request_may_take() {
    let idle = |line: &str| match runs(line).first.plan.server {
        ServerSpec::At(target) => {
            (target.timeouts.idle.as_secs(), target.timeouts.connect.as_secs())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(idle("--model m --dataset-path x"), (21600, 30));
    assert_eq!(idle("--model m --dataset-path x --read-timeout 9 --connect-timeout 3"), (9, 3));
}

#[test]
fn a_name_leads_nowhere_else() {
    let folder = |line: &str| runs(line).folder.display().to_string();
    assert_eq!(folder("--model m --dataset-path x --no-timestamp --name ../a:b"), "outputs/.._a_b");
}

#[test]
fn a_search_has_a_run_of_its_own_for_each_load() {
    let runs = runs(
        r#"--model m --dataset-path x --sla-auto-tune --sla-params [{"avg_ttft":"<=40"}] --parallel 4
           --sla-number-multiplier 2.5"#,
    );
    let EvalscopeTask::Search(search) = &runs.task else { panic!("it is a search") };
    assert_eq!((search.range.start, search.range.upper, search.runs), (4.0, 65536.0, 3));
    let (_, used) = runs.probe(search, 4, &Consumed::default()).unwrap();
    assert_eq!((used.runs, used.requests), (3, 30));
    let (spec, _) = runs.probe(search, 5, &used).unwrap();
    let PointsSpec::Listed(plans) = spec.points else { panic!("it is a list") };
    let named = plans[1].clone();
    assert_eq!(named.name, "sla_parallel_5_run_1");
    // Python rounds 12.5 to the even number.
    assert_eq!(named.plan.workload.requests, 12);
    assert_eq!(named.plan.load.max_concurrency, NonZeroUsize::new(5));
    assert_eq!(named.plan.echo["dataset_offset"], 42);
    let log = named.plan.output.run_log.unwrap().display().to_string();
    assert!(log.ends_with("/m/sla_tuning/sla_parallel_5_run_1/run.runlog.jsonl"), "{log}");
}

#[test]
fn mistakes_are_told() {
    let refused = [
        ("--model m --visualizer wandb", "--visualizer is not built yet"),
        ("--model m --api local", "--api local is not built yet"),
        ("--model m --scenario agentx", "--scenario is not built yet"),
        ("--model m --dataset random", "--dataset random needs --tokenizer-path"),
        (
            "--model m --dataset random_multi_turn --tokenizer-path t",
            "--dataset random_multi_turn needs --multi-turn",
        ),
        ("--model m --multi-turn", "--dataset openqa has no conversations for --multi-turn"),
        ("--model m --api nope", "--api must be one of openai, "),
        ("--model m --dataset nope", "Dataset plugin 'nope' is not registered. --dataset: "),
        ("--model m --url h/v1", "--url cannot be used: the base URL "),
        (
            "--model m --dataset-args {\"nope\":1}",
            "--dataset-args cannot be used: unknown field `nope`",
        ),
        ("--model m --query-template {", "--query-template must be a JSON object or @FILE: "),
        ("--model m --prompt @absent", "--prompt absent cannot be read: "),
        ("--model m --extra-args []", "--extra-args must be a JSON object, "),
        ("--model m -n 0", "--number must be 1 or more, not 0"),
        (
            "--model m --data-source modelscope --dataset flickr8k",
            "--data-source modelscope of flickr8k (use huggingface, or give it with ",
        ),
        ("--model m --data-source local", "--data-source local needs --dataset-path"),
    ];
    for (line, message) in refused {
        let ours = refusal(line);
        assert!(ours.starts_with(message), "{line}: {ours}");
    }
}

#[test]
fn a_simulated_run_bounds_the_prompts_that_it_draws_alone() {
    let bounds = |line: &str| {
        let plan = runs(&format!("--simulate {line}")).first.plan;
        let DatasetSpec::Evalscope(spec) = plan.workload.dataset else { panic!("{line}") };
        (spec.shortest, spec.longest)
    };
    assert_eq!(bounds(""), (64, 192));
    assert_eq!(bounds("--dataset random_embedding --api embedding"), (64, 192));
    assert_eq!(bounds("--dataset line_by_line --dataset-path x"), (0, 131_072));
    assert_eq!(bounds("--max-prompt-length 9"), (0, 9));
}

#[test]
fn a_data_set_comes_from_the_hub_that_can_be_asked() {
    for line in ["", "--data-source huggingface", "--data-source local --dataset-path x"] {
        assert!(runs(&format!("--model m {line}")).first.warnings.is_empty(), "{line}");
    }
    let plan = runs("--model m --data-source modelscope").first.plan;
    let DatasetSpec::Evalscope(mut spec) = plan.workload.dataset else {
        panic!("it is evalscope's")
    };
    assert_eq!(spec.hub, EvalscopeHub::ModelScope);
    spec.hub = EvalscopeHub::HuggingFace;
    let DatasetSpec::Evalscope(usual) = runs("--model m").first.plan.workload.dataset else {
        panic!("it is evalscope's")
    };
    assert_eq!(spec, usual);
    let warnings = runs("--model m --data-source modelscope --dataset-path x").first.warnings;
    assert!(warnings[0].starts_with("--data-source has no effect"), "{warnings:?}");
}

#[test]
fn a_simulated_run_asks_where_the_simulator_answers() {
    let path = |line: &str| {
        let plan = runs(&format!("--simulate {line}")).first.plan;
        plan.wire.path().into_owned()
    };
    assert_eq!(path(""), "/v1/chat/completions");
    assert_eq!(path("--api embedding --dataset random_embedding"), "/v1/embeddings");
    assert_eq!(path("--api rerank --dataset random_rerank"), "/v1/reranks");
    assert_eq!(path("--url http://h/v1/completions"), "/v1/completions");
}

#[test]
fn what_is_for_a_model_of_its_own_process_or_a_service_has_no_effect_on_a_server() {
    for line in ["--attn-implementation eager", "--swanlab-host h", "--image-format L"] {
        let warnings = runs(&format!("--model m {line}")).first.warnings;
        let flag = line.split(' ').next().unwrap();
        let is_reported = ["has no effect", "only applies to"]
            .iter()
            .any(|words| warnings[0].starts_with(&format!("{flag} {words}")));
        assert!(is_reported, "{warnings:?}");
    }
    assert!(refusal("--model m --visualizer wandb").contains("--visualizer"));
}

#[test]
fn pictures_and_decisions_are_checked_before_anything_is_sent() {
    let drawn = "--model m --dataset random_vl --tokenizer-path t --image-format L";
    assert!(refusal(drawn).contains("must be RGB, RGBA or P"));
    let requested = refusal("--model m --api systemone --dataset openqa");
    assert!(requested.contains("give --dataset line_by_line or open_decisions"), "{requested}");
    assert!(refusal("--model m --api autotrust --prompt x").contains("complete JSON objects"));
    let plan = runs("--model m --api autotrust --dataset line_by_line --dataset-path x").first.plan;
    assert_eq!(plan.wire.path(), "/v1/chat/completions");
    assert!(plan.scoring.evalscope.decides && plan.control.greeting.is_none());
}

#[test]
fn what_an_api_does_not_take_may_have_any_value() {
    let line = "--model m --dataset openqa --frequency-penalty inf";
    assert_eq!(refusal(line), "--frequency-penalty must be a finite number, not inf");
    runs(&format!("{line} --api responses --url http://h/v1/responses"));
    let embedding = "--api embedding --url http://h/v1/embeddings --temperature nan";
    runs(&format!("{line} {embedding} --query-template false"));
}

#[test]
fn recorded_lengths_are_sent_where_they_are_of_no_use() {
    let has_max_tokens = |dataset: &str| {
        let line = "--model m --api embedding --url http://h/v1/embeddings --dataset-path x";
        let runs = runs(&format!("{line} --dataset {dataset}"));
        serde_json::to_value(&runs.first.plan.wire).unwrap().get("has_max_tokens").is_some()
    };
    assert!(has_max_tokens("trie_code_qa --multi-turn --tokenizer-path t"));
    assert!(!has_max_tokens("openqa"));
}
