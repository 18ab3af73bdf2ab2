//! Command lines that were given to the peer's parser: what it refused, and what it read.

use serde_json::Value;

use super::mirror;
use crate::environment::Environment;
use crate::mirror::recorded;
use crate::sglang::args::SglangArgs;
use crate::sglang::parse;

/// Where we differ on purpose: the command line, what we say, and why.
const DIFFERENCES: [(&str, Option<&str>); 4] = [
    // The Python client hands these to another client, which lacks them; ours is the only one.
    (
        "--rust-client --backend trt",
        Some("Please provide a model using `--model` when using `trt` backend."),
    ),
    ("--rust-client --dataset-name image", None),
    ("--rust-client --cache-report --profile-by-stage", None),
    // The peer crashes after its first request.
    (
        "--request-rate -1",
        Some(
            "--request-rate: a request rate must be above zero, not -1; use inf to send everything \
             at once",
        ),
    ),
];

struct Line {
    argv: Vec<String>,
    recorded: Value,
}

impl Line {
    fn all() -> Vec<Self> {
        let line = |recorded: &Value| {
            let argv = serde_json::from_value(recorded["argv"].clone()).unwrap();
            Self { argv, recorded: recorded.clone() }
        };
        recorded("sglang", "usage_errors.json").as_array().unwrap().iter().map(line).collect()
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
}

/// What we are to say of a line: what the peer said, but for the differences.
fn expected(line: &Line) -> Option<&str> {
    let difference = DIFFERENCES.iter().find(|(argv, _)| *argv == line.shown());
    difference.map_or(line.refusal(), |(_, ours)| *ours)
}

#[test]
fn refusals_are_the_peers_word_for_word() {
    for line in Line::all() {
        assert_eq!(line.ours().as_deref(), expected(&line), "{}", line.shown());
    }
}

#[test]
fn no_difference_is_stale() {
    let lines = Line::all();
    for (argv, ours) in DIFFERENCES {
        let line = lines.iter().find(|line| line.shown() == argv).expect(argv);
        assert_ne!(line.refusal(), ours);
    }
}

#[test]
fn values_are_read_as_the_peer_reads_them() {
    let mirror = mirror();
    for line in Line::all().iter().filter(|line| line.recorded["exit"] == 0) {
        let given = mirror.read(&line.argv);
        given.typed::<SglangArgs>("serving").unwrap();
        let matches = mirror.matches(&given);
        for flag in &mirror.flags {
            let changed = &line.recorded["changed"][flag["dest"].as_str().unwrap()];
            let expected = if changed.is_null() { &flag["default"] } else { changed };
            let name = &flag["name"];
            assert_eq!(&mirror.value(&matches, flag), expected, "{}: {name}", line.shown());
        }
    }
}
