//! Tests of the flags against a recording of evalscope 1.14.1's own parser.

mod runs;
mod usage;

use clap::ArgMatches;
use serde_json::{Value, json};

use super::args::{EvalscopeArgs, PEER};
use crate::environment::Environment;
use crate::mirror::{Mirror, recorded};

fn mirror() -> Mirror {
    let flags = recorded("evalscope", "flags.json").as_array().unwrap().clone();
    let command = EvalscopeArgs::whole_command("evalscope perf");
    Mirror { command, peer: PEER.names(), exclusive: &[], flags }
}

/// Returns the value of a flag in the form of the recording.
fn value(mirror: &Mirror, matches: &ArgMatches, flag: &Value) -> Value {
    let is_on = |id: &str| matches.get_flag(id);
    match flag["name"].as_str().unwrap() {
        "--logprobs" if !is_on("logprobs") => Value::Null,
        "--stream" => json!(!is_on("no_stream")),
        "--apply-chat-template" => {
            match (is_on("apply_chat_template"), is_on("no_apply_chat_template")) {
                (false, false) => Value::Null,
                (on, _) => json!(on),
            }
        }
        _ => mirror.value(matches, flag),
    }
}

/// Returns the default of a flag in the recording, converted to the flag's type. argparse keeps a
/// default as it is written, and converts it only if it is a string.
fn expected(flag: &Value) -> Value {
    let default = &flag["default"];
    let read = match (flag["type"].as_str(), default) {
        (Some("float"), Value::Number(number)) => json!(number.as_f64()),
        (Some("loads"), Value::String(text)) => serde_json::from_str(text).unwrap(),
        _ => default.clone(),
    };
    if flag["nargs"].is_null() || read.is_null() { read } else { json!([read]) }
}

#[test]
fn every_flag_of_the_peer_is_there_in_its_order() {
    mirror().check_names();
    mirror().check_letters();
}

#[test]
fn defaults_and_types_are_the_peers() {
    mirror().check_defaults(value, expected);
}

#[test]
fn choices_arities_and_names_are_the_peers() {
    mirror().check_grammar(500);
}

/// Every flag that is not built is explained in the documentation.
#[test]
fn what_is_not_built_is_argued() {
    let argued = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compat/evalscope.md");
    let argued = std::fs::read_to_string(argued).unwrap();
    for flag in super::refusal::NOT_BUILT {
        assert!(argued.contains(&format!("`{flag}`")), "{flag}");
    }
}

#[test]
fn every_flag_is_declared_once() {
    mirror().check_declared(EvalscopeArgs::GROUPS);
}

#[test]
fn every_flag_without_effect_is_named() {
    let base = "--model m --dataset openqa --api openai";
    mirror().check_ineffective(EvalscopeArgs::GROUPS, base, 15, |args| {
        let args = args.iter().map(Into::into);
        let runs = super::parse("evalscope perf", args, &Environment::default());
        runs.map(|runs| runs.first.warnings).map_err(|error| error.to_string())
    });
}

#[test]
fn every_flag_has_an_effect_or_is_named() {
    let bases = [
        "--model m --dataset openqa --api openai",
        "--model m --dataset random --tokenizer-path t --api openai --url http://127.0.0.1:9/v1/completions",
        "--model m --dataset random_vl --tokenizer-path t --api openai",
        "--model m --dataset random --tokenizer-path t --api openai_embedding",
    ];
    mirror().check_effects(EvalscopeArgs::GROUPS, &bases, &[], 40, |args| {
        let args = args.iter().map(Into::into);
        let runs = super::parse("evalscope perf", args, &Environment::default());
        let mut runs = runs.map_err(|error| error.to_string())?;
        let warnings = std::mem::take(&mut runs.first.warnings);
        Ok((format!("{runs:?}"), warnings))
    });
}
