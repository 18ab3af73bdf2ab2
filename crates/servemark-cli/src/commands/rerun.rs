//! `servemark rerun`: repeats a finished run, from the plan in its run log.
//!
//! The plan decides what is sent and when. The command line may give anew how the run is scored,
//! where its results go and which server is measured. It has to give credentials anew, because no
//! run log contains any.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser};
use servemark_backends::BackendSpec;
use servemark_client::{BaseUrl, Credentials};
use servemark_core::{Header, IfTaken, printable};
use servemark_plan::{BenchPlan, OutputSpec, ScoringSpec, ServerSpec};

use crate::argparse::Flag;
use crate::commands::score::ScoringArgs;
use crate::credentials::keyed;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::number::refused;
use crate::own::{
    DisplayArgs, OWN_TOLERANCE, PlanOnlyArgs, RUN_EXIT_CODES, StoppingArgs, notes, parse_command,
    parse_share,
};
use crate::parsed::Parsed;
use crate::plan_file::PlanFormat;
use crate::results_folder::{ResultsFolder, folder_of_run, usual_folder};

/// Repeat a finished run from its run log: the same requests at the same times
///
/// The plan of a run is in its log, so any server or engine can be given the very same load: an old
/// result against a new build, with --base-url, and servemark compare shows what changed. Files
/// that the run left behind are not touched. A run log holds no key: OPENAI_API_KEY or API_KEY is
/// read, as by bench-serving, and --header gives others.
#[derive(Parser)]
#[command(name = "rerun", max_term_width = 100, after_help = notes(&EXAMPLES, RUN_EXIT_CODES))]
struct RerunArgs {
    /// The run log of the run
    #[arg(value_name = "RUNLOG")]
    recorded: PathBuf,
    /// Send to the server at this address, and not to that of the old run
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// A header that every request carries, such as a key: KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", num_args = 1..)]
    header: Vec<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Print one document of JSON in place of the tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    display: DisplayArgs,
    #[command(flatten)]
    plan: PlanOnlyArgs,
    /// The largest share of failed requests, 0 to 1, with which the exit code is not 5; by default
    /// that of the run if it named one, else 0.01
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    tolerate_failures: Option<f64>,
    #[command(flatten)]
    stopping: StoppingArgs,
    #[command(flatten)]
    how: ScoringArgs,
}

/// Where the results of the new run are written.
#[derive(Args)]
struct PlaceArgs {
    /// Folder of the results: report.html, summary.json and run.runlog.jsonl; by default
    /// servemark-results/DATE_TIME
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the run log to this file, and make no folder of results unless --out names one
    #[arg(long, value_name = "PATH", conflicts_with = "no_run_log")]
    run_log: Option<PathBuf>,
    /// Replace the file of --run-log if it exists, which is refused otherwise
    #[arg(long, requires = "run_log")]
    overwrite: bool,
    /// Write no run log, and make no folder of results unless --out names one
    #[arg(long, conflicts_with = "live")]
    no_run_log: bool,
}

const EXAMPLES: [&str; 2] = [
    "servemark rerun run.runlog.jsonl",
    "servemark rerun run.runlog.jsonl --base-url http://new-build:8000",
];

impl RerunArgs {
    const BASE_URL: Flag = Flag::new("--base-url");
    const HEADER: Flag = Flag::new("--header");
}

/// A finished run that is to be repeated.
#[derive(Clone, Debug)]
pub struct Rerun {
    /// Run log of the finished run, which is not changed.
    pub recorded: PathBuf,
    /// Whether one document of JSON is printed in place of the tables.
    pub json: bool,
    /// Whether the tables are printed, and not only a summary: with `--full`, and if the command
    /// line names tables.
    pub shows_tables: bool,
    /// Whether no progress is displayed.
    pub quiet: bool,
    /// Port at which the page is served while the run goes on; `None` if it is not served.
    pub live: Option<u16>,
    folder: Option<ResultsFolder>,
    base_url: Option<BaseUrl>,
    how: ScoringArgs,
    run_log: NewLog,
    if_taken: IfTaken,
    grace: Duration,
    tolerated_failures: Option<f64>,
    plan_only: Option<PlanFormat>,
    credentials: Credentials,
    environment: Environment,
}

