//! The mirror of the flags, held against what SGLang 0.5.23's own parser says.

mod usage;

use serde_json::json;

use super::args::SglangArgs;
use super::names::{EXCLUSIVE, PEER};
use crate::mirror::{Mirror, recorded};

fn mirror() -> Mirror {
    let flags = recorded("sglang", "flags.json").as_array().unwrap().clone();
    let command = SglangArgs::whole_command("serving");
    Mirror { command, peer: &PEER, exclusive: EXCLUSIVE, flags }
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
        assert_eq!(mirror.value(&matches, flag), flag["default"], "{}", flag["name"]);
    }
}

#[test]
fn choices_are_the_peers() {
    mirror().check_choices();
}

#[test]
fn each_takes_as_many_values_as_the_peers() {
    mirror().check_arities();
}

#[test]
fn groups_are_the_peers() {
    let groups = recorded("sglang", "flag_groups.json");
    assert_eq!(json!(EXCLUSIVE), groups["mutually_exclusive"]);
}

#[test]
fn our_flags_have_names_of_their_own() {
    mirror().check_own_names();
}

#[test]
fn our_flags_never_change_what_an_abbreviation_of_the_peers_means() {
    mirror().check_abbreviations(500);
}
