//! The dialect of vLLM 0.33.0's benchmark commands (`vllm bench …`).
//!
//! A command line is read in five steps: the additions of vLLM's parser to argparse are translated,
//! argparse's rules bring the line into a canonical form, clap converts the values to their types,
//! flags that are not built or have no effect are refused or warned of, and the rest becomes a
//! [`BenchPlan`], with one module for each of its parts.
//!
//! Deliberate differences from vLLM are listed in `docs/compat/vllm.md`.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod buckets;
mod control;
mod conversation;
mod dataset;
mod files;
mod load;
mod media;
mod namespace;
mod offline;
mod output;
mod range_ratio;
mod refusal;
mod rows;
mod scope;
mod series;
mod server;
mod simulate;
mod slices;
pub mod sweep;
mod token_ids;
mod tokenizer_mode;
mod wire;

use std::ffi::OsString;

use servemark_backends::BackendName;
use servemark_plan::BenchPlan;

use self::args::{OutputArgs, PEER, VllmArgs};
pub use self::series::{Purpose, Series};
#[cfg(test)]
pub(crate) use self::slices::clap_command as slices_command;
pub use self::slices::{TextSlices, text_slices};
use self::sweep::SweepCommand;
use crate::argparse::{Flag, Flexible, ParsedCommandLine, texts, with_config};
use crate::compare::CompareArgs;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::nearest::nearest;
use crate::offline::Offline;
use crate::parsed::{Parsed, PeerArguments};
use crate::sweep::{Runs, bench};
use crate::words::{CHAT_BACKENDS, Words, refuse};

/// Command that a command line of vLLM requests.
#[derive(Debug)]
pub(crate) enum VllmCommand {
    /// A comparison of two results.
    Compare(Box<CompareArgs>),
    /// The prompts of a serving benchmark, which are drawn and not sent.
    DryRun(Box<Parsed>),
    /// A benchmark of an engine, over HTTP or without a server.
    Offline(Box<Offline>),
    /// Runs of a serving benchmark, as every dialect has them.
    Runs(Runs),
    /// Several runs by the flags of vLLM's Rust client.
    Series(Box<Series>),
    /// One of vLLM's sweeps.
    Sweep(Box<SweepCommand>),
}

/// Returns the commands of `vllm bench` with their flags, for completions.
pub(crate) fn bench_commands() -> [clap::Command; 4] {
    let sweep = clap::Command::new("sweep").about("Measure servers in several settings");
    [
        VllmArgs::whole_command("servemark vllm bench serve").name("serve"),
        offline::throughput_command()
            .name("throughput")
            .bin_name("servemark vllm bench throughput"),
        offline::latency_command().name("latency").bin_name("servemark vllm bench latency"),
        sweep.subcommands(sweep::clap_commands()),
    ]
}

