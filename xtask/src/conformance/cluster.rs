//! Runs that several processes share, under Open MPI, under Slurm and in network namespaces.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::metadata::cargo_command;

/// Usage of `cargo xtask conformance cluster`.
pub(super) const USAGE: &str = "cargo xtask conformance cluster [--programs DIR]";

/// Runs the script with the built programs, or builds them first.
pub(super) fn run(words: &[&str], workspace: &Path) -> anyhow::Result<()> {
    let programs = match words {
        [] => built(workspace)?,
        ["--programs", folder] => PathBuf::from(folder),
        _ => bail!("usage: {USAGE}"),
    };
    let mut command = Command::new("python3");
    command
        .arg(workspace.join("xtask/python/cluster.py"))
        .args(["servemark", "mock-server"].map(|name| programs.join(name)))
        .arg(workspace.join("fixtures/tokenizers/spm-unigram-botchan-1000"));
    ensure!(command.status().context("python3 does not start")?.success(), "ranks do not agree");
    Ok(())
}

fn built(workspace: &Path) -> anyhow::Result<PathBuf> {
    let mut command = cargo_command();
    command.args(["build", "--release", "-p", "servemark", "-p", "mock-server"]);
    ensure!(command.current_dir(workspace).status()?.success(), "the programs do not build");
    Ok(workspace.join("target/release"))
}
