//! Development tasks. `cargo xtask check` runs everything that a change must pass; `cargo xtask
//! tidy` checks the dependencies between crates; `cargo xtask conformance` runs every core
//! backend against a real engine; `cargo xtask command-lines` compares our program with the
//! peers' clients on drawn command lines.

use std::process::ExitCode;

mod check;
mod command_lines;
mod conformance;
mod tidy;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["check"] => check::run(),
        ["command-lines", rest @ ..] => command_lines::run(rest),
        ["conformance", rest @ ..] => conformance::run(rest),
        ["tidy"] => tidy::run(),
        _ => Err(anyhow::anyhow!("usage: cargo xtask check | command-lines | conformance | tidy")),
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
