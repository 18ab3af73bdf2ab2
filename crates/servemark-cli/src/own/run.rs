//! Flags about the run as a whole: what is reported of it and what is kept.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use servemark_core::IfTaken;
use servemark_metrics::{ConcurrencyRatio, FailOn, Verdict};
use servemark_plan::{Layout, OutputSpec, ScoringSpec};

use crate::argparse::Limit::Needs;
use crate::argparse::flags;
use crate::environment::LocalTime;
use crate::error::CliError;
use crate::nearest::did_you_mean;
use crate::own::StoppingArgs;
use crate::plan_file::PlanFormat;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
    /// File of the run log, which has everything that was observed of the run; by default
    /// servemark_BACKEND_DATE_TIME.runlog.jsonl
    #[arg(long, value_name = "PATH")]
    pub(crate) run_log: Option<String>,
    /// Write no run log; the run is kept in memory only
    #[arg(long)]
    pub(crate) no_run_log: bool,
    /// Replace the file of --run-log if it exists, which is refused otherwise
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// The file to which a line about the part of --steady-state-concurrency-ratio is appended
    #[arg(long, value_name = "PATH")]
    pub(crate) steady_state_output_file: Option<String>,
    #[command(flatten)]
    pub(crate) stopping: StoppingArgs,
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

flags! { RunArgs {
    RUN_LOG = "--run-log";
    NO_RUN_LOG = "--no-run-log";
    OVERWRITE = "--overwrite" => [Needs(Self::RUN_LOG)];
    STEADY_STATE_OUTPUT_FILE = "--steady-state-output-file"
        => [Needs(JudgingArgs::STEADY_STATE_CONCURRENCY_RATIO)];
}}

/// Flags about the tables, the steady part and the exit code of a run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(crate) struct JudgingArgs {
    /// The tables to print, in this order: sglang, native, embedding, offline, vllm, aisbench,
    /// evalscope; by default the one of the command line's dialect and native
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = parse_layout)]
    pub(crate) layout: Vec<Layout>,
    /// Print Servemark's own table whole, and not only a summary; a --layout does so too
    #[arg(long)]
    pub(crate) full: bool,
    /// The largest share of failed requests, 0 to 1, with which the exit code is not 5; by default
    /// 0.01 in commands of our own (bench-embedding, bench-offline, rerun) and anything below 1 in
    /// a peer's
    #[arg(long, value_name = "SHARE", value_parser = python::float)]
    pub(crate) tolerate_failures: Option<f64>,
    /// Exit with 3 if the client audit's verdict is this or a worse one: corrected, suspect or
    /// client-limited
    #[arg(long, value_name = "VERDICT", value_parser = parse_verdict)]
    pub(crate) fail_on_verdict: Option<Verdict>,
    /// Exit with 3 if the run or its client has one of these verdicts: saturated, warming-up,
    /// short-outputs, unknown-tokens, contaminated, suspect, client-limited
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) fail_on: Vec<FailOn>,
    /// Report separately the longest part of the run in which this share of its peak concurrency
    /// was in flight, above 0 and at most 1
    #[arg(long, value_name = "SHARE", value_parser = python::float)]
    pub(crate) steady_state_concurrency_ratio: Option<f64>,
}

flags! { JudgingArgs {
    LAYOUT = "--layout";
    FULL = "--full";
    TOLERATE_FAILURES = "--tolerate-failures";
    FAIL_ON_VERDICT = "--fail-on-verdict";
    FAIL_ON = "--fail-on";
    STEADY_STATE_CONCURRENCY_RATIO = "--steady-state-concurrency-ratio";
}}

/// Flags that ask for something else than a run, or for a document in place of its tables.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(crate) struct AskingArgs {
    /// Print the plan as JSON and stop
    #[arg(long)]
    plan_only: bool,
    /// The language of the plan that --plan-only prints: json, toml or yaml; servemark run reads each.
    /// Beside --plan-only it may be written as --as
    #[arg(long, value_name = "LANGUAGE", default_value = "json")]
    plan_format: PlanFormat,
    /// Print one document of JSON in place of the tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
}

flags! { AskingArgs {
    PLAN_ONLY = "--plan-only";
    PLAN_FORMAT = "--plan-format" => [Needs(Self::PLAN_ONLY)];
    JSON = "--json";
    VERSION = "--version";
}}

impl AskingArgs {
    /// Returns the language of the plan if it is only printed.
    pub(crate) fn printed_plan(&self) -> Option<PlanFormat> {
        self.plan_only.then_some(self.plan_format)
    }
}

impl JudgingArgs {
    /// Returns whether Servemark's own table is printed whole.
    pub(crate) fn is_full(&self) -> bool {
        self.full || !self.layout.is_empty()
    }

