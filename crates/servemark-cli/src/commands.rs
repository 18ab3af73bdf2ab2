//! The commands that only the program `servemark` has: its own ones, and those of the other clients.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod ab;
mod completions;
pub mod dispatch;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod explore;
mod export;
mod launch;
mod manual;
#[cfg(feature = "mock-server")]
mod mock_server;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod rerun;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod run_file;
mod schema;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod score;
mod selftest;

#[cfg(feature = "mock-server")]
use servemark_mock::program::ServerFlags;

pub use self::ab::AbRuns;
pub use self::explore::{ExploreArgs, ExploreTarget};
pub use self::export::ExportArgs;
pub use self::launch::LaunchArgs;
pub use self::rerun::Rerun;
pub use self::run_file::FileRun;
pub use self::score::{Objectives, Percentiles, ScoreArgs, ScoringArgs, TableStyle, Tables};
pub use self::selftest::SelftestArgs;
use crate::aisbench::Tasks;
use crate::cluster::RankSettings;
use crate::compare::CompareArgs;
use crate::dialect::Dialect;
use crate::error::CliError;
use crate::evalscope::EvalscopeRuns;
use crate::parsed::Parsed;
use crate::sglang::one_batch::OneBatch;
use crate::vllm::sweep::SweepCommand;
use crate::vllm::{Series, TextSlices};

/// A command line of one of these commands, parsed.
#[derive(Debug)]
pub enum Command {
    /// Runs against two servers in turn, to compare them (`servemark ab`).
    Ab(Box<AbRuns>),
    /// Performance tasks of AISBench (`ais_bench -m perf`).
    Aisbench(Box<Tasks>),
    /// A comparison: what changed from one result to another (`servemark compare`).
    Compare(Box<CompareArgs>),
    /// The prompts of a serving benchmark, which are drawn and not sent.
    DryRun(Box<Parsed>),
    /// Runs or a search of evalscope's (`evalscope perf`).
    Evalscope(Box<EvalscopeRuns>),
    /// An exploration of a server of which only the address is known (`servemark [URL]`).
    Explore(Box<ExploreArgs>),
    /// An export of a run log to a format of other programs (`servemark export`).
    Export(ExportArgs),
    /// A command that is started on several machines (`servemark launch`).
    Launch(LaunchArgs),
    /// The simulator as a server on a port (`servemark mock-server`).
    #[cfg(feature = "mock-server")]
    MockServer(Box<ServerFlags>),
    /// Several runs against one server, to measure the spread between them (`servemark noise`).
    Noise(Box<AbRuns>),
    /// Batches that are sent as one request each.
    OneBatch(Box<OneBatch>),
    /// A repetition of a finished run, from its run log (`servemark rerun`).
    Rerun(Box<Rerun>),
    /// A run that a file describes (`servemark run FILE`).
    Run(Box<FileRun>),
    /// The figures of a finished run, from its run log (`servemark score`).
    Score(Box<ScoreArgs>),
    /// A test of this machine as a client (`servemark selftest`).
    Selftest(SelftestArgs),
    /// Several runs of one command line of vLLM's, one after the other.
    Series(Box<Series>),
    /// A text that is printed: a JSON Schema, a completion script or a manual page.
    Text(String),
    /// A text that is cut into prompts (vLLM's `create_txt_slices_dataset`).
    TextSlices(Box<TextSlices>),
    /// A sweep of vLLM's (`vllm bench sweep`).
    VllmSweep(Box<SweepCommand>),
}

impl Command {
    /// Returns whether standard output gets one document of JSON and no other text.
    pub(crate) fn prints_document(&self) -> bool {
        match self {
            Self::Ab(runs) | Self::Noise(runs) => runs.json && runs.first.plan_only.is_none(),
            Self::Aisbench(tasks) => {
                tasks.tasks.first().is_some_and(|task| task.parsed.prints_document())
            }
            Self::Compare(args) => args.json,
            Self::DryRun(parsed) => parsed.prints_document(),
            Self::Evalscope(runs) => runs.first.prints_document(),
            Self::Explore(args) => args.json,
            Self::Export(args) => args.json,
            Self::OneBatch(bench) => bench.common.prints_document(),
            Self::Rerun(rerun) => rerun.prints_document(),
            Self::Run(run) => run.parsed.as_ref().is_some_and(Parsed::prints_document),
            Self::Score(args) => args.json,
            Self::Selftest(args) => args.json,
            Self::Series(series) => series.first.prints_document(),
            Self::TextSlices(slices) => slices.json,
            Self::VllmSweep(command) => command.prints_document(),
            Self::Launch(_) | Self::Text(_) => false,
            #[cfg(feature = "mock-server")]
            Self::MockServer(_) => false,
        }
    }

    /// Returns the dialect in which the command line was given.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Aisbench(_) => Dialect::Aisbench,
            Self::DryRun(parsed) => Dialect::of(&parsed.plan),
            Self::Evalscope(_) => Dialect::Evalscope,
            Self::Run(_) => Dialect::File,
            Self::Series(series) => Dialect::of(&series.first.plan),
            Self::TextSlices(_) | Self::VllmSweep(_) => Dialect::Vllm,
            _ => Dialect::Sglang,
        }
    }

    /// Returns the part of this command line that a rank other than 0 uses. Fails for commands that
    /// several machines cannot share.
    pub(crate) fn rank_settings(&self) -> Result<RankSettings<'_>, CliError> {
        let parsed = match self {
            Self::Ab(runs) | Self::Noise(runs) => &runs.first,
            Self::Aisbench(tasks) => &tasks.tasks[0].parsed,
            Self::Evalscope(runs) => &runs.first,
            Self::Explore(args) => return Ok(RankSettings::Explore(&args.credentials)),
            Self::Run(run) => match &run.parsed {
                Some(parsed) => parsed,
                None => return Ok(RankSettings::Faulty),
            },
            Self::Series(series) => &series.first,
            Self::Compare(_)
            | Self::DryRun(_)
            | Self::Export(_)
            | Self::Launch(_)
            | Self::OneBatch(_)
            | Self::Rerun(_)
            | Self::Score(_)
            | Self::Selftest(_)
            | Self::Text(_)
            | Self::TextSlices(_)
            | Self::VllmSweep(_) => return Err(CliError::not_shared()),
            #[cfg(feature = "mock-server")]
            Self::MockServer(_) => return Err(CliError::not_shared()),
        };
        Ok(RankSettings::Run(parsed))
    }
}
