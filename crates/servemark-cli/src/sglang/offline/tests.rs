//! Compares the flags with a recording of SGLang's parser, and checks what command lines become.

use std::fs;
use std::path::Path;

use serde_json::Value;
use servemark_core::{DrawContext, NoProgress};
use servemark_engine::{CandleSpec, LoadFormat, PromptForm};
use servemark_rng::RandomState;

use super::*;
use crate::mirror::{Mirror, as_recorded, recorded};
use crate::results_folder::ResultsFolder;

fn mirror() -> Mirror {
    let flags = recorded("sglang", "offline_flags.json").as_array().unwrap().clone();
    Mirror { command: args::command("offline"), peer: PEER.names(), exclusive: &[], flags }
}

#[test]
fn the_flags_are_the_peers() {
    let mirror = mirror();
    mirror.check_names();
    mirror.check_choices();
    mirror.check_arities();
    mirror.check_declared(OfflineArgs::GROUPS);
    mirror.check_defaults(Mirror::value, as_recorded);
}

#[test]
fn our_flags_never_change_what_an_abbreviation_of_the_peers_means() {
    mirror().check_abbreviations(100);
}

fn read(args: &[&str]) -> Result<Offline, UsageError> {
    parse("bench-offline", None, args.iter().map(Into::into), &Environment::default())
}

fn engine(offline: &Offline) -> &EngineRunSpec {
    let ServerSpec::Engine(spec) = &offline.run.plan.server else { panic!("no engine") };
    spec
}

fn worker(offline: &Offline) -> &WorkerSpec {
    let EngineSpec::Worker(worker) = &engine(offline).engine else { panic!("no worker") };
    worker
}

#[test]
fn the_engine_is_given_what_is_not_ours() {
    let tail =
        ["--tp", "2", "--load-format=dummy", "--cuda-graph-bs", "1", "2", "--num-prompt", "5"];
    let given = read(&[&["--model-path", "m"], &tail[..]].concat()).unwrap();
    let expected =
        ["--model-path", "m", "--tp", "2", "--load-format=dummy", "--cuda-graph-bs", "1", "2"];
    assert_eq!(worker(&given).argv, expected);
    assert_eq!(given.run.plan.workload.requests, 5);
    let vllm = ["--engine", "vllm", "--model", "m", "--tokenizer-path", "t", "--python", "py"];
    let given = read(&vllm).unwrap();
    assert_eq!(worker(&given).argv, ["--model", "m", "--tokenizer", "t"]);
    assert_eq!(worker(&given).python, Path::new("py"));
}

#[test]
fn a_runtime_is_given_texts() {
    let given = read(&["--backend", "runtime", "--model-path", "m", "--tp", "2"]).unwrap();
    assert_eq!(worker(&given).engine, WorkerEngine::SglangRuntime);
    assert_eq!(worker(&given).argv, ["--model-path", "m", "--tp", "2"]);
    assert_eq!(engine(&given).prompts, PromptForm::Text);
}

fn candle(offline: &Offline) -> &CandleSpec {
    let EngineSpec::Candle(spec) = &engine(offline).engine else { panic!("another engine") };
    spec
}

#[test]
fn without_a_word_of_another_engine_the_one_in_this_program_is_shown() {
    let rendered = read(&[]).unwrap();
    assert_eq!(*candle(&rendered), CandleSpec::default());
    let Parsed { plan, warnings, .. } = &rendered.run;
    assert_eq!((plan.workload.requests, &plan.model.name), (128, &None));
    assert_eq!((&plan.output.result_file, &plan.output.run_log), (&None, &None));
    assert!(matches!(rendered.run.folder, Some(ResultsFolder::Dated(_))));
    let logged = read(&["--run-log", "x"]).unwrap().run;
    let file = logged.plan.output.result_file.as_deref();
    assert_eq!((file, logged.folder), (Some(Path::new("servemark_candle.jsonl")), None));
    assert!(warnings[0].contains("its weights are random"), "{warnings:?}");
    let DatasetSpec::Random(random) = &plan.workload.dataset else { panic!("not random") };
    assert_eq!((random.input_tokens, random.output_tokens), (128, 64));
}

#[test]
fn what_the_user_says_of_the_engine_in_this_program_stands() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let words =
        ["--load-format=dummy", "--max-running-requests", "4", "--chunked-prefill-size", "64"];
    let ours = ["--engine", "candle", "--model-path", folder, "--num-prompts", "3"];
    let given = read(&[&ours[..], &words, &["--random-seed", "7"]].concat()).unwrap();
    let spec = candle(&given);
    assert_eq!((spec.model.as_deref(), spec.seed), (Some(Path::new(folder)), 7));
    assert_eq!((spec.max_running.get(), spec.max_step_tokens.get()), (4, 64));
    assert_eq!(spec.load_format, LoadFormat::Dummy);
    assert_eq!(given.run.plan.workload.requests, 3);
    assert!(given.run.warnings.is_empty());
}

#[test]
fn a_python_is_asked_for_its_own_engine() {
    let python = Some("python3");
    let error = parse("x", python, [], &Environment::default()).unwrap_err().to_string();
    assert!(error.contains("required: --model-path"), "{error}");
}

