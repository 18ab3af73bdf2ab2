//! Compares the flags with a recording of vLLM 0.33.0's own parser.

mod extras;
mod namespace;
mod usage;

use clap::ArgMatches;
use serde_json::{Value, json};

use super::args::{PEER, VllmArgs};
use super::buckets::{Buckets, parse_buckets};
use crate::environment::Environment;
use crate::mirror::{Mirror, recorded};
use crate::parsed::Parsed;

/// Flags whose default differs from vLLM's on purpose; `docs/compat/vllm.md` gives the reasons.
const OTHER_DEFAULTS: [&str; 1] = ["--request-id-prefix"];

fn mirror() -> Mirror {
    let mut flags = recorded("vllm", "flags.json")["serve"].as_array().unwrap().clone();
    flags.iter_mut().for_each(in_order);
    let command = VllmArgs::whole_command("vllm bench serve");
    Mirror { command, peer: PEER.names(), exclusive: &[], flags }
}

/// Sorts the choices of a flag that are a set in vLLM, and so are recorded in no fixed order.
fn in_order(flag: &mut Value) {
    if flag["name"] == "--speed-bench-dataset-subset" {
        flag["choices"].as_array_mut().unwrap().sort_by_key(thousands);
    }
}

/// Returns the number in the name of a choice: 16 for `throughput_16k`, 0 for `qualitative`.
fn thousands(choice: &Value) -> u32 {
    let digits: String = choice.as_str().unwrap().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

/// Returns the value of a flag in the form of the recording.
fn value(mirror: &Mirror, matches: &ArgMatches, flag: &Value) -> Value {
    match flag["name"].as_str().unwrap() {
        "--self-timed" => match (matches.get_flag("self_timed"), matches.get_flag("no_self_timed"))
        {
            (false, false) => Value::Null,
            (on, _) => json!(on),
        },
        "--random-mm-bucket-config" => {
            let Buckets(buckets) = matches.get_one("random_mm_bucket_config").unwrap();
            json!(buckets)
        }
        _ => mirror.value(matches, flag),
    }
}

/// Returns a recorded value with the type of its flag: a number is a float if the flag takes
/// floats.
fn expected(flag: &Value, recorded: &Value) -> Value {
    match (flag["type"].as_str(), recorded) {
        (Some("float"), Value::Number(number)) => json!(number.as_f64()),
        (Some("_parse_mm_bucket_config"), Value::String(text)) => {
            json!(parse_buckets(text).unwrap().0)
        }
        _ => recorded.clone(),
    }
}

#[test]
fn every_flag_of_the_peer_is_there_in_its_order() {
    mirror().check_names();
}

#[test]
fn defaults_and_types_are_the_peers() {
    let mirror = mirror();
    let matches = mirror.matches(&mirror.read(&[]));
    for flag in &mirror.flags {
        let (ours, peers) = (value(&mirror, &matches, flag), expected(flag, &flag["default"]));
        let differs = OTHER_DEFAULTS.iter().any(|name| flag["name"] == *name);
        assert_eq!(ours != peers, differs, "{}: {ours} and {peers}", flag["name"]);
    }
}

#[test]
fn other_defaults_are_argued() {
    let argued = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compat/vllm.md");
    let argued = std::fs::read_to_string(argued).unwrap();
    for name in OTHER_DEFAULTS {
        assert!(argued.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn choices_arities_and_names_are_the_peers() {
    mirror().check_grammar(500);
}

#[test]
fn every_flag_is_declared_once() {
    mirror().check_declared(VllmArgs::GROUPS);
}

#[test]
fn every_flag_without_effect_is_named() {
    let base = "--model m --dataset-name random --backend openai";
    mirror().check_ineffective(VllmArgs::GROUPS, base, 50, |args| {
        let args = args.iter().map(Into::into);
        let parsed = super::parse("vllm bench serve", args, &Environment::default());
        parsed.map(|parsed| parsed.warnings).map_err(|error| error.to_string())
    });
}

#[test]
fn every_flag_has_an_effect_or_is_named() {
    let bases = [
        "--model m --dataset-name random --backend openai",
        "--model m --dataset-name sharegpt --dataset-path f --backend openai-chat",
        "--model m --dataset-name prefix_repetition --backend vllm",
        "--model m --dataset-name random-mm --backend openai-chat",
        "--model m --dataset-name random --backend openai-embeddings",
        "--model m --dataset-name random-rerank --backend vllm-rerank",
    ];
    // Runs with random prompts ignore end-of-sequence tokens anyway, and no run reports the steady
    // state by default.
    let fulfilled = ["--ignore-eos", "--no-steady-state"];
    mirror().check_effects(VllmArgs::GROUPS, &bases, &fulfilled, 60, |args| {
        let args = args.iter().map(Into::into);
        let parsed = super::parse("vllm bench serve", args, &Environment::default());
        let parsed = parsed.map_err(|error| error.to_string())?;
        let warnings = parsed.warnings.clone();
        let read = Parsed { warnings: Vec::new(), peer_arguments: None, ..parsed };
        Ok((format!("{read:?}"), warnings))
    });
}
