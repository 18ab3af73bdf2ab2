//! Parses command lines of SGLang 0.5.23's serving benchmark (`python -m sglang.bench_serving`).
//!
//! A command line is read in four steps: argparse's rules bring it into a canonical form, clap
//! converts the values to their types, flags that are not built or have no effect are refused or
//! warned of, and the rest becomes a [`BenchPlan`], with one module for each of its parts.
//!
//! `docs/compat/sglang.md` describes the intended differences from SGLang's client.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod control;
mod dataset;
pub mod embedding;
mod load;
mod namespace;
#[cfg(feature = "engine")]
pub(crate) mod offline;
pub(crate) mod older;
#[cfg(feature = "commands")]
pub mod one_batch;
mod output;
mod refusal;
mod scope;
mod server;
mod shared_prefix;
mod simulate;
mod wire;

use std::ffi::OsString;

use clap::Command;
use servemark_backends::BackendName;
use servemark_plan::BenchPlan;

use self::args::{EXCLUSIVE, OutputArgs, PEER, SglangArgs, TargetArgs};
use crate::argparse::{Flag, ParsedCommandLine, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::parsed::Parsed;
use crate::words::{Words, refuse};

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> Command {
    SglangArgs::whole_command("servemark bench-serving")
}

/// Parses a command line, which is given without the program's name.
///
/// ```
/// use servemark_cli::{Environment, sglang};
///
/// let args = ["--backend", "vllm", "--num-prompt", "10"].map(Into::into);
/// let parsed = sglang::parse("bench-serving", args, &Environment::default())?;
/// assert_eq!(parsed.plan.workload.requests, 10);
/// # Ok::<(), servemark_cli::UsageError>(())
/// ```
pub fn parse(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Parsed, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args: Vec<OsString> = args.into_iter().collect();
    let names_nothing = args.is_empty();
    let given = read(program, SglangArgs::whole_command(program), args)?;
    let (mut args, matches): (SglangArgs, _) = given.typed(program)?;
    given.reading.refuse_leftovers().map_err(refuse)?;
    simulate::choose_the_rest(&mut args, &given);
    let peer_arguments = Some(namespace::arguments(&args, &given, &matches));
    let mut parsed = understand(&args, &given, environment).map_err(refuse)?;
    let output = &mut parsed.plan.output;
    parsed.folder = args.results.folder(&args.run, None, output).map_err(refuse)?;
    if names_nothing {
        parsed.warnings.push(NAMES_NOTHING.to_owned());
    }
    Ok(Parsed { peer_arguments, ..parsed })
}

/// Warning about a command line without arguments.
const NAMES_NOTHING: &str = "no argument names a server, so SGLang's default address is asked; \
    --base-url URL names one, --simulate needs none, and --help lists all flags";

/// Reads a command line by argparse's rules, the first of the four steps.
fn read(
    program: &str,
    command: Command,
    args: impl IntoIterator<Item = OsString>,
) -> Result<ParsedCommandLine, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args = texts(args).map_err(refuse)?;
    ParsedCommandLine::read(command, &PEER.names(), EXCLUSIVE, &args).map_err(refuse)
}

fn understand(
    args: &SglangArgs,
    given: &ParsedCommandLine,
    environment: &Environment,
) -> Result<Parsed, CliError> {
    refusal::check(args, given)?;
    let backend = backend(args)?;
    let mut warnings = Vec::new();
    scope::check(args, given, (dataset::name(&args.dataset)?, backend), &mut warnings)?;
    let credentials = server::credentials(args, backend, environment, &mut warnings)?;
    let plan = plan(args, backend, environment, &mut warnings)?;
    let (progress, plan_only) = (!args.output.disable_tqdm, args.run.asking.printed_plan());
    let full = args.run.judging.is_full();
    let parsed = Parsed::new(plan, credentials, environment, args.run.stopping.grace);
    Ok(Parsed { progress, plan_only, json: args.run.asking.json, full, warnings, ..parsed })
}

fn plan(
    args: &SglangArgs,
    backend: BackendName,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<BenchPlan, CliError> {
    let workload = dataset::workload(args, backend, environment)?;
    let mut plan = BenchPlan::new(
        server::server(args, backend)?,
        backend,
        wire::wire(args, backend, &workload.dataset)?,
        workload,
        load::load(args)?,
    );
    plan.control = control::control(args, backend, environment, warnings)?;
    plan.model = server::model(args);
    plan.scoring = output::scoring(args)?;
    plan.output = output::output(args, backend, environment)?;
    plan.echo = output::echo(args);
    plan.check().map_err(refuse(WORDS))?;
    Ok(plan)
}

fn backend(args: &SglangArgs) -> Result<BackendName, CliError> {
    let name = &args.target.backend;
    name.parse().map_err(|error| CliError::about(TargetArgs::BACKEND, error))
}

/// Flags and phrases in messages of the crates below, each with its replacement in this dialect.
pub(crate) const WORDS: Words = &[];

/// Flags that give the address of the server. vLLM's client has flags of the same names.
pub(crate) const NAMES_SERVER: [Flag; 3] =
    [TargetArgs::BASE_URL, TargetArgs::HOST, TargetArgs::PORT];

/// Flags of files with the results of a run.
pub(crate) const RESULT_FILES: &[Flag] = &[OutputArgs::OUTPUT_FILE, OutputArgs::OUTPUT_DETAILS];

#[cfg(test)]
mod tests;
