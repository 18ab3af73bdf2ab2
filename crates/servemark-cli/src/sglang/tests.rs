//! Compares the flags with a recording of SGLang 0.5.23's own parser.

mod usage;

use serde_json::json;

use super::args::{EXCLUSIVE, PEER, SglangArgs};
use crate::environment::Environment;
use crate::mirror::{Mirror, as_recorded, recorded};
use crate::parsed::Parsed;

fn mirror() -> Mirror {
    let flags = recorded("sglang", "flags.json").as_array().unwrap().clone();
    let command = SglangArgs::whole_command("serving");
    Mirror { command, peer: PEER.names(), exclusive: EXCLUSIVE, flags }
}

#[test]
fn every_flag_of_the_peer_is_there_in_its_order() {
    mirror().check_names();
}

#[test]
fn defaults_and_types_are_the_peers() {
    mirror().check_defaults(Mirror::value, as_recorded);
}

#[test]
fn choices_arities_and_names_are_the_peers() {
    mirror().check_grammar(500);
}

#[test]
fn every_flag_is_declared_once() {
    mirror().check_declared(SglangArgs::GROUPS);
}

#[test]
fn groups_are_the_peers() {
    let groups = recorded("sglang", "flag_groups.json");
    let ours: Vec<Vec<&str>> =
        EXCLUSIVE.iter().map(|group| group.iter().map(|flag| flag.name()).collect()).collect();
    assert_eq!(json!(ours), groups["mutually_exclusive"]);
}

#[test]
fn every_flag_without_effect_is_named() {
    let base = "--model m --dataset-name random --backend sglang";
    mirror().check_ineffective(SglangArgs::GROUPS, base, 40, |args| {
        let args = args.iter().map(Into::into);
        let parsed = super::parse("bench-serving", args, &Environment::default());
        parsed.map(|parsed| parsed.warnings).map_err(|error| error.to_string())
    });
}

#[test]
fn every_flag_has_an_effect_or_is_named() {
    let bases = [
        "--model m --dataset-name random --backend sglang",
        "--model m --dataset-name random-ids --backend vllm-chat",
        "--model m --dataset-name generated-shared-prefix --backend sglang-oai",
        "--model m --dataset-name sharegpt --backend trt --header a=b",
        "--model m --dataset-name mooncake --backend sglang",
        "--model m --dataset-name random --backend sglang-embedding",
        "--model m --dataset-name image --backend sglang-oai-chat",
    ];
    mirror().check_effects(SglangArgs::GROUPS, &bases, &[], 60, |args| {
        let args = args.iter().map(Into::into);
        let parsed = super::parse("bench-serving", args, &Environment::default());
        let parsed = parsed.map_err(|error| error.to_string())?;
        let warnings = parsed.warnings.clone();
        let read = Parsed { warnings: Vec::new(), peer_arguments: None, ..parsed };
        Ok((format!("{read:?}"), warnings))
    });
}

#[test]
fn a_command_line_without_arguments_says_how_to_name_a_server() {
    let warnings = |args: &[&str]| {
        let args = args.iter().map(Into::into);
        super::parse("bench-serving", args, &Environment::default()).unwrap().warnings
    };
    assert_eq!(warnings(&[]), [super::NAMES_NOTHING]);
    assert_eq!(warnings(&["--backend", "sglang"]), [""; 0]);
}
