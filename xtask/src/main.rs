//! The project's own chores. `cargo xtask check` is all that a change must pass; `cargo xtask tidy`
//! proves the walls between the crates; `cargo xtask conformance` runs every core backend against a
//! real engine.

use std::process::ExitCode;

mod check;
mod conformance;
mod tidy;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["check"] => check::run(),
        ["conformance", rest @ ..] => conformance::run(rest),
        ["tidy"] => tidy::run(),
        _ => Err(anyhow::anyhow!("usage: cargo xtask check | conformance | tidy")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "a chore tells its user what is wrong")]
fn complain(error: &anyhow::Error) {
    eprintln!("{error:#}");
}
