//! Flags about an engine that runs in a worker process, with a Python of its own.

#![cfg_attr(not(feature = "engine"), expect(dead_code, reason = "engines are not built"))]

use std::time::Duration;

use clap::Args;
#[cfg(feature = "engine")]
use servemark_engine::WorkerSpec;
#[cfg(feature = "engine")]
use servemark_plan::OutputSpec;

use crate::argparse::flags;
use crate::error::CliError;
use crate::number::some_time;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: engine")]
pub(crate) struct WorkerArgs {
    /// Path of the Python that can import the engine; by default python3
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    /// For how many seconds the engine may be silent before it counts as hung and is ended
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = python::float)]
    engine_patience: f64,
    /// The file that keeps all that the engine prints; by default the run log's name and
    /// .engine.log
    #[arg(long, value_name = "PATH")]
    engine_log: Option<String>,
}

flags! { WorkerArgs {
    PYTHON = "--python";
    ENGINE_PATIENCE = "--engine-patience";
    ENGINE_LOG = "--engine-log";
}}

impl WorkerArgs {
    /// Returns the interpreter: the one of `--python`, else the one that the command line began
    /// with, else `python3`.
    pub(crate) fn interpreter<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        self.python.as_deref().or(named).unwrap_or("python3")
    }

    /// Returns how long the engine may be silent before it counts as hung.
    pub(crate) fn patience(&self) -> Result<Duration, CliError> {
        some_time(Self::ENGINE_PATIENCE, self.engine_patience)
    }

    /// Sets the file into which everything that the engine prints is written.
    #[cfg(feature = "engine")]
    pub(crate) fn keep_log(&self, output: &OutputSpec, worker: &mut WorkerSpec) {
        match &self.engine_log {
            Some(path) => worker.log = Some(path.into()),
            None => keep_usual_log(output, worker),
        }
    }
}

/// Sets the default file for everything that an engine prints: it is beside the run log, and gets a
/// number if its name is taken. Without a run log nothing is kept.
#[cfg(feature = "engine")]
pub(crate) fn keep_usual_log(output: &OutputSpec, worker: &mut WorkerSpec) {
    let path = output.run_log.as_ref().map(|path| path.to_string_lossy().into_owned());
    worker.log =
        path.map(|path| format!("{}.engine.log", path.trim_end_matches(".runlog.jsonl")).into());
    worker.numbers_log = true;
}
