//! Tests of the flags against a recording of AISBench's own parser, and of configs and their
//! errors.

use clap::ArgMatches;
use serde_json::{Value, json};
use servemark_datasets::DatasetSpec;
use servemark_plan::BenchPlan;
use servemark_report::PrefillRow;
use servemark_runner::WarmupSpec;

use super::args::{AisbenchArgs, PEER};
use super::{Reuse, Tasks};
use crate::environment::{Environment, LocalTime};
use crate::mirror::{Mirror, as_recorded, recorded};

mod configs;

fn mirror() -> Mirror {
    let flags = recorded("aisbench", "flags.json")["ais_bench"].as_array().unwrap().clone();
    let command = AisbenchArgs::whole_command("ais_bench");
    Mirror { command, peer: PEER.names(), exclusive: &[], flags }
}

/// Returns the value of a flag in the form of the recording.
fn value(mirror: &Mirror, matches: &ArgMatches, flag: &Value) -> Value {
    match flag["name"].as_str().unwrap() {
        "--response-anomaly" => match matches.get_flag("response_anomaly") {
            false => Value::Null,
            on => json!(on),
        },
        _ if flag["type"] == "validator" => {
            let whole = json!({"type": "int", "name": flag["name"], "kind": flag["kind"], "nargs": flag["nargs"]});
            mirror.value(matches, &whole)
        }
        "--reuse" => Value::Null,
        _ => mirror.value(matches, flag),
    }
}

#[test]
fn every_flag_of_the_peer_is_there_in_its_order() {
    mirror().check_names();
}

#[test]
fn defaults_and_types_are_the_peers() {
    mirror().check_defaults(value, as_recorded);
}

#[test]
fn choices_arities_and_names_are_the_peers() {
    mirror().check_grammar(130);
}

#[test]
fn every_flag_is_declared_once() {
    mirror().check_declared(AisbenchArgs::GROUPS);
}

#[test]
fn short_names_are_the_peers() {
    let short: Vec<(String, String)> = mirror()
        .flags
        .iter()
        .filter_map(|flag| {
            Some((flag["short"][0].as_str()?.to_owned(), flag["name"].as_str()?.to_owned()))
        })
        .collect();
    let mut ours: Vec<(String, String)> =
        super::SHORT.iter().map(|(short, long)| ((*short).to_owned(), long.to_string())).collect();
    ours.sort_by_key(|(_, long)| short.iter().position(|(_, peer)| peer == long));
    assert_eq!(ours, short);
}

const NOW: LocalTime =
    LocalTime { date: (2026, 8, 20), time: (10, 11, 12), unix_seconds: 0.0, utc_offset_s: 0 };

fn environment(files: &[(&str, &str)]) -> Environment {
    let empty = Environment::default().at(NOW);
    files.iter().fold(empty, |environment, (path, text)| environment.with_file(*path, text))
}

fn parse(line: &str, files: &[(&str, &str)]) -> Result<Tasks, String> {
    let args = line.split_whitespace().map(Into::into);
    super::parse("ais_bench", args, &environment(files))
        .map_err(|error| error.cause().map_or_else(|| error.to_string(), ToString::to_string))
}

#[track_caller]
fn refuses(line: &str, files: &[(&str, &str)], message: &str) {
    assert_eq!(parse(line, files).map(|_| ()).unwrap_err(), message);
}

/// Returns the plan of a command line that has one task.
#[track_caller]
fn plan(line: &str, files: &[(&str, &str)]) -> BenchPlan {
    let tasks = parse(line, files).unwrap();
    assert_eq!(tasks.tasks.len(), 1);
    tasks.tasks.into_iter().next().unwrap().parsed.plan
}

fn dataset(plan: &BenchPlan) -> Value {
    match &plan.workload.dataset {
        DatasetSpec::Aisbench(spec) => json!(spec),
        other => json!(other),
    }
}

const SHIPPED: &str = "--models vllm_api_stream_chat --datasets synthetic_gen_string -m perf";

#[test]
fn what_ships_with_the_peer_is_built_in() {
    let plan = plan(SHIPPED, &[]);
    let wire = json!(plan.wire);
    assert_eq!(wire["class"], "vllm_chat");
    assert_eq!(wire["extra_body"], json!({"temperature": 0.01, "ignore_eos": false}));
    let data = dataset(&plan);
    assert_eq!(data["kind"], "synthetic_text");
    assert_eq!(data["input"], json!({"method": "uniform", "min": 1, "max": 200}));
    assert_eq!((&data["own_lengths"], &data["output_tokens"]), (&json!(true), &json!(512)));
    assert_eq!(plan.load.max_concurrency.map(std::num::NonZeroUsize::get), Some(1));
    assert_eq!(json!(plan.load.arrivals), json!({"process": "burst"}));
    let log = plan.output.run_log.unwrap();
    let expected =
        "outputs/default/20260820_101112/performances/vllm-api-stream-chat/synthetic.runlog.jsonl";
    assert_eq!(log.to_str(), Some(expected));
}

