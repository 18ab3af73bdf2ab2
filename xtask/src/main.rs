//! Development tasks: `cargo xtask NAME`. [`COMMANDS`] has the names; `CONTRIBUTING.md` says what each
//! does.

use std::process::ExitCode;

mod check;
mod command_lines;
mod commits;
mod conformance;
mod dist;
mod doc_sample;
mod licences;
mod markdown;
mod metadata;
mod package;
mod python_environment;
mod site;
mod tidy;
mod toml_file;
mod wheel;

/// A task, given the words after its name.
type Task = fn(&[&str]) -> anyhow::Result<()>;

/// Each task with its name.
const COMMANDS: &[(&str, Task)] = &[
    ("check", |_| check::run()),
    ("command-lines", command_lines::run),
    ("commits", commits::run),
    ("conformance", conformance::run),
    ("deny", |_| check::deny()),
    ("dist", dist::run),
    ("doc-sample", doc_sample::run),
    ("features", |_| check::features()),
    ("package", |_| package::run()),
    ("site", |_| site::run()),
    ("tidy", |_| tidy::run()),
    ("wheel", wheel::run),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, words) = words.split_first().unwrap_or((&"", &[]));
    let task = COMMANDS.iter().find(|(known, _)| known == name);
    let done = task.map_or_else(|| Err(usage()), |(_, task)| task(words));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

fn usage() -> anyhow::Error {
    let names: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    anyhow::anyhow!("usage: cargo xtask {}", names.join(" | "))
}

#[expect(clippy::print_stderr, reason = "a chore tells its user what is wrong")]
fn print_error(error: &anyhow::Error) {
    eprintln!("{error:#}");
}
