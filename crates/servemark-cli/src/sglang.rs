//! The dialect of SGLang 0.5.23's serving benchmark (`python -m sglang.bench_serving`).
//!
//! A command line is read in four steps: argparse's rules make it canonical, clap gives the values
//! their types, what is not built or has no effect is named, and the rest becomes a
//! [`BenchPlan`], theme by theme.
//!
//! What differs from the peer on purpose is told in `docs/compat/sglang.md`.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod control;
mod dataset;
pub mod embedding;
mod given;
mod load;
mod names;
mod number;
mod output;
mod refusal;
mod scope;
mod server;
mod shared_prefix;
mod simulate;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Command, FromArgMatches};
use servemark_backends::BackendName;
use servemark_client::Credentials;
use servemark_hub::HubSettings;
use servemark_plan::BenchPlan;

use self::args::SglangArgs;
pub(crate) use self::args::{parse_layout, parse_verdict};
use self::given::Given;
use self::names::{EXCLUSIVE, PEER};
use self::scope::Scene;
use crate::argparse::Grammar;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};

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
    /// Whether a progress bar is wanted.
    pub progress: bool,
    /// Whether the plan is only to be printed.
    pub plan_only: bool,
    /// What the user should know before the run.
    pub warnings: Vec<String>,
}

/// Reads a command line, without the program's name.
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
    let given = read(program, SglangArgs::whole_command(program), args)?;
    let (mut args, _) = typed(program, &given)?;
    given.reading.refuse_leftovers().map_err(refuse)?;
    simulate::choose_the_rest(&mut args, &given);
    understand(&args, &given, environment).map_err(refuse)
}

/// The first step: argparse's rules.
fn read(
    program: &str,
    command: Command,
    args: impl IntoIterator<Item = OsString>,
) -> Result<Given, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args = texts(args).map_err(refuse)?;
    let grammar = Grammar::of(&command, &PEER, EXCLUSIVE);
    let reading = grammar.read(&args).map_err(refuse)?;
    Ok(Given { reading, command })
}

fn understand(
    args: &SglangArgs,
    given: &Given,
    environment: &Environment,
) -> Result<Parsed, CliError> {
    refusal::check(args, given)?;
    let backend = backend(args)?;
    let mut warnings = Vec::new();
    Scene { given, dataset: dataset::name(&args.dataset)?, backend }.check(&mut warnings)?;
    let credentials = server::credentials(&args.target, environment, &mut warnings)?;
    let plan = plan(args, backend, environment)?;
    let (progress, plan_only) = (!args.output.disable_tqdm, args.own.plan_only);
    let (hub, cache) = (environment.hub(), environment.cache());
    Ok(Parsed { plan, credentials, hub, cache, progress, plan_only, warnings })
}

fn plan(
    args: &SglangArgs,
    backend: BackendName,
    environment: &Environment,
) -> Result<BenchPlan, CliError> {
    let workload = dataset::workload(args, backend, environment)?;
    let mut plan = BenchPlan::new(
        server::server(args, backend)?,
        backend,
        wire::wire(args, backend, &workload.dataset)?,
        workload,
        load::load(args)?,
    );
    plan.control = control::control(args, backend, environment)?;
    plan.model = server::model(args);
    plan.scoring = output::scoring(args)?;
    plan.output = output::output(args, backend, environment)?;
    plan.echo = output::echo(args);
    plan.check().map_err(CliError::Plan)?;
    Ok(plan)
}

fn backend(args: &SglangArgs) -> Result<BackendName, CliError> {
    let name = &args.target.backend;
    name.parse().map_err(|error| CliError::setting("--backend:", error))
}

fn texts(args: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, CliError> {
    let not_utf8 = |arg: OsString| CliError::NotUtf8 { shown: arg.to_string_lossy().into_owned() };
    args.into_iter().map(|arg| arg.into_string().map_err(not_utf8)).collect()
}

fn typed(program: &str, given: &Given) -> Result<(SglangArgs, ArgMatches), UsageError> {
    let args = [program.to_owned()].into_iter().chain(given.reading.canonical());
    let matches = given.command.clone().try_get_matches_from(args);
    let refuse = |error| refusal::of_clap(program, &error);
    let matches = matches.map_err(refuse)?;
    Ok((SglangArgs::from_arg_matches(&matches).map_err(refuse)?, matches))
}

#[cfg(test)]
mod tests;
