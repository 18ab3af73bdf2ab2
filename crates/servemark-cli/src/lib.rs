//! Command lines of the peers and of Servemark: converts arguments into benchmark plans.
//!
//! Each dialect is a module: a mirror of the peer's flags, one to one, and a conversion that gives
//! a [`BenchPlan`](servemark_plan::BenchPlan) or an error that names a flag. No flag is accepted
//! and then ignored in silence. [`dispatch`] finds out which dialect a command line is in.
//!
//! This crate opens no connection and prints nothing. Only an [`Environment`] that
//! [`from_process`](Environment::from_process) returned reads the process's environment, the
//! current folder and the files that a command line names.

#![cfg_attr(
    not(feature = "commands"),
    allow(dead_code, unused_imports, reason = "only the commands use some of the shared parts")
)]

mod address;
#[cfg(feature = "commands")]
pub mod aisbench;
mod argparse;
mod cluster;
#[cfg(feature = "commands")]
mod commands;
#[cfg(feature = "commands")]
mod compare;
mod credentials;
mod dialect;
mod environment;
mod error;
#[cfg(feature = "commands")]
pub mod evalscope;
#[cfg(feature = "commands")]
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod gates;
mod invocation;
#[cfg(test)]
mod mirror;
mod nearest;
mod number;
mod offline;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod own;
mod parsed;
mod plan_file;
mod profile;
mod python;
mod results_folder;
pub mod sglang;
mod slo;
mod sweep;
mod until;
#[cfg(feature = "commands")]
pub mod vllm;
mod words;

pub use argparse::Namespace;
pub use cluster::{ClusterArgs, GatherWhat, RankSettings, take_cluster};
#[cfg(feature = "commands")]
pub use commands::{
    AbRuns, Command, ExploreArgs, ExploreTarget, ExportArgs, FileRun, LaunchArgs, Objectives,
    Percentiles, Rerun, ScoreArgs, ScoringArgs, SelftestArgs, TableStyle, Tables, dispatch,
};
#[cfg(feature = "commands")]
pub use compare::CompareArgs;
pub use dialect::Dialect;
pub use environment::{Environment, LocalTime};
pub use error::{CliError, UsageError};
#[cfg(feature = "commands")]
pub use evalscope::{
    Consumed, EvalscopeRuns, EvalscopeTask, SlaCriterion, SlaGoal, SlaMetric, SlaSearch,
    SlaVariable,
};
#[cfg(feature = "commands")]
pub use gates::GateArgs;
#[cfg(feature = "engine")]
pub use invocation::bench_offline;
pub use invocation::{Invocation, bench_serving, embedding_bench};
pub use offline::{Offline, OfflineMessages};
pub use parsed::{Parsed, PeerArguments};
pub use plan_file::PlanFormat;
pub use results_folder::ResultsFolder;
pub use sglang::embedding::{self, Sweep};
#[cfg(feature = "commands")]
pub use sglang::one_batch;
pub use slo::SloRuns;
pub use sweep::SweepRuns;
#[cfg(feature = "commands")]
pub use vllm::{Purpose, Series};
