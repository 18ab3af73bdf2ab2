//! The mirrors of both commands' flags, and what becomes of their command lines.

use serde_json::{Value, json};

use super::{Offline, latency, throughput};
use crate::environment::Environment;
use crate::error::UsageError;
use crate::mirror::{Mirror, recorded};
use crate::vllm::buckets::Buckets;

fn mirrors() -> [Mirror; 2] {
    let mirror = |name: &str, command, peer| {
        let flags = recorded("vllm", "flags.json")[name].as_array().unwrap().clone();
        Mirror { command, peer, exclusive: &[], flags }
    };
    [
        mirror("throughput", throughput::command(), &throughput::PEER[..]),
        mirror("latency", latency::command(), &latency::PEER[..]),
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

fn run(
    parse: fn(Vec<std::ffi::OsString>, &Environment) -> Result<Offline, UsageError>,
    line: &str,
) -> Result<Offline, String> {
    let args = line.split_whitespace().map(Into::into).collect();
    let refused = |error: UsageError| error.cause().map_or(error.to_string(), ToString::to_string);
    parse(args, &Environment::default()).map_err(refused)
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
fn what_needs_an_engine_of_ones_own_is_refused_by_name() {
    refuses(throughput_of("--tensor-parallel-size 2"), "--tensor-parallel-size is an argument of");
    refuses(latency_of("--seed 2"), "--seed is an argument of the engine");
    for flag in ["--prequeue-requests", "--disable-detokenize", "--lora-path x"] {
        refuses(throughput_of(flag), flag.split(' ').next().unwrap());
    }
    refuses(throughput_of("--backend mii"), "--backend says how the server is asked");
    refuses(latency_of("--disable-detokenize"), "--disable-detokenize needs an engine");
}

#[test]
fn rules_are_the_peers_word_for_word() {
    let cases = recorded("vllm", "throughput.json");
    let refused = cases.as_array().unwrap().iter().filter(|case| case["error"].is_string());
    let mut compared = 0;
    for case in refused.filter(|case| case["error"] != "Unknown backend: mii") {
        let argv: Vec<String> = serde_json::from_value(case["argv"].clone()).unwrap();
        assert_eq!(throughput_of(&argv.join(" ")).err().as_deref(), case["error"].as_str());
        compared += 1;
    }
    assert_eq!(compared, 4, "a case was added or lost");
}

#[test]
fn everything_is_sent_at_once_and_no_answer_is_streamed() {
    let Offline { run, warm_up, .. } =
        throughput_of("--n 2 --num-warmups 3 --seed 7 --model m").unwrap();
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
        let plan = throughput_of(line).unwrap().run.plan;
        let lengths = &json!(plan.workload.dataset)["lengths"];
        [&lengths["input_tokens"], &lengths["output_tokens"]].map(|tokens| tokens.as_u64().unwrap())
    };
    assert_eq!(lengths("--input-len 9"), [9, 128]);
    assert_eq!(lengths("--input-len 9 --random-input-len 5 --output-len 3"), [5, 3]);
}

#[test]
fn without_a_file_random_prompts_are_sent() {
    let name = |line: &str| throughput_of(line).unwrap().run.plan.workload.dataset.name().as_str();
    assert_eq!([name(""), name("--dataset-name random-rerank")], ["random", "random"]);
    assert_eq!(name("--dataset-path x.json"), "sharegpt");
    refuses(throughput_of("--dataset-name prefix_repetition"), "--prefix-repetition-prefix-len");
}

#[test]
fn batches_go_one_after_the_other() {
    let Offline { run, warm_up, .. } = latency_of("--batch-size 3 --num-iters 4").unwrap();
    let warm_up = warm_up.unwrap();
    assert_eq!([run.plan.workload.requests, warm_up.plan.workload.requests], [12, 30]);
    assert_eq!(run.plan.load.max_concurrency.map(usize::from), Some(3));
    assert!(run.plan.load.in_waves && run.plan.model.untokenized);
    assert_eq!(run.plan.load.warmup.requests, 0);
}

#[test]
fn a_profile_is_of_one_batch() {
    let Offline { run, warm_up, .. } = latency_of("--profile --num-iters-warmup 0").unwrap();
    assert!(warm_up.is_none() && run.plan.control.profile.is_some());
    assert_eq!(run.plan.workload.requests, 8);
}
