//! Compares the reading of command lines with a recording of SGLang's parser: what it refused, and
//! which values it read.

use super::mirror;
use crate::environment::Environment;
use crate::mirror::RecordedLine;
use crate::sglang::args::SglangArgs;
use crate::sglang::parse;

/// Intended differences: the command line and Servemark's error, or `None` if Servemark accepts it.
const DIFFERENCES: [(&str, Option<&str>); 2] = [
    // Servemark's list of choices contains its own besides SGLang's.
    (
        "--backend nope",
        Some(
            "argument --backend: invalid choice: 'nope' (choose from 'sglang', 'sglang-native', \
             'sglang-oai', 'sglang-oai-chat', 'sglang-embedding', 'vllm', 'vllm-chat', \
             'vllm-embedding', 'lmdeploy', 'lmdeploy-chat', 'trt', 'gserver', 'truss', \
             'sglang-rerank', 'vllm-rerank', 'ollama', 'ollama-chat', 'anthropic')",
        ),
    ),
    // SGLang's client crashes after its first request.
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

/// Returns the error of SGLang's parser about a command line, without the program's name; `None` if
/// the parser accepted it.
fn refusal(line: &RecordedLine) -> Option<&str> {
    let message = line.recorded["message"].as_str()?;
    Some(message.strip_prefix("serving: error: ").unwrap())
}

/// Returns Servemark's error about a command line; `None` if it accepts the line.
fn ours(line: &RecordedLine) -> Option<String> {
    let refusal = parse("serving", line.args(), &Environment::default()).err()?;
    assert_eq!(refusal.exit_code(), 2);
    Some(refusal.cause().map_or_else(|| refusal.to_string(), ToString::to_string))
}

/// Returns the expected error about a command line: that of SGLang's parser, unless the line is one
/// of the intended differences.
fn expected(line: &RecordedLine) -> Option<&str> {
    let difference = DIFFERENCES.iter().find(|(argv, _)| *argv == line.command_line());
    difference.map_or(refusal(line), |(_, ours)| *ours)
}

#[test]
fn refusals_are_the_peers_word_for_word() {
    for line in lines() {
        assert_eq!(ours(&line).as_deref(), expected(&line), "{}", line.command_line());
    }
}

#[test]
fn no_difference_is_stale() {
    let lines = lines();
    for (argv, ours) in DIFFERENCES {
        let line = lines.iter().find(|line| line.command_line() == argv).expect(argv);
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
            assert_eq!(&mirror.value(&matches, flag), expected, "{}: {name}", line.command_line());
        }
    }
}