    /// Returns the tables to print and the conditions of a good run. If no tables are asked for,
    /// the dialect's table and the native one are printed.
    pub(crate) fn scoring(&self, dialect: Layout) -> Result<ScoringSpec, CliError> {
        let mut scoring = ScoringSpec {
            layouts: match self.layout.as_slice() {
                [] => vec![dialect, Layout::Native],
                chosen => chosen.to_vec(),
            },
            fail_on: self.fail_on_verdict,
            ..ScoringSpec::default()
        };
        scoring.unwanted.clone_from(&self.fail_on);
        let ratio = self.steady_state_concurrency_ratio.map(ConcurrencyRatio::new).transpose();
        scoring.steady_state = ratio
            .map_err(|error| CliError::setting(Self::STEADY_STATE_CONCURRENCY_RATIO, error))?;
        if let Some(share) = self.tolerate_failures {
            check_share(share).map_err(|why| CliError::setting(Self::TOLERATE_FAILURES, why))?;
            scoring.tolerated_failures = share;
        }
        Ok(scoring)
    }
}

impl RunArgs {
    /// Returns the path of the run log, by default with the backend and the time in its name;
    /// `None` if no log is kept.
    pub(crate) fn run_log(
        &self,
        backend: &str,
        now: LocalTime,
    ) -> Result<Option<PathBuf>, CliError> {
        match (&self.run_log, self.no_run_log) {
            (Some(_), true) => {
                let [flag, other] = [Self::NO_RUN_LOG, Self::RUN_LOG].map(|flag| flag.to_string());
                Err(CliError::Conflict { flag, other })
            }
            (Some(path), false) => Ok(Some(path.into())),
            (None, true) => Ok(None),
            (None, false) => Ok(Some(usual_run_log(backend, now))),
        }
    }

    /// Returns what happens if the file of the run log exists.
    pub(crate) fn if_taken(&self) -> IfTaken {
        if_taken(self.run_log.is_some(), self.overwrite)
    }

    /// Sets in `output` the path of the run log, and what happens if its file exists.
    pub(crate) fn keep_log(
        &self,
        backend: &str,
        now: LocalTime,
        output: &mut OutputSpec,
    ) -> Result<(), CliError> {
        output.run_log = self.run_log(backend, now)?;
        output.run_log_if_taken =
            if output.run_log.is_some() { self.if_taken() } else { IfTaken::Refuse };
        Ok(())
    }
}

/// Returns what happens if the file of a run log exists: a default name gets a number, a file that
/// the user named is refused or, with `--overwrite`, replaced.
fn if_taken(is_named: bool, overwrites: bool) -> IfTaken {
    match (is_named, overwrites) {
        (false, _) => IfTaken::Number,
        (true, false) => IfTaken::Refuse,
        (true, true) => IfTaken::Replace,
    }
}

/// Returns the default path of a run log.
fn usual_run_log(backend: &str, now: LocalTime) -> PathBuf {
    let [date, time] = now.digits();
    format!("servemark_{backend}_{date}_{time}.runlog.jsonl").into()
}

/// Default for the largest share of failed requests, from 0 to 1, with which a command of
/// Servemark's own does not exit with 5. In a peer's dialect the peer's rule applies.
pub(crate) const OWN_TOLERANCE: f64 = 0.01;

/// Parses a share from 0 to 1.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let share = python::float(text)?;
    check_share(share).map(|()| share)
}

fn check_share(share: f64) -> Result<(), String> {
    let lies_within = (0.0..=1.0).contains(&share);
    lies_within.then_some(()).ok_or_else(|| format!("must lie in 0 to 1, not {share}"))
}

/// Parses the name of a verdict that can be made to fail a run: all except the best one.
pub(crate) fn parse_verdict(name: &str) -> Result<Verdict, String> {
    let failing = || Verdict::ALL.into_iter().filter(|&verdict| verdict > Verdict::Clean);
    let known = failing().find(|verdict| verdict.name() == name);
    known.ok_or_else(|| python::expected(&failing().map(Verdict::name).collect::<Vec<_>>(), name))
}

/// Names of the tables.
const LAYOUTS: [(&str, Layout); 7] = [
    ("sglang", Layout::Sglang),
    ("native", Layout::Native),
    ("embedding", Layout::Embedding),
    ("offline", Layout::Offline),
    ("vllm", Layout::Vllm),
    ("aisbench", Layout::Aisbench),
    ("evalscope", Layout::Evalscope),
];

/// Parses the name of a table.
pub(crate) fn parse_layout(name: &str) -> Result<Layout, String> {
    let known = LAYOUTS.into_iter().find(|(known, _)| *known == name);
    known.map(|(_, layout)| layout).ok_or_else(|| {
        let names = LAYOUTS.map(|(known, _)| known);
        format!(
            "there is no layout {name}; use {} or several with commas{}",
            names.join(", "),
            did_you_mean(name, names)
        )
    })
}
