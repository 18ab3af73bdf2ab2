//! Runs all checks that a change must pass, the fastest first.

use std::process::Command;

use anyhow::{Context, ensure};

use crate::tidy;

/// Runs all checks and stops at the first failure.
pub(crate) fn run() -> anyhow::Result<()> {
    tidy::run()?;
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    cargo(&["doc", "--workspace", "--no-deps", "--locked"])?;
    cargo(&["test", "--workspace", "--locked"])
}

fn cargo(args: &[&str]) -> anyhow::Result<()> {
    let line = format!("cargo {}", args.join(" "));
    announce(&line);
    let mut command = Command::new(env!("CARGO"));
    command.args(args).env("RUSTDOCFLAGS", "-D warnings");
    let status = command.status().with_context(|| line.clone())?;
    ensure!(status.success(), "{line} failed");
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a chore tells its user what it does")]
fn announce(line: &str) {
    eprintln!("+ {line}");
}