/// Where the log of the new run is written. Closed enum: to a file of this path, nowhere, or into
/// the folder of the results.
#[derive(Clone, Debug)]
enum NewLog {
    At(PathBuf),
    Nowhere,
    InFolder,
}

impl Rerun {
    /// Returns the folder of the results, if the command makes one.
    pub fn folder(&self) -> Option<&ResultsFolder> {
        self.folder.as_ref().filter(|_| self.plan_only.is_none())
    }

    /// Returns whether one document of JSON is printed. A plan that is only printed is in a language
    /// of its own.
    pub fn prints_document(&self) -> bool {
        self.json && self.plan_only.is_none()
    }

    /// Returns the new run, from the header of the finished run's log, with its results in `folder`
    /// if there is one.
    pub fn parsed(&self, header: &Header, folder: Option<&Path>) -> Result<Parsed, CliError> {
        let mut plan = self.plan(header)?;
        if let Some(url) = &self.base_url {
            move_to(&mut plan, url)?;
        }
        plan.scoring = self.how.scoring(plan.scoring);
        self.how.check(&plan.scoring)?;
        plan.scoring.tolerated_failures = self.tolerance(plan.scoring.tolerated_failures);
        plan.output = self.output(folder);
        keep_engine_log(&mut plan);
        let credentials = self.credentials.clone();
        let parsed = Parsed::new(plan, credentials, &self.environment, self.grace);
        let warnings = self.missing_credentials(header).into_iter().collect();
        Ok(Parsed { plan_only: self.plan_only, warnings, ..parsed })
    }

    /// Returns the message that announces the new run.
    pub fn announcement(&self, header: &Header) -> String {
        let facts = &header.facts;
        let of_url = self.base_url.as_ref().map(ToString::to_string);
        let target = of_url.unwrap_or_else(|| facts.target.clone());
        let target = printable(&target);
        let by_other = (header.servemark != VERSION).then(|| by_other(&header.servemark));
        format!(
            "Running {} again: {} requests of {}, seed {}, to {target}.{}",
            printable(&self.recorded.to_string_lossy()),
            facts.requests,
            printable(&facts.dataset),
            facts.seed,
            by_other.unwrap_or_default()
        )
    }

    /// Returns a warning with the names of the headers that carried credentials in the finished run
    /// and are not given for the new one; `None` if all are given.
    fn missing_credentials(&self, header: &Header) -> Option<String> {
        let given = self.credentials.names();
        let missing: Vec<&str> = header
            .credentials
            .iter()
            .filter(|name| !given.contains(name))
            .map(String::as_str)
            .collect();
        (!missing.is_empty()).then(|| {
            let key = if missing.contains(&"authorization") { API_KEY } else { "" };
            format!(
                "the run sent credentials that this one lacks, because a run log keeps their names \
                 only: {}; {key}give --header NAME=VALUE",
                missing.join(", ")
            )
        })
    }

    /// Returns the plan of the finished run. Refuses a plan that this version does not understand,
    /// and a plan of one batch, which does not describe the batches before it.
    fn plan(&self, header: &Header) -> Result<BenchPlan, CliError> {
        let plan = BenchPlan::from_json(header.plan.clone()).map_err(|error| {
            let by = &header.servemark;
            self.refuse(format!(
                "this is servemark {VERSION}, which does not understand the plan that servemark {by} \
                 has written there: {error}"
            ))
        })?;
        if matches!(plan.wire, BackendSpec::Batch(_)) {
            return Err(self.refuse(ONE_BATCH.to_owned()));
        }
        Ok(plan)
    }

    /// Returns the largest tolerated share of failed requests, if the finished run tolerated
    /// `recorded`.
    fn tolerance(&self, recorded: f64) -> f64 {
        let of_dialect = ScoringSpec::default().tolerated_failures;
        let named = (recorded < of_dialect).then_some(recorded);
        self.tolerated_failures.or(named).unwrap_or(OWN_TOLERANCE)
    }

    fn refuse(&self, why: String) -> CliError {
        CliError::NotAgain { run_log: self.recorded.display().to_string(), why }
    }

