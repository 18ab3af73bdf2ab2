//! Command lines that were given to the peer's parser: what it refused, and what it read.

use super::super::{Given, typed};
use super::*;
use crate::argparse::Grammar;
use crate::environment::Environment;
use crate::sglang::names::{EXCLUSIVE, PEER};
use crate::sglang::parse;

/// Where we differ on purpose: the command line, what we say, and why.
const DIFFERENCES: [(&str, &str); 6] = [
    // The Python client hands these to another client; ours has no other.
    ("--rust-client --backend trt", RUST_CLIENT),
    ("--rust-client --dataset-name image", RUST_CLIENT),
    ("--rust-client --cache-report --profile-by-stage", RUST_CLIENT),
    // The peer accepts these and sends as told; we have not built what they ask for.
    (
        "--gsp-group-distribution zipf --gsp-zipf-alpha 1.2",
        "--gsp-group-distribution zipf is not built yet",
    ),
    ("--lora-name a b --lora-request-distribution distinct", "--lora-name a b is not built yet"),
    // The peer crashes after its first request.
    (
        "--request-rate -1",
        "--request-rate: a request rate must be above zero, not -1; use inf to send everything at \
         once",
    ),
];

const RUST_CLIENT: &str =
    "--rust-client is not built yet; leave it out, this client is compiled already";

struct Line {
    argv: Vec<String>,
    recorded: Value,
}

impl Line {
    fn all() -> Vec<Self> {
        let line = |recorded: Value| {
            let argv = serde_json::from_value(recorded["argv"].clone()).unwrap();
            Self { argv, recorded }
        };
        recorded("usage_errors.json").into_iter().map(line).collect()
    }

    fn shown(&self) -> String {
        self.argv.join(" ")
    }

    /// What the peer said, without its name.
    fn refusal(&self) -> Option<&str> {
        let message = self.recorded["message"].as_str()?;
        Some(message.strip_prefix("serving: error: ").unwrap())
    }

    /// What we say.
    fn ours(&self) -> Option<String> {
        let args = self.argv.iter().map(Into::into);
        let refusal = parse("serving", args, &Environment::default()).err()?;
        assert_eq!(refusal.exit_code(), 2);
        Some(refusal.cause().map_or_else(|| refusal.to_string(), ToString::to_string))
    }

    fn given(&self) -> Given {
        let command = command();
        let reading = Grammar::of(&command, &PEER, EXCLUSIVE).read(&self.argv).unwrap();
        Given { reading, command }
    }
}

fn difference(line: &Line) -> Option<&'static str> {
    DIFFERENCES.iter().find(|(argv, _)| *argv == line.shown()).map(|(_, ours)| *ours)
}

#[test]
fn refusals_are_the_peers_word_for_word() {
    for line in Line::all() {
        let expected = difference(&line).or(line.refusal());
        assert_eq!(line.ours().as_deref(), expected, "{}", line.shown());
    }
}

#[test]
fn no_difference_is_stale() {
    let lines = Line::all();
    for (argv, ours) in DIFFERENCES {
        let line = lines.iter().find(|line| line.shown() == argv).expect(argv);
        assert_ne!(line.refusal(), Some(ours));
    }
}

#[test]
fn values_are_read_as_the_peer_reads_them() {
    let flags = recorded("flags.json");
    for line in Line::all().iter().filter(|line| line.recorded["exit"] == 0) {
        let given = line.given();
        typed("serving", &given).unwrap();
        let args = std::iter::once("serving".to_owned()).chain(given.reading.canonical());
        let matches = given.command.clone().try_get_matches_from(args).unwrap();
        for flag in &flags {
            let changed = &line.recorded["changed"][flag["dest"].as_str().unwrap()];
            let expected = if changed.is_null() { &flag["default"] } else { changed };
            let arg = arg(&given.command, flag["name"].as_str().unwrap());
            assert_eq!(&value(&matches, arg, flag), expected, "{}: {arg}", line.shown());
        }
    }
}
