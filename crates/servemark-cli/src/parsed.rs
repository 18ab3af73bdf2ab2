//! What a benchmark's command line becomes, whatever its dialect.

use std::path::PathBuf;
use std::time::Duration;

use servemark_client::Credentials;
use servemark_hub::HubSettings;
use servemark_plan::BenchPlan;

use crate::argparse::Namespace;
use crate::environment::Environment;

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
    /// The arguments as the peer's client prints them on standard output, if it does.
    pub peer_arguments: Option<PeerArguments>,
}

impl Parsed {
    /// A run with a progress bar and without warnings.
    pub(crate) fn new(
        plan: BenchPlan,
        credentials: Credentials,
        environment: &Environment,
        grace: Duration,
    ) -> Self {
        Self {
            plan,
            credentials,
            hub: environment.hub(),
            cache: environment.cache(),
            grace,
            progress: true,
            plan_only: false,
            warnings: Vec::new(),
            peer_arguments: None,
        }
    }
}

/// A peer's arguments as its client prints them when it starts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PeerArguments {
    /// SGLang's, before and after its client has settled the port and the data set's needs.
    Sglang {
        /// As they were given.
        given: Namespace,
        /// As they are used; where no model is named, the server's is put into them.
        settled: Namespace,
    },
    /// vLLM's.
    Vllm(Namespace),
}
