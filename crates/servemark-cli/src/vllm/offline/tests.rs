//! Compares the flags of both commands with recordings of vLLM's parsers, and checks what command
//! lines become.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::{latency, throughput};
use crate::argparse::PeerFlags;
use crate::environment::Environment;
use crate::error::UsageError;
use crate::mirror::{Mirror, recorded};
use crate::offline::Offline;
use crate::vllm::buckets::Buckets;

fn mirrors() -> [Mirror; 2] {
    let mirror = |name: &str, command, peer: PeerFlags| {
        let flags = recorded("vllm", "flags.json")[name].as_array().unwrap().clone();
        Mirror { command, peer: peer.names(), exclusive: &[], flags }
    };
    [
        mirror("throughput", throughput::command(), throughput::PEER),
        mirror("latency", latency::command(), latency::PEER),
    ]
}

#[test]
fn every_flag_of_the_peer_is_there_with_its_choices() {
    for mirror in mirrors() {
        mirror.check_names();
        mirror.check_choices();
        mirror.check_arities();
        mirror.check_own_names();
    }
}

#[test]
fn defaults_and_types_are_the_peers() {
    for mirror in mirrors() {
        let matches = mirror.matches(&mirror.read(&[]));
        for flag in &mirror.flags {
            let ours = match flag["type"].as_str() {
                Some("_parse_mm_bucket_config") => {
                    let Buckets(buckets) = matches.get_one("random_mm_bucket_config").unwrap();
                    json!(buckets)
                }
                _ => mirror.value(&matches, flag),
            };
            assert_eq!(ours, expected(flag), "{}", flag["name"]);
        }
    }
}

fn expected(flag: &Value) -> Value {
    match (flag["type"].as_str(), &flag["default"]) {
        (Some("float"), Value::Number(number)) => json!(number.as_f64()),
        (Some("_parse_mm_bucket_config"), Value::String(text)) => {
            json!(crate::vllm::buckets::parse_buckets(text).unwrap().0)
        }
        (_, default) => default.clone(),
    }
}

type Parse = fn(Option<&str>, Vec<OsString>, &Environment) -> Result<Offline, UsageError>;

fn run(parse: Parse, line: &str) -> Result<Offline, String> {
    let args = line.split_whitespace().map(Into::into).collect();
    let refused = |error: UsageError| error.cause().map_or(error.to_string(), ToString::to_string);
    parse(None, args, &Environment::default()).map_err(refused)
}

fn throughput_of(line: &str) -> Result<Offline, String> {
    run(throughput::parse, line)
}

fn latency_of(line: &str) -> Result<Offline, String> {
    run(latency::parse, line)
}

#[track_caller]
fn refuses(found: Result<Offline, String>, words: &str) {
    let error = found.err().unwrap();
    assert!(error.contains(words), "{error}");
}

#[test]
fn what_needs_an_engine_of_ones_own_is_refused_of_a_server() {
    let requested = |line: &str| throughput_of(&format!("--host h {line}"));
    refuses(requested("--tensor-parallel-size 2"), "--tensor-parallel-size is an argument of");
    refuses(requested("--max-model-len 2"), "--max-model-len is an argument of");
    refuses(latency_of("--port 1 --seed 2"), "--seed is an argument of the engine");
    for flag in ["--prequeue-requests", "--disable-detokenize", "--lora-path x", "--python p"] {
        refuses(requested(flag), flag.split(' ').next().unwrap());
    }
    let hf = "--backend hf --hf-max-batch-size 2";
    refuses(requested(hf), "--backend says how the server is asked");
    refuses(latency_of("--simulate --disable-detokenize"), "--disable-detokenize needs an engine");
}

#[cfg(feature = "engine")]
mod of_an_engine {
    use servemark_engine::{
        EngineRunSpec, EngineSpec, PromptForm, Submission, WorkerEngine, WorkerSpec,
    };
    use servemark_plan::ServerSpec;
    use servemark_schedule::{AdapterChoice, AdapterSpec};
    use servemark_tokenizer::TokenizerSpec;

    use super::*;

    fn engine(offline: &Offline) -> (&EngineRunSpec, &WorkerSpec) {
        let ServerSpec::Engine(spec) = &offline.run.plan.server else { panic!("no engine") };
        let EngineSpec::Worker(worker) = &spec.engine else { panic!("no worker") };
        (spec, worker)
    }

