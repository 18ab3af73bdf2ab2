//! What a command line asks for, and the command lines of the benchmarks with SGLang's flags.

mod embeddings;

use std::ffi::OsString;

pub use self::embeddings::embedding_bench;
use crate::cluster::RankSettings;
#[cfg(feature = "commands")]
use crate::commands::Command;
use crate::dialect::Dialect;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::offline::Offline;
use crate::parsed::Parsed;
use crate::plan_file::with_plan_format;
use crate::sglang;
use crate::sglang::embedding::Sweep;
use crate::sglang::older;
use crate::slo::SloRuns;
use crate::sweep::{Runs, SweepRuns, bench};

/// A parsed command line, classified by what it asks for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Invocation {
    /// A serving benchmark of one run.
    Bench(Box<Parsed>),
    /// A command that only the program `servemark` has.
    #[cfg(feature = "commands")]
    Command(Command),
    /// A benchmark of an engine, over HTTP or without a server.
    Offline(Box<Offline>),
    /// A search for the largest load that meets its objectives (`--slo-search`).
    SloSearch(Box<SloRuns>),
    /// One or more runs of embeddings or rankings (`bench-embedding`).
    Sweep(Box<Sweep>),
    /// Several runs of a serving benchmark, with different values of its flags (`--sweep`).
    SweepRuns(Box<SweepRuns>),
}

impl Invocation {
    /// Returns whether standard output gets one document of JSON and no other text.
    pub fn prints_document(&self) -> bool {
        match self {
            Self::Bench(parsed) => parsed.prints_document(),
            #[cfg(feature = "commands")]
            Self::Command(command) => command.prints_document(),
            Self::Offline(offline) => offline.run.prints_document(),
            Self::SloSearch(runs) => runs.first.prints_document(),
            Self::Sweep(sweep) => sweep.points.first().is_some_and(Parsed::prints_document),
            Self::SweepRuns(runs) => runs.first.prints_document(),
        }
    }

    /// Returns the dialect in which the command line was given.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Bench(parsed) => Dialect::of(&parsed.plan),
            #[cfg(feature = "commands")]
            Self::Command(command) => command.dialect(),
            Self::SloSearch(runs) => Dialect::of(&runs.first.plan),
            Self::SweepRuns(runs) => Dialect::of(&runs.first.plan),
            Self::Offline(_) | Self::Sweep(_) => Dialect::Sglang,
        }
    }

    /// Returns the part of this command line that a rank other than 0 uses. Fails for commands that
    /// several machines cannot share.
    pub fn rank_settings(&self) -> Result<RankSettings<'_>, CliError> {
        match self {
            Self::Bench(parsed) => Ok(RankSettings::Run(parsed)),
            #[cfg(feature = "commands")]
            Self::Command(command) => command.rank_settings(),
            Self::Offline(_) => Err(CliError::not_shared()),
            Self::SloSearch(runs) => Ok(RankSettings::Run(&runs.first)),
            Self::Sweep(sweep) => Ok(RankSettings::Run(&sweep.points[0])),
            Self::SweepRuns(runs) => Ok(RankSettings::Run(&runs.first)),
        }
    }

    /// Returns whether the command only prints its plan.
    pub fn only_prints(&self) -> bool {
        matches!(self, Self::Bench(parsed) if parsed.plan_only.is_some())
    }
}

impl From<Runs> for Invocation {
    fn from(runs: Runs) -> Self {
        match runs {
            Runs::One(parsed) => Self::Bench(parsed),
            Runs::Search(search) => Self::SloSearch(search),
            Runs::Sweep(sweep) => Self::SweepRuns(sweep),
        }
    }
}

#[cfg(feature = "commands")]
impl From<Command> for Invocation {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

/// Parses a command line of SGLang's serving benchmark, with flags of its older versions too.
pub fn bench_serving(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let args = with_plan_format(args.into_iter().collect());
    let renewed =
        older::replace_old_flags(args).map_err(|error| UsageError::refused(program, error))?;
    let parse = |program: &str, args, environment: &Environment| {
        let mut parsed = sglang::parse(program, args, environment)?;
        parsed.warnings.extend_from_slice(&renewed.warnings);
        Ok(parsed)
    };
    bench(program, renewed.args, environment, sglang::RESULT_FILES, parse).map(Into::into)
}

/// Parses a command line of SGLang's benchmark of an engine without a server. `python` is the
/// interpreter that imports the engine, if the command line began with one.
#[cfg(feature = "engine")]
pub fn bench_offline(
    program: &str,
    python: Option<&str>,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let offline = sglang::offline::parse(program, python, args, environment)?;
    Ok(Invocation::Offline(Box::new(offline)))
}
