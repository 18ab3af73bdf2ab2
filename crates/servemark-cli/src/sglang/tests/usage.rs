//! Command lines that were given to the peer's parser: what it refused, and what it read.

use super::mirror;
use crate::environment::Environment;
use crate::mirror::RecordedLine;
use crate::sglang::args::SglangArgs;
use crate::sglang::parse;

/// Where we differ on purpose: the command line, what we say, and why.
const DIFFERENCES: [(&str, Option<&str>); 5] = [
    // The list of choices holds ours besides the peer's.
    (
        "--backend nope",
        Some(
            "argument --backend: invalid choice: 'nope' (choose from 'sglang', 'sglang-native', \
             'sglang-oai', 'sglang-oai-chat', 'sglang-embedding', 'vllm', 'vllm-chat', \
             'vllm-embedding', 'lmdeploy', 'lmdeploy-chat', 'trt', 'gserver', 'truss', \
             'sglang-rerank', 'vllm-rerank', 'ollama', 'ollama-chat')",
        ),
    ),
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

fn lines() -> Vec<RecordedLine> {
    RecordedLine::all("sglang", "usage_errors.json")
}

/// What the peer said of a line, without its name.
fn refusal(line: &RecordedLine) -> Option<&str> {
    let message = line.recorded["message"].as_str()?;
    Some(message.strip_prefix("serving: error: ").unwrap())
}

/// What we say of it.
fn ours(line: &RecordedLine) -> Option<String> {
    let refusal = parse("serving", line.args(), &Environment::default()).err()?;
    assert_eq!(refusal.exit_code(), 2);
    Some(refusal.cause().map_or_else(|| refusal.to_string(), ToString::to_string))
}

/// What we are to say of a line: what the peer said, but for the differences.
fn expected(line: &RecordedLine) -> Option<&str> {
    let difference = DIFFERENCES.iter().find(|(argv, _)| *argv == line.shown());
    difference.map_or(refusal(line), |(_, ours)| *ours)
}

#[test]
fn refusals_are_the_peers_word_for_word() {
    for line in lines() {
        assert_eq!(ours(&line).as_deref(), expected(&line), "{}", line.shown());
    }
}

#[test]
fn no_difference_is_stale() {
    let lines = lines();
    for (argv, ours) in DIFFERENCES {
        let line = lines.iter().find(|line| line.shown() == argv).expect(argv);
        assert_ne!(refusal(line), ours);
    }
}

#[test]
fn values_are_read_as_the_peer_reads_them() {
    let mirror = mirror();
    for line in lines().iter().filter(|line| line.is_read()) {
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
