//! A real engine in a process of its own Python.

#![cfg_attr(not(feature = "engine"), expect(dead_code, reason = "engines are not built"))]

use std::time::Duration;

use clap::Args;
#[cfg(feature = "engine")]
use servemark_engine::WorkerSpec;
#[cfg(feature = "engine")]
use servemark_plan::OutputSpec;

use crate::error::CliError;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: engine")]
pub(crate) struct WorkerArgs {
    /// The Python that can import the engine
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    /// For how many seconds the engine may be silent before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = python::float)]
    engine_patience: f64,
    /// The file that keeps all that the engine prints; by default the run log's name and .engine.log
    #[arg(long, value_name = "PATH")]
    engine_log: Option<String>,
}

impl WorkerArgs {
    /// The interpreter: the flag's, else the one that the command line began with.
    pub(crate) fn interpreter<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        self.python.as_deref().or(named).unwrap_or("python3")
    }

    /// For how long it may be silent.
    pub(crate) fn patience(&self) -> Result<Duration, CliError> {
        let seconds = self.engine_patience;
        let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        let why = || format!("must be more than 0 seconds, not {seconds}");
        time.ok_or_else(|| CliError::setting("--engine-patience", why()))
    }

    /// Puts where all that it prints is kept into a worker.
    #[cfg(feature = "engine")]
    pub(crate) fn keep_log(&self, output: &OutputSpec, worker: &mut WorkerSpec) {
        match &self.engine_log {
            Some(path) => worker.log = Some(path.into()),
            None => keep_usual_log(output, worker),
        }
    }
}

/// Keeps all that an engine prints beside the run log, under a name that no other run has.
#[cfg(feature = "engine")]
pub(crate) fn keep_usual_log(output: &OutputSpec, worker: &mut WorkerSpec) {
    let path = output.run_log.as_ref().map(|path| path.to_string_lossy().into_owned());
    worker.log =
        path.map(|path| format!("{}.engine.log", path.trim_end_matches(".runlog.jsonl")).into());
    worker.numbers_log = true;
}
