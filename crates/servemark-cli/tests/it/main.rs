//! Tests of command lines and their plans.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bodies;
mod launchers;
mod plans;
mod properties;
mod published;
mod refusals;
mod shells;
mod vllm;
#[cfg(feature = "engine")]
mod vllm_throughput;

use servemark_cli::{CliError, Environment, LocalTime, Parsed, UsageError, sglang};

/// Returns an environment with a fixed time and folder.
fn environment() -> Environment {
    let now = LocalTime::new((2026, 7, 4), (9, 5, 0), 1_783_155_900.25);
    Environment::default().at(now).in_directory("/bench")
}

/// Parses a command line whose arguments contain no spaces.
fn read(line: &str) -> Result<Parsed, UsageError> {
    sglang::parse("bench-serving", line.split_whitespace().map(Into::into), &environment())
}

#[track_caller]
fn parsed(line: &str) -> Parsed {
    read(line).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refusal(line: &str) -> CliError {
    read(line).unwrap_err().cause().unwrap().clone()
}
