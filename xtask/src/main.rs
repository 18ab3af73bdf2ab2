//! Development tasks. `cargo xtask check` runs everything that a change must pass; `cargo xtask
//! tidy`, `features` and `deny` run parts of it; `cargo xtask commits` checks the subjects of
//! commits; `cargo xtask conformance` runs every core backend against a real engine; `cargo xtask
//! command-lines` compares our program with the peers' clients on drawn command lines; `cargo xtask
//! doc-sample` draws doc comments for a review; `cargo xtask package` packs the crates and checks the
//! packages.

use std::process::ExitCode;

mod check;
mod command_lines;
mod commits;
mod conformance;
mod doc_sample;
mod metadata;
mod package;
mod tidy;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["check"] => check::run(),
        ["command-lines", rest @ ..] => command_lines::run(rest),
        ["commits", rest @ ..] => commits::run(rest),
        ["conformance", rest @ ..] => conformance::run(rest),
        ["deny"] => check::deny(),
        ["doc-sample", rest @ ..] => doc_sample::run(rest),
        ["features"] => check::features(),
        ["package"] => package::run(),
        ["tidy"] => tidy::run(),
        _ => Err(anyhow::anyhow!(
            "usage: cargo xtask check | command-lines | commits | conformance | deny | doc-sample | \
             features | package | tidy"
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "a chore tells its user what is wrong")]
fn print_error(error: &anyhow::Error) {
    eprintln!("{error:#}");
}