#[test]
fn every_built_in_model_and_data_set_can_be_asked_for() {
    let library_environment = environment(&[]);
    let library = super::Library::new(&library_environment, super::catalog::module);
    let models = super::catalog::names(super::catalog::Kind::Models, &library).unwrap();
    assert_eq!(models.len(), 10);
    for model in models {
        let line = format!("--models {model} --datasets synthetic_gen_string -m perf --simulate");
        assert!(parse(&line, &[]).is_ok(), "{model}");
    }
    let sets = super::catalog::names(super::catalog::Kind::Datasets, &library).unwrap();
    assert_eq!(sets.len(), 13);
    for set in sets {
        let line = format!("--models vllm_api_stream_chat --datasets {set} -m perf --simulate");
        assert!(parse(&line, &[]).is_ok(), "{set}: {:?}", parse(&line, &[]).err());
    }
}

#[test]
fn flags_change_what_configs_say() {
    let line = format!(
        "{SHIPPED} --host-ip 10.0.0.7 --host-port 9000 --batch-size 64 --request-rate 2.5 \
         --set datasets.config.RequestCount=5*100 --set models.traffic_cfg.burstiness=0 \
         --model-name m --num-warmups 0 --num-prompts 30 --seed 3"
    );
    let plan = plan(&line, &[]);
    assert_eq!(json!(plan.server)["at"]["base_url"], "http://10.0.0.7:9000");
    assert_eq!(plan.load.max_concurrency.map(std::num::NonZeroUsize::get), Some(64));
    let arrivals = json!({"process": "gamma", "requests_per_second": 2.5, "burstiness": null});
    assert_eq!(json!(plan.load.arrivals), arrivals);
    assert_eq!(dataset(&plan)["rows"], 500);
    assert_eq!((plan.load.warmup.requests, plan.workload.requests, plan.workload.seed), (0, 30, 3));
    assert_eq!(plan.model.name.as_deref(), Some("m"));
}

#[test]
fn a_warm_up_sends_the_first_rows() {
    let line =
        format!("{SHIPPED} --num-warmups 3 --set models.generation_kwargs.num_return_sequences=2");
    let warmup = plan(&line, &[]).load.warmup;
    assert_eq!(warmup, WarmupSpec::rows(3, std::num::NonZero::new(2).unwrap()));
}