    #[test]
    fn it_is_given_what_is_not_the_commands() {
        let line = "--num-prom 3 -tp 2 --model m --enforce-eager --seed 4 --max-model-len 64 \
                    --tokenizer=t --random-input-len 5 --compilation-config.mode 3 --dty float32";
        let throughput = throughput_of(line).unwrap();
        let (spec, worker) = engine(&throughput);
        let expected = "--model=m --seed=4 --tokenizer=t -tp 2 --enforce-eager --max-model-len 64 \
                        --dtype float32 --compilation-config {\"mode\":3}";
        assert_eq!(worker.argv.join(" "), expected);
        assert_eq!(worker.python.to_str(), Some("python3"));
        assert_eq!(json!(worker.call), json!({"detokenize": true, "prequeue": false}));
        assert_eq!((spec.submission, spec.prompts), (Submission::AtOnce, PromptForm::Text));
        let sampling = json!({
            "temperature": 1.0, "ignore_eos": true, "extra": {"n": 1, "top_p": 1.0}
        });
        assert_eq!(json!(spec.sampling), sampling);
        let plan = &throughput.run.plan;
        assert_eq!((plan.workload.requests, plan.workload.seed), (3, 4));
        assert_eq!(plan.model.tokenizer.as_ref().map(TokenizerSpec::source), Some("t"));
    }

    #[test]
    fn how_it_is_called_is_told_to_its_worker() {
        let line = "--async-engine --disable-detokenize --n 2 --num-warmups 3 --python py";
        let throughput = throughput_of(line).unwrap();
        let (spec, worker) = engine(&throughput);
        assert_eq!(spec.submission, Submission::OneByOne);
        assert_eq!(worker.call["detokenize"], false);
        assert_eq!(spec.sampling.extra["n"], 2);
        assert_eq!(worker.python.to_str(), Some("py"));
        assert_eq!(worker.argv, ["--model=Qwen/Qwen3-0.6B"]);
        let warm_up = &throughput.warm_up.as_ref().unwrap().plan;
        assert!(!warm_up.server.is_server());
        assert_eq!((warm_up.workload.requests, warm_up.workload.seed), (3, 1));
        let queued = throughput_of("--prequeue-requests").unwrap();
        assert_eq!(engine(&queued).1.call["prequeue"], true);
    }

    #[test]
    fn it_is_given_conversations_where_it_is_asked_to_chat() {
        let chat = throughput_of("--backend vllm-chat --async-engine").unwrap();
        let (spec, worker) = engine(&chat);
        assert_eq!((spec.prompts, spec.submission), (PromptForm::Chat, Submission::AtOnce));
        assert_eq!((worker.engine, worker.argv.len()), (WorkerEngine::Vllm, 1));
        warns(&chat, "--async-engine only applies to --backend vllm; ignored here");
    }

    #[test]
    fn an_adapter_is_asked_for_under_each_of_its_numbers() {
        let line = "--enable-lora --max-loras 3 --lora-path an/adapter --lora-assignment";
        let throughput = throughput_of(&format!("{line} round-robin")).unwrap();
        let (_, worker) = engine(&throughput);
        assert_eq!(worker.call["lora_path"], "an/adapter");
        assert_eq!(worker.argv[1..], ["--enable-lora", "--max-loras", "3"]);
        let names = ["1", "2", "3"].map(str::to_owned).to_vec();
        let turns = AdapterSpec::new(names, AdapterChoice::Distinct).unwrap();
        assert_eq!(throughput.run.plan.load.adapters, Some(turns));
        let off = throughput_of("--lora-path x --enable-lora --no-enable-lora").unwrap();
        assert_eq!(off.run.plan.load.adapters, None);
        warns(&off, "--lora-path has no effect without --enable-lora");
    }

    #[test]
    fn transformers_is_told_of_its_model_and_of_nothing_else() {
        let line = "--backend hf --hf-max-batch-size 4 --model m --dtype bfloat16 --n 2 \
                    --enforce-eager --max-model-len 9 --disable-detokenize";
        let throughput = throughput_of(line).unwrap();
        let (spec, worker) = engine(&throughput);
        assert_eq!((worker.engine, worker.argv.len()), (WorkerEngine::Transformers, 0));
        let expected = json!({
            "model": "m", "tokenizer": "m", "dtype": "bfloat16", "trust_remote_code": false,
            "torch_compile": false,
        });
        assert_eq!(json!(worker.args), expected);
        assert_eq!(json!(worker.call), json!({"detokenize": false, "max_batch_size": 4}));
        assert_eq!((spec.prompts, spec.sampling.ignore_eos), (PromptForm::Text, false));
        assert_eq!(json!(spec.sampling.extra), json!({"n": 2, "top_p": 1.0}));
        warns(&throughput, "--enforce-eager has no effect with --backend hf");
        warns(&throughput, "--max-model-len has no effect with --backend hf");
        assert!(!throughput.run.warnings.iter().any(|warning| warning.contains("--dtype")));
    }

    #[track_caller]
    fn warns(offline: &Offline, warning: &str) {
        let warnings = &offline.run.warnings;
        assert!(warnings.iter().any(|found| found == warning), "{warnings:?}");
    }

    #[test]
    fn its_cache_is_off_for_latencies_unless_it_is_asked_for() {
        let latency = latency_of("--enable-prefix-caching --use-beam-search --n 3").unwrap();
        let (spec, worker) = engine(&latency);
        let argv = ["--no-enable-prefix-caching", "--model=Qwen/Qwen3-0.6B"];
        assert_eq!(worker.argv[..2], argv);
        assert_eq!(worker.argv[2], "--enable-prefix-caching");
        assert_eq!(worker.call["beam_width"], 3);
        assert_eq!(spec.submission, Submission::AtOnce);
    }