#[test]
fn what_cannot_be_done_is_refused_by_its_name() {
    let check = |args: &[&str], expected: &str| {
        let error = read(args).unwrap_err().to_string();
        assert!(error.contains(expected), "{args:?}: {error}");
    };
    check(&["--engine", "sglang"], "required: --model-path");
    check(&["--model-path", "m", "--use-ray"], "--use-ray, an engine in a Ray actor, is not built");
    check(&["--tp", "2"], "unrecognized arguments: --tp 2 (the engine candle takes --load-format");
    check(&["--load-format", "gguf"], "argument --load-format: invalid choice: 'gguf'");
    check(&["--load-format", "auto"], "--load-format auto needs a --model-path");
    check(&["--max-running-requests", "0"], "argument --max-running-requests: ");
    check(&["--engine", "candle", "--model-path", "./no/such"], "--model-path must be a folder");
    check(
        &["--engine", "candle", "--return-logprob"],
        "--return-logprob only applies to --engine sglang",
    );
    check(&["--backend", "runtime", "--engine", "vllm", "--model", "m"], "needs --engine sglang");
    check(&["--backend", "runtime", "--model-path", "m", "--stream"], "without --stream");
    check(&["--backend", "x"], "Please set backend to either");
    check(&["--profile"], "Please set SGLANG_TORCH_PROFILER_DIR.");
    check(&["--engine", "scripted", "--tp", "2"], "unrecognized arguments: --tp 2");
    check(
        &["--engine", "scripted", "--python", "py"],
        "--python only applies to --engine sglang or vllm",
    );
    check(&["--model-path", "m", "--request-rate", "2"], "--request-rate has no effect");
    check(&["--model-path", "m", "--extra-request-body", "[1]"], "--extra-request-body");
    check(&["--engine", "scripted", "--engine-patience", "0"], "more than 0 seconds");
}

/// Compares the engine's requests with a recording of those of SGLang's client.
#[test]
fn requests_are_the_peers() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let tokenizer = TokenizerSpec::new(fixtures.join("tokenizers/gpt2").to_str().unwrap());
    let tokenizer = tokenizer.load().unwrap();
    let cases: Vec<Value> =
        serde_json::from_slice(&fs::read(fixtures.join("sglang/offline.json")).unwrap()).unwrap();
    for case in cases {
        let argv = case["argv"].as_array().unwrap().iter().filter_map(Value::as_str);
        let here = argv.map(|word| match word.strip_prefix("sglang/inputs/") {
            Some(file) => fixtures.join("sglang/inputs").join(file).display().to_string(),
            None => word.to_owned(),
        });
        let args: Vec<String> = here.chain(["--model-path".to_owned(), "m".to_owned()]).collect();
        let ours = read(&args.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        let plan = &ours.run.plan;
        let mut random = RandomState::seeded(plan.workload.seed.into());
        let mut drawing = DrawContext::new(&tokenizer, &mut random, &NoProgress);
        let drawn = plan.workload.dataset.draw(plan.workload.requests, &mut drawing).unwrap();
        let theirs = &case["measured"];
        let prompts: Vec<_> =
            drawn.sessions.iter().filter_map(|one| one.first.prompt.text()).collect();
        assert_eq!(json!(prompts), theirs["prompt"], "{args:?}");
        let sampling = &engine(&ours).sampling;
        assert_eq!(sampling.temperature.to_bits(), 0);
        for (session, theirs) in
            drawn.sessions.iter().zip(theirs["sampling_params"].as_array().unwrap())
        {
            let mut made = object([
                ("temperature", json!(0)),
                ("max_new_tokens", json!(session.first.output_tokens)),
                ("ignore_eos", json!(sampling.ignore_eos)),
            ]);
            made.extend(sampling.extra.clone());
            assert_eq!(Value::from(made), *theirs);
        }
        let calls = case["calls"].as_array().unwrap();
        let warm_up = ours.warm_up.as_ref().map(|warm_up| json!(warm_up.plan.workload.requests));
        assert_eq!(warm_up.as_ref(), calls.first().filter(|_| calls.len() == 2));
        let is_requested = !worker(&ours).call.is_empty();
        assert_eq!(json!(is_requested), theirs["call"]["return_logprob"]);
    }
}

#[test]
fn our_own_command_tolerates_few_failures_and_the_peers_what_the_peer_does() {
    let tolerance = |python, args: &[&str]| {
        let args = args.iter().map(Into::into);
        let read = parse("x", python, args, &Environment::default()).unwrap();
        read.run.plan.scoring.tolerated_failures
    };
    let check = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
    check(tolerance(None, &[]), 0.01);
    check(tolerance(None, &["--tolerate-failures", "0.25"]), 0.25);
    check(tolerance(Some("python3"), &["--model-path", "m"]), 1.0);
}

#[test]
fn every_flag_has_an_effect_or_is_named() {
    let bases = [
        "--model-path m --dataset-name random",
        "--model-path m --dataset-name sharegpt",
        "--model-path m --dataset-name generated-shared-prefix --engine vllm",
        "--dataset-name random --engine scripted --tokenizer-path t",
        "--model-path m --dataset-name random --engine candle",
    ];
    mirror().check_effects(OfflineArgs::GROUPS, &bases, &[], 15, |args| {
        let args = args.iter().map(String::as_str).collect::<Vec<_>>();
        let mut read = read(&args).map_err(|error| error.to_string())?;
        let warnings = std::mem::take(&mut read.run.warnings);
        Ok((format!("{read:?}"), warnings))
    });
}