    fn output(&self, folder: Option<&Path>) -> OutputSpec {
        let mut output = self.how.output();
        output.run_log = match &self.run_log {
            NewLog::At(path) => Some(path.clone()),
            NewLog::Nowhere => None,
            NewLog::InFolder => folder.map(|folder| folder.join(OutputSpec::RUN_LOG)),
        };
        output.run_log_if_taken = self.if_taken;
        output
    }
}

fn by_other(version: &str) -> String {
    let version = printable(version);
    format!(
        "\nIt was made by servemark {version}, and this is {VERSION}: draws and definitions may differ."
    )
}

/// Makes another server the target of a plan, and leaves the rest of the plan as it is.
fn move_to(plan: &mut BenchPlan, url: &BaseUrl) -> Result<(), CliError> {
    if plan.move_to(url) {
        return Ok(());
    }
    let when = match &plan.server {
        ServerSpec::Simulated(_) => "where the run asked the bundled simulator",
        ServerSpec::Provided { .. } => "where the run used a transport of another program",
        // A plan for a server was moved above.
        ServerSpec::At(_) => return Ok(()),
        #[cfg(feature = "engine")]
        ServerSpec::Engine(_) => "where the run was of an engine without a server",
    };
    Err(CliError::no_effect(RerunArgs::BASE_URL, when))
}

/// Keeps the output of an engine's worker process beside the new run log.
#[cfg(feature = "engine")]
fn keep_engine_log(plan: &mut BenchPlan) {
    if let ServerSpec::Engine(spec) = &mut plan.server
        && let servemark_engine::EngineSpec::Worker(worker) = &mut spec.engine
    {
        crate::own::keep_usual_log(&plan.output, worker);
    }
}

#[cfg(not(feature = "engine"))]
fn keep_engine_log(_: &mut BenchPlan) {}

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    <RerunArgs as clap::CommandFactory>::command()
}

pub(crate) fn parse(
    program: &str,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Rerun, UsageError> {
    let args = parse_command(program, args)?;
    rerun(args, environment).map_err(|error| UsageError::refused(program, error))
}

fn rerun(args: RerunArgs, environment: &Environment) -> Result<Rerun, CliError> {
    let base_url = args.base_url.map(|url| url.parse().map_err(refused(RerunArgs::BASE_URL)));
    Ok(Rerun {
        recorded: args.recorded,
        base_url: base_url.transpose()?,
        shows_tables: args.display.full || !args.how.tables.is_empty(),
        how: args.how,
        json: args.json,
        quiet: args.display.quiet,
        live: args.display.live,
        folder: folder_of_run(
            args.place.out,
            args.place.run_log.is_some() || args.place.no_run_log,
            Some(usual_folder(environment)),
        ),
        if_taken: if args.place.overwrite { IfTaken::Replace } else { IfTaken::Refuse },
        run_log: match args.place.run_log {
            Some(path) => NewLog::At(path),
            None if args.place.no_run_log => NewLog::Nowhere,
            None => NewLog::InFolder,
        },
        grace: args.stopping.grace,
        tolerated_failures: args.tolerate_failures,
        plan_only: args.plan.printed_plan(),
        credentials: credentials(&args.header, environment)?,
        environment: environment.clone(),
    })
}

/// Returns the API key of the environment and the headers of the command line. The headers override
/// the key.
pub(crate) fn credentials(
    headers: &[String],
    environment: &Environment,
) -> Result<Credentials, CliError> {
    let with = |credentials: Credentials, item: &String| {
        let malformed = || CliError::setting(RerunArgs::HEADER, "must be KEY=VALUE");
        let (name, value) = item.split_once('=').ok_or_else(malformed)?;
        credentials.header(name.trim(), value.trim()).map_err(refused(RerunArgs::HEADER))
    };
    headers.iter().try_fold(keyed(environment)?, with)
}

const API_KEY: &str = "set OPENAI_API_KEY or API_KEY for authorization, or ";

const VERSION: &str = env!("CARGO_PKG_VERSION");

const ONE_BATCH: &str = "it holds one batch of sglang.bench_one_batch_server, whose prompts follow \
                         those of the batches before it; give the whole command again";

#[cfg(test)]
mod tests;
