//! The folder of the results of a command, and the flags about it.

use std::path::{Path, PathBuf};

use clap::Args;
use servemark_core::IfTaken;
use servemark_plan::OutputSpec;

use crate::argparse::flags;
use crate::environment::Environment;
use crate::error::CliError;
use crate::own::RunArgs;

/// Folder of the results of a command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ResultsFolder {
    /// Named after the time of the start, so that the folder is a new one. If another process took
    /// the name, these runs have the first free one: `NAME_2`, `NAME_3`, …
    Dated(PathBuf),
    /// Named by the user. If it exists, several runs continue in it.
    Named(PathBuf),
}

impl ResultsFolder {
    /// Returns the folder that the user names, else the usual one.
    pub(crate) fn named_or_usual(named: Option<PathBuf>, environment: &Environment) -> Self {
        named.map_or_else(|| usual_folder(environment), Self::Named)
    }

    /// Returns the path of the folder, without the number that it may get.
    pub fn path(&self) -> &Path {
        match self {
            Self::Dated(path) | Self::Named(path) => path,
        }
    }
}

/// Returns the folder of a run's results: `named`, which the user gave; without one, none if the user
/// decides about the run log alone, or else the `usual` one of the command, if it has one.
pub(crate) fn folder_of_run(
    named: Option<PathBuf>,
    log_is_decided: bool,
    usual: Option<ResultsFolder>,
) -> Option<ResultsFolder> {
    named.map(ResultsFolder::Named).or_else(|| usual.filter(|_| !log_is_decided))
}

/// Returns the usual folder of a command of Servemark's own: `servemark-results/DATE_TIME`.
pub(crate) fn usual_folder(environment: &Environment) -> ResultsFolder {
    let [date, time] = environment.now().digits();
    ResultsFolder::Dated(Path::new(RESULTS).join(format!("{date}_{time}")))
}

/// Folder in which each command of Servemark's own makes a folder of its results.
const RESULTS: &str = "servemark-results";

/// The flag about the folder of a run's results.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(crate) struct ResultsArgs {
    /// Folder of the results: report.html, summary.json and run.runlog.jsonl; bench-embedding and
    /// bench-offline make servemark-results/DATE_TIME if --run-log and --no-run-log are not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

flags! { ResultsArgs {
    OUT = "--out";
}}

impl ResultsArgs {
    /// Returns the folder of a run's results: without `--out`, `--run-log` and `--no-run-log` the
    /// `usual` one of the command, if it has one. The log of a run with a folder is in it, so
    /// `output` names none then, unless `--run-log` does.
    pub(crate) fn folder(
        &self,
        run: &RunArgs,
        usual: Option<ResultsFolder>,
        output: &mut OutputSpec,
    ) -> Result<Option<ResultsFolder>, CliError> {
        if self.out.is_some() && run.no_run_log {
            let [flag, other] = [RunArgs::NO_RUN_LOG, Self::OUT].map(|flag| flag.to_string());
            return Err(CliError::Conflict { flag, other });
        }
        let log_is_decided = run.run_log.is_some() || run.no_run_log;
        let folder = folder_of_run(self.out.clone(), log_is_decided, usual);
        if folder.is_some() && run.run_log.is_none() {
            (output.run_log, output.run_log_if_taken) = (None, IfTaken::Refuse);
        }
        Ok(folder)
    }
}
