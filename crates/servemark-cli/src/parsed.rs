//! The result of parsing the command line of a benchmark, in any dialect.

use std::path::{Path, PathBuf};
use std::time::Duration;

use servemark_backends::BackendSpec;
use servemark_client::Credentials;
use servemark_core::IfTaken;
use servemark_hub::HubSettings;
use servemark_plan::{BenchPlan, OutputSpec};

use crate::argparse::Namespace;
use crate::environment::Environment;
use crate::plan_file::PlanFormat;
use crate::results_folder::ResultsFolder;

/// A run as its command line describes it: its plan, and what is not part of the plan.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Plan of the run.
    pub plan: BenchPlan,
    /// Credentials for the server. They are not part of the plan, which is written into files.
    pub credentials: Credentials,
    /// Sources of the tokenizers and data sets that are given by name. They are not part of the
    /// plan, because they contain a token.
    pub hub: HubSettings,
    /// Folder in which self-tests keep what they measured of a machine. It is not part of the plan,
    /// which may be run on another machine.
    pub cache: Option<PathBuf>,
    /// How long requests in flight may take to finish after SIGTERM or SIGHUP.
    pub grace: Duration,
    /// Whether a progress bar is wanted.
    pub progress: bool,
    /// Folder of the results: the page, the summary and the run log; `None` if the command makes
    /// none.
    pub folder: Option<ResultsFolder>,
    /// Whether one document of JSON is printed in place of the tables.
    pub json: bool,
    /// Whether Servemark's own table is printed whole: with `--full`, and if the command line names
    /// tables. Otherwise a summary is printed.
    pub full: bool,
    /// Language of the plan if it is only printed and not run.
    pub plan_only: Option<PlanFormat>,
    /// Warnings for the user, shown before the run.
    pub warnings: Vec<String>,
    /// Arguments as the peer's client prints them on standard output; `None` if it does not print
    /// them.
    pub peer_arguments: Option<PeerArguments>,
}

impl Parsed {
    /// Creates a run with a progress bar and without warnings.
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
            folder: None,
            json: false,
            full: false,
            plan_only: None,
            warnings: Vec::new(),
            peer_arguments: None,
        }
    }

    /// Returns whether the command prints one document of JSON. A plan that is only printed is in a
    /// language of its own.
    pub fn prints_document(&self) -> bool {
        self.json && self.plan_only.is_none()
    }

    /// Returns the text of the plan if it is only printed, or why its language cannot express it. A
    /// run log whose name is a default is left out: `servemark run` keeps the log in the folder of
    /// its results.
    pub fn printed_plan(&self) -> Option<Result<String, String>> {
        let format = self.plan_only?;
        let mut plan = self.plan.clone();
        let output = &mut plan.output;
        let of_task = output.aisbench.as_ref().is_some_and(|files| {
            output.run_log.as_ref().is_some_and(|log| log.starts_with(&files.folder))
        });
        // evalscope's client has no flag for a run log.
        let of_point = matches!(plan.wire, BackendSpec::Evalscope(_));
        if of_task || of_point || output.run_log_if_taken == IfTaken::Number {
            output.run_log = None;
            output.run_log_if_taken = IfTaken::Refuse;
        }
        Some(format.write(&plan))
    }

    /// Puts the log of the run into the folder of the results, unless the command line or the
    /// plan's file names another place. The output of an engine's worker process goes beside it.
    pub fn keep_in(&mut self, folder: &Path) {
        let output = &mut self.plan.output;
        if output.run_log.is_none() {
            output.run_log = Some(folder.join(OutputSpec::RUN_LOG));
            output.run_log_if_taken = IfTaken::Refuse;
        }
        keep_engine_log(&mut self.plan);
    }
}

/// Sets the file for the output of an engine's worker process, unless it is named.
#[cfg(feature = "engine")]
fn keep_engine_log(plan: &mut BenchPlan) {
    if let servemark_plan::ServerSpec::Engine(spec) = &mut plan.server
        && let servemark_engine::EngineSpec::Worker(worker) = &mut spec.engine
        && worker.log.is_none()
    {
        crate::own::keep_usual_log(&plan.output, worker);
    }
}

#[cfg(not(feature = "engine"))]
fn keep_engine_log(_: &mut BenchPlan) {}

/// Arguments of a peer, as its client prints them when it starts.
#[derive(Clone, Debug)]
pub enum PeerArguments {
    /// SGLang's arguments, before and after its client settles the port and the needs of the data
    /// set.
    Sglang {
        /// Arguments as they were given.
        given: Namespace,
        /// Arguments as they are used. If they name no model, the server's model is put into them.
        settled: Namespace,
    },
    /// Arguments of vLLM.
    Vllm(Namespace),
}
