//! Parses command lines of SGLang 0.5.23's benchmark of one batch
//! (`python -m sglang.benchmark.one_batch_server`).
//!
//! A command line becomes lists of batches, in the order in which they are sent: the warm-up, the
//! grid of all sizes and lengths, and the same grid again with the profiler on.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod batches;
mod prompts;
mod rules;

use std::ffi::OsString;
use std::path::PathBuf;

use servemark_client::BaseUrl;
use servemark_plan::{BatchCase, ServerSpec};
use servemark_report::{OneBatchReport, OneBatchRequest};

use self::args::{OneBatchArgs, PEER, ServerArgs};
use self::batches::Grid;
use crate::address::at_host;
use crate::argparse::{Flag, ParsedCommandLine, texts};
use crate::credentials::keyed;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::number::{at_least, refused};
use crate::parsed::Parsed;

/// A parsed command line of a benchmark whose batches are sent as one request each.
#[derive(Clone, Debug)]
pub struct OneBatch {
    /// Settings that all batches share; the plan is the one of the first batch.
    pub common: Parsed,
    /// Server that is started unless one is already running at its address; `None` if no server is
    /// to be started.
    pub launch: Option<Launch>,
    /// Batches of the warm-up, which are sent first and whose results are not kept.
    pub warm_up: Vec<Batch>,
    /// Batches that are measured.
    pub batches: Vec<Batch>,
    /// The measured batches once more, to be sent with the profiler on; empty without `--profile`.
    pub profiled: Vec<Batch>,
    /// Batch sizes of the command line, in its order.
    pub sizes: Vec<u32>,
    /// Whether a batch may have more prompts than the server processes at once.
    pub exceeds_running: bool,
    /// Whether a batch may have more tokens than the server can hold.
    pub exceeds_capacity: bool,
    /// Files into which the results are written.
    pub files: OneBatchFiles,
    /// Table of the results of all batches; `None` if it is not printed.
    pub report: Option<OneBatchReport>,
    /// Lines that are printed before anything is sent.
    pub notes: Vec<String>,
}

/// One batch, and the settings that its result repeats.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Run that sends the batch, and the steps around it.
    pub case: BatchCase,
    /// Settings that the result of the batch repeats.
    pub requested: OneBatchRequest,
}

/// A server that is started for a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Command that starts the server, with its arguments.
    pub command: Vec<String>,
    /// Address at which the server listens.
    pub url: BaseUrl,
}

/// Files into which the results of batches are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneBatchFiles {
    /// File to which a JSON line is appended for each batch.
    pub lines: Option<PathBuf>,
    /// File of a JSON list of the results of all batches.
    pub list: Option<PathBuf>,
    /// Name of the model in the entries of [`list`](Self::list).
    pub model: String,
    /// Texts about the server that the entries of [`list`](Self::list) repeat.
    pub server_args: Option<Vec<String>>,
    /// Summary file of a GitHub job, to which the table is appended.
    pub github_summary: Option<PathBuf>,
}

/// Parses a command line, which is given without the program's name. `python` is the interpreter
/// that the command line began with, if it did.
pub(crate) fn parse(
    program: &str,
    python: Option<&str>,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<OneBatch, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args = texts(args).map_err(refuse)?;
    let given = ParsedCommandLine::read(args::command(program), &PEER.names(), &[], &args)
        .map_err(refuse)?;
    let (args, _): (OneBatchArgs, _) = given.typed(program)?;
    understand(&args, &given, python, environment).map_err(refuse)
}

/// Returns the command with its flags.
#[cfg(test)]
pub(crate) fn clap_command() -> clap::Command {
    args::command("sglang.bench_one_batch_server")
}

fn understand(
    args: &OneBatchArgs,
    given: &ParsedCommandLine,
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
    let plan_only = args.run.asking.printed_plan();
    let (json, full) = (args.run.asking.json, args.run.judging.is_full());
    let common = Parsed { progress: false, plan_only, json, full, warnings, ..common };
    Ok(OneBatch {
        common,
        launch,
        warm_up: grid.warm_up()?,
        profiled: grid.profiled()?,
        batches,
        sizes: batches::numbers(OneBatchArgs::BATCH_SIZE, 1, &args.batch_size)?,
        exceeds_running: args.enable_multi_batch,
        exceeds_capacity: args.skip_token_capacity_check,
        files: files(args, environment),
        report: args.show_report.then(|| report(args, given)).transpose()?,
        notes: rules::notes(args),
    })
}

