//! Our flags never change what an abbreviation of the peer's means.

use super::super::names::{EXCLUSIVE, PEER};
use super::*;
use crate::argparse::Grammar;

/// What a prefix alone comes to, as a flag's name or a refusal.
fn resolved(grammar: &Grammar, prefix: &str) -> String {
    match grammar.read(&[format!("{prefix}=1")]) {
        Ok(reading) if reading.given.is_empty() => "unrecognized".to_owned(),
        Ok(reading) => reading.given[0].flag.clone(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_prefix_of_every_flag_means_the_same_with_ours_present() {
    let ours = Grammar::of(&command(), &PEER, EXCLUSIVE);
    let mut peers = ours.clone();
    peers.own.clear();
    let mut known = 0;
    for flag in PEER {
        for prefix in (3..=flag.len()).map(|end| &flag[..end]) {
            let expected = resolved(&peers, prefix);
            assert_eq!(resolved(&ours, prefix), expected, "{prefix}");
            known += usize::from(expected.starts_with("--"));
        }
    }
    assert!(known > 500, "only {known} prefixes are unambiguous");
}

#[test]
fn no_flag_of_ours_is_a_prefix_of_a_peers() {
    let own = Grammar::of(&command(), &PEER, EXCLUSIVE).own;
    for flag in own {
        assert!(!PEER.iter().any(|peer| peer.starts_with(&flag.name)), "{}", flag.name);
    }
}
