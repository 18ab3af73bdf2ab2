//! Command lines of the peers and of Servemark: converts arguments into benchmark plans.
//!
//! Each dialect is a module: a mirror of the peer's flags, one to one, and a conversion that gives
//! a [`BenchPlan`](servemark_plan::BenchPlan) or an error that names a flag. No flag is accepted
//! and then ignored in silence. [`dispatch`] finds out which dialect a command line is in.
//!
//! This crate opens no connection and prints nothing. Only an [`Environment`] that
//! [`from_process`](Environment::from_process) returned reads the process's environment, the
//! current folder and the files that a command line names.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod ab;
mod address;
pub mod aisbench;
mod argparse;
mod cluster;
mod compare;
mod completions;
mod credentials;
mod dialect;
pub mod dispatch;
mod environment;
mod error;
pub mod evalscope;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod explore;
mod export;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod gates;
mod launch;
mod manual;
#[cfg(test)]
mod mirror;
#[cfg(feature = "mock-server")]
mod mock_server;
mod nearest;
mod number;
mod offline;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod own;
mod parsed;
mod plan_file;
mod profile;
mod python;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod rerun;
mod results_folder;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod run_file;
mod schema;
#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod score;
mod selftest;
pub mod sglang;
mod slo;
mod sweep;
mod until;
pub mod vllm;
mod words;

pub use ab::AbRuns;
pub use argparse::Namespace;
pub use cluster::{ClusterArgs, GatherWhat, RankSettings, take_cluster};
pub use compare::CompareArgs;
pub use dialect::Dialect;
pub use dispatch::{Invocation, embedding_bench};
pub use environment::{Environment, LocalTime};
pub use error::{CliError, UsageError};
pub use evalscope::{
    Consumed, EvalscopeRuns, EvalscopeTask, SlaCriterion, SlaGoal, SlaMetric, SlaSearch,
    SlaVariable,
};
pub use explore::{ExploreArgs, ExploreTarget};
pub use export::ExportArgs;
pub use gates::GateArgs;
pub use launch::LaunchArgs;
pub use offline::{Offline, OfflineMessages};
pub use parsed::{Parsed, PeerArguments};
pub use plan_file::PlanFormat;
pub use rerun::Rerun;
pub use results_folder::ResultsFolder;
pub use run_file::FileRun;
pub use score::{Objectives, Percentiles, ScoreArgs, ScoringArgs, TableStyle, Tables};
pub use selftest::SelftestArgs;
pub use sglang::embedding::{self, Sweep};
pub use sglang::one_batch;
pub use slo::SloRuns;
pub use sweep::SweepRuns;
pub use vllm::{Purpose, Series};