    #[test]
    fn what_cannot_be_done_or_is_about_a_server_is_refused_by_name() {
        let hf = "--backend hf --hf-max-batch-size 2";
        refuses(throughput_of(&format!("{hf} -tp 2")), "--backend hf runs on one device");
        refuses(throughput_of(&format!("{hf} --so-many 2")), "unrecognized arguments: --so-many 2");
        let mistral = format!("{hf} --tokenizer-mode mistral");
        refuses(throughput_of(&mistral), "the hf backend only supports HF tokenizers");
        let none = "--enable-lora --lora-path x --max-loras";
        refuses(throughput_of(&format!("{none} 0")), "--max-loras must be 1 or more, not 0");
        refuses(throughput_of(&format!("{none} x")), "--max-loras invalid int value: 'x'");
        refuses(throughput_of("-dp 2"), "Data parallel is only supported with external launcher");
        refuses(throughput_of("--shards 2"), "--shards has no effect where no server is named");
        refuses(latency_of("--insecure"), "--insecure has no effect where no server is named");
        refuses(latency_of("--engine-patience 0"), "--engine-patience must be more than 0");
    }
}

#[test]
fn rules_are_the_peers_word_for_word() {
    let cases = recorded("vllm", "throughput.json");
    let refused = cases.as_array().unwrap().iter().filter(|case| case["error"].is_string());
    let mut compared = 0;
    for case in refused {
        let argv: Vec<String> = serde_json::from_value(case["argv"].clone()).unwrap();
        assert_eq!(throughput_of(&argv.join(" ")).err().as_deref(), case["error"].as_str());
        compared += 1;
    }
    assert_eq!(compared, 9, "a case was added or lost");
}

#[test]
fn everything_is_sent_at_once_and_no_answer_is_streamed() {
    let Offline { run, warm_up, .. } =
        throughput_of("--host h --n 2 --num-warmups 3 --seed 7 --model m").unwrap();
    let warm_up = warm_up.unwrap();
    let body = run.plan.wire.common();
    assert!(!body.stream && body.ignore_eos && run.plan.load.arrivals.is_burst());
    assert_eq!(json!(body.extra_body), json!({"n": 2, "temperature": 1.0, "top_p": 1.0}));
    assert_eq!((run.plan.workload.seed, run.plan.workload.requests), (7, 1000));
    assert_eq!((warm_up.plan.workload.seed, warm_up.plan.workload.requests), (8, 3));
    assert_eq!(warm_up.plan.output.run_log, None);
}

#[test]
fn short_lengths_count_where_the_long_ones_are_not_given() {
    let lengths = |line: &str| {
        let plan = throughput_of(&format!("--host h {line}")).unwrap().run.plan;
        let lengths = &json!(plan.workload.dataset)["lengths"];
        [&lengths["input_tokens"], &lengths["output_tokens"]].map(|tokens| tokens.as_u64().unwrap())
    };
    assert_eq!(lengths("--input-len 9"), [9, 128]);
    assert_eq!(lengths("--input-len 9 --random-input-len 5 --output-len 3"), [5, 3]);
}

#[test]
fn without_a_file_random_prompts_are_sent() {
    let requested = |line: &str| throughput_of(&format!("--host h {line}"));
    let name = |line: &str| requested(line).unwrap().run.plan.workload.dataset.name().as_str();
    assert_eq!([name(""), name("--dataset-name random-rerank")], ["random", "random"]);
    assert_eq!(name("--dataset-path x.json"), "sharegpt");
    refuses(throughput_of("--dataset-name prefix_repetition"), "--prefix-repetition-prefix-len");
}

#[test]
fn batches_go_one_after_the_other() {
    let Offline { run, warm_up, .. } = latency_of("--host h --batch-size 3 --num-iters 4").unwrap();
    let warm_up = warm_up.unwrap();
    assert_eq!([run.plan.workload.requests, warm_up.plan.workload.requests], [12, 30]);
    assert_eq!(run.plan.load.max_concurrency.map(usize::from), Some(3));
    assert!(run.plan.load.in_waves && run.plan.model.untokenized);
    assert_eq!(run.plan.load.warmup.requests, 0);
}

#[test]
fn a_profile_is_of_one_batch() {
    let Offline { run, warm_up, .. } =
        latency_of("--host h --profile --num-iters-warmup 0").unwrap();
    assert!(warm_up.is_none() && run.plan.control.profile.is_some());
    assert_eq!(run.plan.workload.requests, 8);
}

#[test]
fn fewer_warm_ups_than_none_are_none() {
    let latency = latency_of("--host h --model m --num-iters-warmup -5").unwrap();
    assert!(latency.warm_up.is_none());
}
