//! The dialect of SGLang 0.5.23's benchmark of one batch
//! (`python -m sglang.benchmark.one_batch_server`).
//!
//! A command line becomes a list of batches, in the order in which they are sent: the warm-up, the
//! grid of all sizes and lengths, and the grid once more for the profiler.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod batches;
mod prompts;
mod rules;

use std::ffi::OsString;
use std::path::PathBuf;

use servemark_client::BaseUrl;
use servemark_plan::{BatchCase, ServerSpec};
use servemark_report::{OneBatchAsked, OneBatchReport};

use self::args::OneBatchArgs;
use self::batches::Grid;
use crate::Parsed;
use crate::address::at_host;
use crate::argparse::{Given, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::number::{at_least, refused};
use crate::sglang::keyed;

/// A benchmark of batches that are sent as one request each.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OneBatch {
    /// What all have in common; its plan is the first batch's.
    pub common: Parsed,
    /// The server that is started, unless one is there already; none if it must be there.
    pub launch: Option<Launch>,
    /// What is sent before, and not kept.
    pub warm_up: Vec<Batch>,
    /// What is measured.
    pub batches: Vec<Batch>,
    /// The same with the profiler on.
    pub profiled: Vec<Batch>,
    /// The sizes of the batches.
    pub sizes: Vec<u32>,
    /// Whether a batch may have more prompts than the server works on at once.
    pub exceeds_running: bool,
    /// Whether a batch may have more tokens than the server can hold.
    pub exceeds_capacity: bool,
    /// What is written of them.
    pub files: OneBatchFiles,
    /// The table of all batches, if it is to be printed.
    pub report: Option<OneBatchReport>,
    /// What is said first.
    pub notes: Vec<String>,
}

/// One batch, and what its result repeats.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch {
    /// What is sent.
    pub case: BatchCase,
    /// What was asked.
    pub asked: OneBatchAsked,
}

/// A server that is started for a benchmark.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Launch {
    /// Its command.
    pub command: Vec<String>,
    /// Where it listens.
    pub url: BaseUrl,
}

/// What is written of batches.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OneBatchFiles {
    /// A line each.
    pub lines: Option<PathBuf>,
    /// A list of all.
    pub list: Option<PathBuf>,
    /// The model in it.
    pub model: String,
    /// What it repeats of the server.
    pub server_args: Option<Vec<String>>,
    /// The summary of a job of GitHub's.
    pub github_summary: Option<PathBuf>,
}

/// Reads a command line, without the program's name. `python` is the interpreter that it named.
pub(crate) fn parse(
    program: &str,
    python: Option<&str>,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<OneBatch, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args = texts(args).map_err(refuse)?;
    let given = Given::read(args::command(program), &PEER, &[], &args).map_err(refuse)?;
    let (args, _): (OneBatchArgs, _) = given.typed(program)?;
    understand(&args, &given, python, environment).map_err(refuse)
}

fn understand(
    args: &OneBatchArgs,
    given: &Given,
    python: Option<&str>,
    environment: &Environment,
) -> Result<OneBatch, CliError> {
    let mut warnings = Vec::new();
    rules::check(args, given, &mut warnings)?;
    let (server, launch) = server(args, given, python)?;
    let grid = Grid { args, server, environment };
    let batches = grid.measured()?;
    let Some(first) = batches.first() else { return Err(CliError::Together(NO_BATCH)) };
    let (plan, credentials) = (first.case.plan.clone(), keyed(environment)?);
    let common = Parsed::new(plan, credentials, environment, args.run.stopping.grace);
    let plan_only = args.run.asking.plan_only;
    let common = Parsed { progress: false, plan_only, warnings, ..common };
    Ok(OneBatch {
        common,
        launch,
        warm_up: grid.warm_up()?,
        profiled: grid.profiled()?,
        batches,
        sizes: batches::numbers("--batch-size", 1, &args.batch_size)?,
        exceeds_running: args.enable_multi_batch,
        exceeds_capacity: args.skip_token_capacity_check,
        files: files(args, environment),
        report: args.show_report.then(|| report(args, given)).transpose()?,
        notes: rules::notes(args),
    })
}

/// Who is asked: the simulator, a server that is there, or one that is started.
fn server(
    args: &OneBatchArgs,
    given: &Given,
    python: Option<&str>,
) -> Result<(ServerSpec, Option<Launch>), CliError> {
    if let Some(spec) = args.simulator.spec(None) {
        args.trust.refuse()?;
        return Ok((ServerSpec::Simulated(spec), None));
    }
    let at = |url: BaseUrl| args.trust.applied_to(args.connection.target(url)?).map(ServerSpec::At);
    if !args.base_url.is_empty() {
        return Ok((at(args.base_url.parse().map_err(refused("--base-url"))?)?, None));
    }
    let url = at_host(&args.server.host, at_least("--port", 1, args.server.port)?)?;
    let command = launch_command(args, given, python)?;
    Ok((at(url.clone())?, Some(Launch { command, url })))
}