/// Returns the server to measure: the simulator, a running server, or one to be started, with how
/// to start it.
fn server(
    args: &OneBatchArgs,
    given: &ParsedCommandLine,
    python: Option<&str>,
) -> Result<(ServerSpec, Option<Launch>), CliError> {
    if let Some(spec) = args.simulator.spec(None) {
        args.trust.refuse()?;
        return Ok((ServerSpec::Simulated(spec), None));
    }
    let at = |url: BaseUrl| args.trust.applied_to(args.connection.target(url)?).map(ServerSpec::At);
    if !args.base_url.is_empty() {
        let url = BaseUrl::with_slash(&args.base_url).map_err(refused(OneBatchArgs::BASE_URL))?;
        return Ok((at(url)?, None));
    }
    let url = at_host(
        ServerArgs::HOST,
        &args.server.host,
        at_least(ServerArgs::PORT, 1, args.server.port)?,
    )?;
    let command = launch_command(args, given, python)?;
    Ok((at(url.clone())?, Some(Launch { command, url })))
}

/// Returns the command that starts SGLang's server. It has the server's flags that the benchmark
/// knows too, as they were given, and all arguments that are not flags of the benchmark.
fn launch_command(
    args: &OneBatchArgs,
    given: &ParsedCommandLine,
    python: Option<&str>,
) -> Result<Vec<String>, CliError> {
    let Some(model) = args.server.model_name() else {
        return Err(CliError::Together(NO_SERVER));
    };
    let python = args.server.python.as_deref().or(python).unwrap_or("python3");
    let words = [python, "-m", "sglang.launch_server", ServerArgs::MODEL_PATH.name(), model];
    let mut command: Vec<String> = words.map(str::to_owned).to_vec();
    let known = [
        ServerArgs::HOST,
        ServerArgs::PORT,
        ServerArgs::TP_SIZE,
        ServerArgs::TENSOR_PARALLEL_SIZE,
        ServerArgs::TP,
    ];
    for flag in known {
        let last = given.values(flag).last();
        command.extend(last.into_iter().flat_map(|value| [flag.to_string(), value.clone()]));
    }
    command.extend(given.reading.leftovers.iter().cloned());
    Ok(command)
}

impl ServerArgs {
    fn model_name(&self) -> Option<&str> {
        self.model_path.as_deref().or(self.model.as_deref())
    }

    /// Returns the number of GPUs that share the model.
    fn gpus(&self) -> Result<u32, CliError> {
        let size = self.tp.or(self.tensor_parallel_size).unwrap_or(self.tp_size);
        at_least(Self::TP_SIZE, 1, size)
    }
}

fn files(args: &OneBatchArgs, environment: &Environment) -> OneBatchFiles {
    let is_reported = args.show_report && !args.no_append_to_github_summary;
    let summary = environment.variable("GITHUB_STEP_SUMMARY");
    let summary = summary.filter(|_| is_reported && environment.is_on("SGLANG_IS_IN_CI"));
    OneBatchFiles {
        lines: (!args.result_filename.is_empty()).then(|| args.result_filename.clone().into()),
        list: args.pydantic_result_filename.as_ref().map(Into::into),
        model: args.server.model_name().unwrap_or_default().to_owned(),
        server_args: args.server_args_for_metrics.clone(),
        github_summary: summary.map(PathBuf::from),
    }
}

fn report(args: &OneBatchArgs, given: &ParsedCommandLine) -> Result<OneBatchReport, CliError> {
    // To SGLang's client, lengths of the command line are a list, and default lengths a tuple.
    let debug = |flag: Flag, numbers: &[i64]| {
        if given.is(flag) { format!("{numbers:?}") } else { format!("({},)", numbers[0]) }
    };
    let inputs = debug(OneBatchArgs::INPUT_LEN, &args.input_len);
    let outputs = debug(OneBatchArgs::OUTPUT_LEN, &args.output_len);
    let cost = crate::number::finite(ServerArgs::GPU_HOURLY_COST, args.server.gpu_hourly_cost)?;
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

#[cfg(test)]
mod tests;
