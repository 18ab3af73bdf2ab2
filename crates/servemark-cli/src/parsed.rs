//! What a benchmark's command line becomes, whatever its dialect.

use std::path::PathBuf;
use std::time::Duration;

use servemark_client::Credentials;
use servemark_hub::HubSettings;
use servemark_plan::BenchPlan;

/// A command line, understood.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parsed {
    /// What to do.
    pub plan: BenchPlan,
    /// What the server wants to see first; no part of the plan, which is written into files.
    pub credentials: Credentials,
    /// Where tokenizers and data sets come from that are given by name; no part of the plan, for
    /// it holds a token.
    pub hub: HubSettings,
    /// The folder in which self-tests keep what they found of a machine; no part of the plan, which
    /// may be run on another.
    pub cache: Option<PathBuf>,
    /// How long requests in flight may take to finish after SIGTERM or SIGHUP.
    pub grace: Duration,
    /// Whether a progress bar is wanted.
    pub progress: bool,
    /// Whether the plan is only to be printed.
    pub plan_only: bool,
    /// What the user should know before the run.
    pub warnings: Vec<String>,
}