#[test]
fn words_are_set_without_quotes() {
    let line = "--models vllm_api_stream_chat_multiturn --datasets sharegpt_gen -m perf --simulate \
                --set datasets.infer_cfg.inferencer.infer_mode=last";
    let data = dataset(&plan(line, &[])).to_string();
    assert!(data.contains(r#""turns":"last""#), "{data}");
    let line = format!("{SHIPPED} --set models.host_ip=10.0.0.7 --set models.path=./a-model/v1.5");
    let set = plan(&line, &[]);
    assert_eq!(json!(set.server)["at"]["base_url"], "http://10.0.0.7:8080");
    assert_eq!(
        set.model.tokenizer.map(|spec| spec.source().to_owned()).as_deref(),
        Some("./a-model/v1.5")
    );
    refuses(
        &format!("{SHIPPED} --set models.batch_size=8x"),
        &[],
        "--set models.batch_size=8x: batch_size must be an int from 1 to 100000, not \"8x\"",
    );
    refuses(
        &format!("{SHIPPED} --set models.batch_size=len('8')"),
        &[],
        "--set models.batch_size=len('8'): len has no value here: value = len('8')",
    );
}

#[test]
fn a_task_says_where_its_data_set_stands() {
    let tasks = parse(SHIPPED, &[]).unwrap();
    assert!(tasks.tasks[0].data.starts_with("built-in datasets:"), "{}", tasks.tasks[0].data);
}

#[test]
fn pressure_lets_clients_come_one_by_one_and_go_on() {
    let line = format!("{SHIPPED} --pressure --pressure-time 30 --batch-size 8 --request-rate 2");
    let plan = plan(&line, &[]);
    assert!(plan.load.in_rounds && plan.load.arrivals.is_burst());
    assert_eq!(plan.load.lasts, Some(std::time::Duration::from_secs(30)));
    assert_eq!(plan.load.opening.map(servemark_schedule::Rate::per_second), Some(2.0));
}

#[test]
fn figures_that_are_to_be_known_end_a_task() {
    let until = |line: &str| plan(&format!("{SHIPPED} {line}"), &[]).scoring.until;
    let spec = until("--until ttft:mean+-2%,itl:p99+-5ms --num-prompts 900").unwrap();
    let targets: Vec<String> = spec.targets.iter().map(ToString::to_string).collect();
    assert_eq!(targets, ["ttft:mean+-2%", "itl:p99+-5ms"]);
    assert_eq!(until("--num-prompts 900"), None);
    let refusal = parse(&format!("{SHIPPED} --until ttft:mean"), &[]).unwrap_err();
    assert!(refusal.contains("expected a figure and how well it must be known"), "{refusal}");
}

#[test]
fn a_run_that_is_over_is_found() {
    let there = [
        ("outputs/default/20260101_000000/performances/x", ""),
        ("outputs/default/20260301_000000/x", ""),
    ];
    let tasks = parse(&format!("{SHIPPED} -r"), &there).unwrap();
    assert_eq!(
        (tasks.folder.to_str(), tasks.reuse),
        (Some("outputs/default/20260301_000000"), Reuse::Scored)
    );
    let tasks = parse(&format!("{SHIPPED}_viz -r 20260101_000000"), &there).unwrap();
    assert_eq!(
        (tasks.folder.to_str(), tasks.reuse),
        (Some("outputs/default/20260101_000000"), Reuse::Only)
    );
    refuses(
        &format!("{SHIPPED}_viz"),
        &[],
        "--mode perf_viz needs --reuse: the run whose results are shown",
    );
}

#[test]
fn a_folder_of_configs_that_is_not_there_is_refused() {
    let line = "--models vllm_api_stream_chat --datasets synthetic_gen_string -m perf --config-dir cnofigs";
    refuses(line, &[], "--config-dir: there is no folder cnofigs with configs in it");
}

#[test]
fn other_modes_are_refused_by_name() {
    refuses(
        "--models vllm_api_stream_chat --datasets gsm8k_gen_0_shot_cot_str_perf",
        &[],
        "--mode all measures no performance; servemark has -m perf alone",
    );
}

#[test]
fn questions_of_ones_own_need_no_config() {
    let files =
        [("q.jsonl", "{\"question\": \"x\", \"answer\": \"y\", \"A\": \"1\", \"B\": \"2\"}\n")];
    let plan = plan("--models vllm_api_general --custom-dataset-path q.jsonl -m perf", &files);
    let expected = "Question: {question}\nA. {A}\nB. {B}\nAnswer: {answer}";
    assert_eq!(dataset(&plan)["template"]["text"], expected);
    refuses(
        "--models vllm_api_general --custom-dataset-path q.jsonl -m perf",
        &[("q.jsonl", "{\"a\": 1}")],
        "q.jsonl:1: there is no column question",
    );
}

#[test]
fn the_file_that_the_guide_has_edited_is_read() {
    let line = "--models vllm_api_stream_chat --datasets synthetic_gen -m perf --tokenizer-path t";
    let edited = "synthetic_config = {'Type': 'string', 'RequestCount': 7, 'StringConfig': {
        'Input': {'Method': 'uniform', 'Params': {'MinValue': 2, 'MaxValue': 3}},
        'Output': {'Method': 'uniform', 'Params': {'MinValue': 4, 'MaxValue': 5}}}}";
    let there = [("ais_bench/datasets/synthetic/synthetic_config.py", edited)];
    let requested = |files: &[(&str, &str)]| dataset(&plan(line, files)).to_string();
    assert_ne!(requested(&there), requested(&[]));
    let beside = parse(line, &[("synthetic_config.py", edited)]).unwrap();
    let warned = &beside.tasks[0].parsed.warnings;
    assert!(warned.iter().any(|warning| warning.contains("synthetic_config.py")), "{warned:?}");
    assert!(parse(line, &there).unwrap().tasks[0].parsed.warnings.is_empty());
    let own = line.replace("synthetic_gen", "synthetic_gen_string");
    assert_eq!(dataset(&plan(&own, &there)), dataset(&plan(&own, &[])));
}

#[test]
fn a_style_is_that_of_a_release() {
    let scoring =
        |style: &str| plan(&format!("{SHIPPED} --summarizer stable_stage{style}"), &[]).scoring;
    let (newest, older) = (scoring("").aisbench, scoring(" --style 2026-06").aisbench);
    assert_eq!((newest.prefill, older.prefill), (PrefillRow::OfRequests, PrefillRow::OfRun));
    assert_ne!(newest.stage, older.stage);
    assert!(parse(&format!("{SHIPPED} --style 2020-01"), &[]).is_err());
}

#[test]
fn every_flag_without_effect_is_named() {
    mirror().check_ineffective(AisbenchArgs::GROUPS, SHIPPED, 1, |args| {
        let tasks = parse(&args.join(" "), &[])?;
        Ok(tasks.tasks.into_iter().flat_map(|task| task.parsed.warnings).collect())
    });
}

#[test]
fn an_empty_word_is_no_config() {
    let line = ["", "--models", "vllm_api_stream_chat", "--datasets", "synthetic_gen_string"];
    let args = line.into_iter().chain(["-m", "perf"]).map(Into::into);
    let tasks = super::parse("ais_bench", args, &environment(&[])).unwrap();
    assert_eq!(tasks.tasks[0].name, "vllm-api-stream-chat/synthetic");
}

#[test]
fn every_flag_has_an_effect_or_is_named() {
    mirror().check_effects(AisbenchArgs::GROUPS, &[SHIPPED], &["--mode"], 20, |args| {
        let mut tasks = parse(&args.join(" "), &[])?;
        let all = tasks.tasks.iter_mut().map(|task| std::mem::take(&mut task.parsed.warnings));
        let warnings = all.flatten().collect();
        Ok((format!("{tasks:?}"), warnings))
    });
}
