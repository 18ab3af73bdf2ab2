//! Flag parity: names, types, defaults, choices and how many values each takes.

use clap::builder::PossibleValue;

use super::super::names::{EXCLUSIVE, PEER};
use super::*;
use crate::argparse::{Arity, Grammar};

#[test]
fn every_flag_of_the_peer_is_there_in_its_order() {
    let flags = recorded("flags.json");
    let names: Vec<&str> = flags.iter().map(|flag| flag["name"].as_str().unwrap()).collect();
    assert_eq!(PEER[0], "--help");
    assert_eq!(PEER[1..], names);
    assert_eq!(Grammar::of(&command(), &PEER, EXCLUSIVE).peer.len(), PEER.len());
    assert!(flags.iter().all(|flag| flag["aliases"] == json!([])), "an alias is not mirrored");
}

#[test]
fn defaults_and_types_are_the_peers() {
    let command = command();
    let matches = command.clone().try_get_matches_from(["serving"]).unwrap();
    for flag in recorded("flags.json") {
        let name = flag["name"].as_str().unwrap();
        let default = value(&matches, arg(&command, name), &flag);
        assert_eq!(default, flag["default"], "{name}");
    }
}

#[test]
fn choices_are_the_peers() {
    let command = command();
    for flag in recorded("flags.json").iter().filter(|flag| flag["kind"] != "store_true") {
        let name = flag["name"].as_str().unwrap();
        let choices = arg(&command, name).get_possible_values();
        let shown = choices.iter().filter(|choice| !choice.is_hide_set());
        let choices: Vec<&str> = shown.map(PossibleValue::get_name).collect();
        let expected = if choices.is_empty() { Value::Null } else { json!(choices) };
        assert_eq!(expected, flag["choices"], "{name}");
    }
}

#[test]
fn each_takes_as_many_values_as_the_peers() {
    let grammar = Grammar::of(&command(), &PEER, EXCLUSIVE);
    for flag in recorded("flags.json") {
        let name = flag["name"].as_str().unwrap();
        let expected = match (flag["kind"].as_str(), flag["nargs"].as_str()) {
            (Some("store_true"), _) => Arity::Switch,
            (_, Some("+")) => Arity::Some,
            (_, Some("*")) => Arity::Any,
            _ => Arity::One,
        };
        let ours = grammar.peer.iter().find(|ours| ours.name == name).unwrap();
        assert_eq!(ours.arity, expected, "{name}");
    }
}

#[test]
fn groups_are_the_peers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/flag_groups.json");
    let groups: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(json!(EXCLUSIVE), groups["mutually_exclusive"]);
}

#[test]
fn our_flags_have_names_of_their_own() {
    let own = Grammar::of(&command(), &PEER, EXCLUSIVE).own;
    assert!(own.iter().all(|flag| !PEER.contains(&flag.name.as_str())));
    assert!(own.iter().any(|flag| flag.name == "--simulate"), "the list of ours is not empty");
}