/// SGLang's server with its own flags: those that we know of, as they were given, and all that is
/// none of ours.
fn launch_command(
    args: &OneBatchArgs,
    given: &Given,
    python: Option<&str>,
) -> Result<Vec<String>, CliError> {
    let Some(model) = args.server.model_name() else {
        return Err(CliError::Together(NO_SERVER));
    };
    let python = args.server.python.as_deref().or(python).unwrap_or("python3");
    let words = [python, "-m", "sglang.launch_server", "--model-path", model];
    let mut command: Vec<String> = words.map(str::to_owned).to_vec();
    let known = ["--host", "--port", "--tp-size", "--tensor-parallel-size", "--tp"];
    for flag in known {
        let last = given.values(flag).last();
        command.extend(last.into_iter().flat_map(|value| [flag.to_owned(), value.clone()]));
    }
    command.extend(given.reading.leftovers.iter().cloned());
    Ok(command)
}

impl args::ServerArgs {
    fn model_name(&self) -> Option<&str> {
        self.model_path.as_deref().or(self.model.as_deref())
    }

    /// How many GPUs share a model.
    fn gpus(&self) -> Result<u32, CliError> {
        let size = self.tp.or(self.tensor_parallel_size).unwrap_or(self.tp_size);
        at_least("--tp-size", 1, size)
    }
}

fn files(args: &OneBatchArgs, environment: &Environment) -> OneBatchFiles {
    let is_told = args.show_report && !args.no_append_to_github_summary;
    let summary = environment.variable("GITHUB_STEP_SUMMARY");
    let summary = summary.filter(|_| is_told && environment.is_on("SGLANG_IS_IN_CI"));
    OneBatchFiles {
        lines: (!args.result_filename.is_empty()).then(|| args.result_filename.clone().into()),
        list: args.pydantic_result_filename.as_ref().map(Into::into),
        model: args.server.model_name().unwrap_or_default().to_owned(),
        server_args: args.server_args_for_metrics.clone(),
        github_summary: summary.map(PathBuf::from),
    }
}

fn report(args: &OneBatchArgs, given: &Given) -> Result<OneBatchReport, CliError> {
    // What is given is a list to Python, and what is not a tuple.
    let shown = |flag: &str, numbers: &[i64]| {
        if given.is(flag) { format!("{numbers:?}") } else { format!("({},)", numbers[0]) }
    };
    let inputs = shown("--input-len", &args.input_len);
    let outputs = shown("--output-len", &args.output_len);
    let cost = crate::number::finite("--gpu-hourly-cost", args.server.gpu_hourly_cost)?;
    let cost = cost * f64::from(args.server.gpus()?);
    let mut report = OneBatchReport::new(inputs, outputs, cost);
    report.cache_hit_rate = args.cache_hit_rate;
    report.stops_at_eos = args.disable_ignore_eos;
    report.profiles = args.profile;
    Ok(report)
}

const NO_BATCH: &str = "there is no batch to send; give --batch-size, --input-len and --output-len";
const NO_SERVER: &str = "there is no server to ask: give --base-url, or --model-path and SGLang's \
                         own flags to start one";

/// The flags of SGLang 0.5.23's benchmark in their order, without the server's.
const PEER: [&str; 45] = [
    "--help",
    "--run-name",
    "--batch-size",
    "--input-len",
    "--output-len",
    "--temperature",
    "--disable-ignore-eos",
    "--return-logprob",
    "--client-stream-interval",
    "--input-len-step-percentage",
    "--input-len-list",
    "--base-url",
    "--local-tokenizer-path",
    "--skip-warmup",
    "--skip-token-capacity-check",
    "--show-report",
    "--profile",
    "--profile-activities",
    "--profile-start-step",
    "--profile-steps",
    "--profile-by-stage",
    "--profile-prefix",
    "--profile-output-dir",
    "--dataset-path",
    "--dataset-name",
    "--fixed-prompt-file",
    "--apply-chat-template",
    "--gsp-num-groups",
    "--gsp-system-prompt-len",
    "--gsp-question-len",
    "--gsp-output-len",
    "--parallel-batch",
    "--result-filename",
    "--pydantic-result-filename",
    "--no-append-to-github-summary",
    "--seed",
    "--cache-hit-rate",
    "--backend",
    "--fake-prefill",
    "--flush-hicache-storage",
    "--server-args-for-metrics",
    "--lora-name",
    "--lora-request-distribution",
    "--lora-zipf-alpha",
    "--enable-multi-batch",
];

#[cfg(test)]
mod tests;
