//! A virtual environment of Python, which has what a task needs of PyPI.

use std::env::{join_paths, split_paths, var_os};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::check::announce;

/// Package with zig: a C compiler and a linker for all targets.
pub(crate) const ZIG: &str = "ziglang==0.17.1";

/// A virtual environment.
pub(crate) struct PythonEnvironment {
    folder: PathBuf,
}

impl PythonEnvironment {
    /// Creates the environment with `requirements`, lines as of a `requirements.txt`, unless an earlier
    /// call has done it.
    pub(crate) fn new(folder: &Path, requirements: &str) -> anyhow::Result<Self> {
        let environment = Self { folder: folder.to_owned() };
        let installed = folder.join("installed.txt");
        if fs::read_to_string(&installed).is_ok_and(|installed| installed == requirements) {
            return Ok(environment);
        }
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(folder);
        run_to_end(&mut create)
            .context("Debian has the module venv in the package python3-venv")?;
        let wanted = folder.join("requirements.txt");
        fs::write(&wanted, requirements)?;
        let mut install = environment.pip();
        install.args(["install", "--quiet", "-r"]).arg(&wanted);
        run_to_end(&mut install)?;
        fs::rename(wanted, installed)?;
        Ok(environment)
    }

    /// Adds a package to the environment.
    pub(crate) fn install(&self, package: &str) -> anyhow::Result<()> {
        run_to_end(self.pip().args(["install", "--quiet", package]))
    }

    pub(crate) fn pip(&self) -> Command {
        let mut pip = self.python();
        pip.args(["-m", "pip"]);
        pip
    }

    pub(crate) fn python(&self) -> Command {
        self.program("python")
    }

    /// A program of one of the environment's packages.
    pub(crate) fn program(&self, name: &str) -> Command {
        Command::new(self.programs().join(name))
    }

    /// Lets a command find the environment's programs, Python among them, before others.
    pub(crate) fn add_to_path(&self, command: &mut Command) -> anyhow::Result<()> {
        let path = var_os("PATH").unwrap_or_default();
        let folders = [self.programs()].into_iter().chain(split_paths(&path));
        command.env("PATH", join_paths(folders)?);
        Ok(())
    }

    fn programs(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) { "Scripts" } else { "bin" })
    }
}

/// Runs a command to its end.
pub(crate) fn run_to_end(command: &mut Command) -> anyhow::Result<()> {
    announce(&format!("+ {command:?}"));
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