/// Parses the arguments that follow `vllm`. `python` is the interpreter that has vLLM.
pub(crate) fn command(
    python: Option<&str>,
    mut args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<VllmCommand, UsageError> {
    let words = [args.next(), args.next()].map(Option::unwrap_or_default);
    let [bench, command] = words.map(|word| word.to_string_lossy().into_owned());
    match (bench.as_str(), command.as_str()) {
        ("bench", "serve") => serve(args.collect(), environment),
        ("bench", "sweep") => Ok(VllmCommand::Sweep(Box::new(sweep::parse(args, environment)?))),
        ("bench", "throughput") => {
            Ok(VllmCommand::Offline(Box::new(offline::throughput(python, args, environment)?)))
        }
        ("bench", "latency") => {
            Ok(VllmCommand::Offline(Box::new(offline::latency(python, args, environment)?)))
        }
        ("bench", "-h" | "--help") | ("-h" | "--help", _) => Err(UsageError::help(HELP)),
        ("bench", "") => Err(UsageError::refused("servemark vllm bench", CliError::NoCommand)),
        (first, second) => Err(UsageError::refused("servemark vllm", unknown(first, second))),
    }
}

/// Returns the error for a command of `vllm` that Servemark lacks.
fn unknown(first: &str, second: &str) -> CliError {
    let (one, both) = (format!("vllm {first}"), format!("vllm {first} {second}"));
    match (first, second) {
        ("", _) => CliError::NoCommand,
        ("launch" | "serve", _) => {
            CliError::StartsServer { given: one, measure: "vllm bench serve" }
        }
        ("bench", "forward" | "mm-processor" | "startup") => CliError::PeersAlone { given: both },
        ("chat" | "collect-env" | "complete" | "run-batch", _) => {
            CliError::PeersAlone { given: one }
        }
        ("bench", _) => CliError::unknown_command(both, COMMANDS),
        _ => {
            let nearest = nearest(&both, COMMANDS).map(str::to_owned);
            CliError::UnknownCommand { given: one, nearest }
        }
    }
}

/// vLLM's commands that servemark has.
const COMMANDS: [&str; 4] =
    ["vllm bench serve", "vllm bench throughput", "vllm bench latency", "vllm bench sweep"];

const HELP: &str = "\
vLLM's benchmark commands, same command lines.

usage: servemark vllm bench COMMAND [OPTIONS]

Commands:
  serve       Benchmark a running server
  throughput  Benchmark an engine with all requests at once
  latency     Benchmark an engine with one batch after the other
  sweep       Measure servers in several settings, and plot what was found

Run startup, mm-processor and forward with vLLM itself.
";

/// Parses `vllm bench serve`: one run, or several if flags of vLLM's Rust client or of Servemark's
/// ask for them.
fn serve(args: Vec<OsString>, environment: &Environment) -> Result<VllmCommand, UsageError> {
    let program = "vllm bench serve";
    if series::asks_for_several(&args) {
        return several(program, args, environment);
    }
    let parse = |program: &str, args, environment: &Environment| parse(program, args, environment);
    bench(program, args, environment, RESULT_FILES, parse).map(VllmCommand::Runs)
}

const ONE_RUN: &str = "--compare, --dry-run, --num-runs and --sweep-… are no part of a single run's command line; \
                       give them to vllm bench serve itself";

/// Reads the command line of one run of `vllm bench serve`, without the program's name.
///
/// ```
/// use servemark_cli::{Environment, vllm};
///
/// let args = ["--model", "tiny", "--num_prompts", "10"].map(Into::into);
/// let parsed = vllm::parse("vllm bench serve", args, &Environment::default())?;
/// assert_eq!(parsed.plan.workload.requests, 10);
/// # Ok::<(), servemark_cli::UsageError>(())
/// ```
pub fn parse(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Parsed, UsageError> {
    let (args, _, parsed) = read(program, args, environment)?;
    if args.extras.asks_for_one_run() {
        return Ok(parsed);
    }
    Err(UsageError::refused(program, CliError::Together(ONE_RUN)))
}

/// Parses a command line that may ask for several runs or a comparison.
fn several(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<VllmCommand, UsageError> {
    let (args, given, parsed) = read(program, args, environment)?;
    match args.extras.compare.as_deref() {
        None => {}
        Some([before, after]) => {
            let compared = CompareArgs::of(before.into(), after.into());
            let compared = CompareArgs { json: args.run.asking.json, ..compared };
            return Ok(VllmCommand::Compare(Box::new(compared)));
        }
        Some(_) => {
            let two = CliError::Together("--compare takes two files");
            return Err(UsageError::refused(program, two));
        }
    }
    if args.extras.dry_run {
        return Ok(VllmCommand::DryRun(Box::new(parsed)));
    }
    let runs = series::series(&args, &parsed, |args| plan(args, &given, environment));
    match runs.map_err(|error| UsageError::refused(program, error))? {
        Some(series) => Ok(VllmCommand::Series(Box::new(series))),
        None => Ok(VllmCommand::Runs(Runs::One(Box::new(parsed)))),
    }
}

fn read(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<(VllmArgs, ParsedCommandLine, Parsed), UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let peer = PEER.names();
    let has_flag = |flag: &str| peer.contains(&flag);
    let flexible = texts(args)
        .and_then(|args| with_config(args, environment, has_flag))
        .and_then(Flexible::take_back)
        .map_err(refuse)?;
    let command = flexible.searched(VllmArgs::whole_command(program));
    let given = ParsedCommandLine::read(command, &peer, &[], &flexible.args).map_err(refuse)?;
    let (mut args, matches): (VllmArgs, _) = given.typed(program)?;
    refusal::check_leftovers(&given.reading).map_err(refuse)?;
    simulate::choose_the_rest(&mut args, &given);
    let parsed = understand(&args, &given, environment).map_err(refuse)?;
    let warnings = [flexible.warnings, parsed.warnings].concat();
    let printed = namespace::printed(&args, &given, &matches, &parsed.plan);
    let peer_arguments = Some(PeerArguments::Vllm(printed));
    Ok((args, given, Parsed { warnings, peer_arguments, ..parsed }))
}

fn understand(
    args: &VllmArgs,
    given: &ParsedCommandLine,
    environment: &Environment,
) -> Result<Parsed, CliError> {
    refusal::check(args)?;
    let mut warnings = Vec::new();
    scope::check(args, given, &mut warnings)?;
    let credentials = server::credentials(&args.target, environment)?;
    let plan = plan(args, given, environment)?;
    warnings.extend(media::remark(args));
    warnings.extend(media::bare_audio(args));
    let (progress, plan_only) = (!args.output.disable_tqdm, args.run.asking.printed_plan());
    let full = args.run.judging.is_full();
    let parsed = Parsed::new(plan, credentials, environment, args.run.stopping.grace);
    Ok(Parsed { progress, plan_only, json: args.run.asking.json, full, warnings, ..parsed })
}

fn plan(
    args: &VllmArgs,
    given: &ParsedCommandLine,
    environment: &Environment,
) -> Result<BenchPlan, CliError> {
    let mut plan = BenchPlan::new(
        server::server(args)?,
        BackendName::Vllm,
        wire::wire(args, given)?,
        dataset::workload(args, environment)?,
        load::load(args)?,
    );
    plan.control = control::control(args)?;
    plan.model = server::model(args);
    plan.scoring = output::scoring(args)?;
    plan.output = output::output(args, given, environment)?;
    plan.echo = output::echo(args)?;
    plan.check().map_err(refuse(WORDS))?;
    Ok(plan)
}

/// Flags and phrases in messages of the crates below, each with its replacement in this dialect.
pub(crate) const WORDS: Words = &[
    (CHAT_BACKENDS, "--backend openai-chat"),
    ("a prompt format of chats sends the file", "--enable-multimodal-chat sends the file"),
    ("`workload.dataset.batch`", "--random-batch-size"),
    ("`workload.dataset.categories`", "--bfcl-categories"),
    ("`workload.dataset.lengths.input_spread`", "the input part of --random-range-ratio"),
    ("`workload.dataset.lengths.input_tokens`", "--random-input-len"),
    ("`workload.dataset.media.buckets`", "--random-mm-bucket-config"),
    ("`workload.dataset.media.limits`", "--random-mm-limit-mm-per-prompt"),
    ("`workload.dataset.media.spread`", "--random-mm-num-mm-items-range-ratio"),
    ("`workload.dataset.name`", "--hf-name"),
    ("`workload.dataset.output`", "--custom-output-len"),
    (
        "let the server fetch it (`workload.dataset.pictures`)",
        "leave --custom-ensure-client-side-data out, so that the server fetches it",
    ),
    ("`workload.dataset.prefix_tokens`", "--random-prefix-len"),
    ("`workload.dataset.prefixes`", "--prefix-repetition-num-prefixes"),
    ("`workload.dataset.source.random.first_tokens`", "--random-input-len"),
    ("`workload.dataset.source.random.later_tokens`", "--per-turn-input-len"),
    ("`workload.dataset.source.random.shared_by_all`", "--multi-turn-prefix-global-ratio"),
    ("`workload.dataset.source.random.shared_within`", "--multi-turn-prefix-conversation-ratio"),
    ("`workload.dataset.split`", "--hf-split"),
    ("`workload.dataset.subset`", "--hf-subset"),
];

/// Flags of files with the results of a run.
const RESULT_FILES: &[Flag] = &[
    OutputArgs::APPEND_RESULT,
    OutputArgs::PLOT_TIMELINE,
    OutputArgs::RESULT_DIR,
    OutputArgs::RESULT_FILENAME,
    OutputArgs::SAVE_DETAILED,
    OutputArgs::SAVE_RESULT,
];

#[cfg(test)]
mod tests;
