//! Finds out which program a command line is for, and parses it by that program's rules.
//!
//! `servemark` is put in front of the command that the user already runs, or of one of its own
//! commands.

mod embeddings;
mod script;
mod unknown;

use std::ffi::{OsStr, OsString};
use std::path::Path;

#[cfg(feature = "mock-server")]
use servemark_mock::program::ServerFlags;

pub use self::embeddings::embedding_bench;
use crate::ab::{self, AbRuns};
use crate::aisbench::{self, Tasks};
use crate::argparse::split_value;
use crate::compare::{self, CompareArgs};
use crate::completions;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::evalscope::EvalscopeRuns;
use crate::explore::{self, ExploreArgs};
use crate::export::{self, ExportArgs};
use crate::launch::{self, LaunchArgs};
use crate::manual;
#[cfg(feature = "mock-server")]
use crate::mock_server;
use crate::offline::Offline;
use crate::own::JudgingArgs;
use crate::parsed::Parsed;
use crate::plan_file::with_plan_format;
use crate::rerun::{self, Rerun};
use crate::run_file::{self, FileRun};
use crate::schema;
use crate::score::{self, ScoreArgs};
use crate::selftest::{self, SelftestArgs};
use crate::sglang::embedding::Sweep;
use crate::sglang::older;
use crate::sglang::one_batch::{self, OneBatch};
use crate::slo::SloRuns;
use crate::sweep::{Runs, SweepRuns, bench};
use crate::vllm::sweep::SweepCommand;
use crate::vllm::{Series, TextSlices};
use crate::{evalscope, python, sglang, vllm};

/// A parsed command line, classified by what it asks for.
#[derive(Debug)]
pub enum Invocation {
    /// A command that is started on several machines (`servemark launch`).
    Launch(LaunchArgs),
    /// Runs against two servers in turn, to compare them (`servemark ab`).
    Ab(Box<AbRuns>),
    /// Performance tasks of AISBench (`ais_bench -m perf`).
    Aisbench(Box<Tasks>),
    /// A serving benchmark of one run.
    Bench(Box<Parsed>),
    /// An export of a run log to a format of other programs (`servemark export`).
    Export(ExportArgs),
    /// A comparison: what changed from one result to another (`servemark compare`).
    Compare(Box<CompareArgs>),
    /// The prompts of a serving benchmark, which are drawn and not sent.
    DryRun(Box<Parsed>),
    /// Runs or a search of evalscope's (`evalscope perf`).
    Evalscope(Box<EvalscopeRuns>),
    /// An exploration of a server of which only the address is known (`servemark [URL]`).
    Explore(Box<ExploreArgs>),
    /// The simulator as a server on a port (`servemark mock-server`).
    #[cfg(feature = "mock-server")]
    MockServer(Box<ServerFlags>),
    /// Several runs against one server, to measure the spread between them (`servemark noise`).
    Noise(Box<AbRuns>),
    /// A benchmark of an engine, over HTTP or without a server.
    Offline(Box<Offline>),
    /// Batches that are sent as one request each.
    OneBatch(Box<OneBatch>),
    /// A repetition of a finished run, from its run log (`servemark rerun`).
    Rerun(Box<Rerun>),
    /// A run that a file describes (`servemark run FILE`).
    Run(Box<FileRun>),
    /// A text that is printed: a JSON Schema, a completion script or a manual page.
    Text(String),
    /// The figures of a finished run, from its run log (`servemark score`).
    Score(Box<ScoreArgs>),
    /// Several runs of one command line of vLLM's, one after the other.
    Series(Box<Series>),
    /// A test of this machine as a client (`servemark selftest`).
    Selftest(SelftestArgs),
    /// A search for the largest load that meets its objectives (`--slo-search`).
    SloSearch(Box<SloRuns>),
    /// One or more runs of embeddings or rankings (`bench-embedding`).
    Sweep(Box<Sweep>),
    /// Several runs of a serving benchmark, with different values of its flags (`--sweep`).
    SweepRuns(Box<SweepRuns>),
    /// A text that is cut into prompts (vLLM's `create_txt_slices_dataset`).
    TextSlices(Box<TextSlices>),
    /// A sweep of vLLM's (`vllm bench sweep`).
    VllmSweep(Box<SweepCommand>),
}

impl Invocation {
    /// Returns whether standard output gets one document of JSON and no other text.
    pub fn prints_document(&self) -> bool {
        match self {
            Self::Ab(runs) | Self::Noise(runs) => runs.json && runs.first.plan_only.is_none(),
            Self::Aisbench(tasks) => {
                tasks.tasks.first().is_some_and(|task| task.parsed.prints_document())
            }
            Self::Bench(parsed) | Self::DryRun(parsed) => parsed.prints_document(),
            Self::Compare(args) => args.json,
            Self::Evalscope(runs) => runs.first.prints_document(),
            Self::Explore(args) => args.json,
            Self::Export(args) => args.json,
            Self::Offline(offline) => offline.run.prints_document(),
            Self::OneBatch(bench) => bench.common.prints_document(),
            Self::Rerun(rerun) => rerun.prints_document(),
            Self::Run(run) => run.parsed.as_ref().is_some_and(Parsed::prints_document),
            Self::Score(args) => args.json,
            Self::Selftest(args) => args.json,
            Self::Series(series) => series.first.prints_document(),
            Self::SloSearch(runs) => runs.first.prints_document(),
            Self::Sweep(sweep) => sweep.points.first().is_some_and(Parsed::prints_document),
            Self::SweepRuns(runs) => runs.first.prints_document(),
            Self::Launch(_) | Self::Text(_) => false,
            #[cfg(feature = "mock-server")]
            Self::MockServer(_) => false,
            Self::TextSlices(slices) => slices.json,
            Self::VllmSweep(command) => command.prints_document(),
        }
    }
}

/// Parses the arguments that follow the program's name.
///
/// ```
/// use servemark_cli::{Environment, Invocation, dispatch};
///
/// let args = ["python3", "-m", "sglang.bench_serving", "--backend", "vllm"].map(Into::into);
/// let invocation = dispatch::parse(args, &Environment::default())?;
/// assert!(matches!(invocation, Invocation::Bench(_)));
/// # Ok::<(), servemark_cli::UsageError>(())
/// ```
pub fn parse(
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let mut args = with_plan_format(args.into_iter().collect()).into_iter();
    let command = args.next().unwrap_or_default();
    let name = file_name(&command);
    let args: Vec<OsString> = args.collect();
    if is_version_request(&args) && !is_python(&name) {
        return Err(UsageError::help(VERSION));
    }
    if name == "help" && !args.is_empty() {
        return parse(args.into_iter().chain(["--help".into()]), environment);
    }
    schema::refuse_document(&name, &args)?;
    let args = args.into_iter();
    if command.is_empty() || explore::is_address(&command) || is_flag(&command) {
        let first = Some(command).filter(|command| !command.is_empty());
        return explored(explore::parse(first.into_iter().chain(args), environment));
    }
    match name.as_str() {
        "-h" | "--help" | "help" => Err(UsageError::help(HELP)),
        "-V" | "--version" => Err(UsageError::help(VERSION)),
        "ab" => {
            let runs = ab::parse_ab("servemark ab", args, environment, single_run)?;
            Ok(Invocation::Ab(Box::new(runs)))
        }
        "ais_bench" => of_aisbench(args, environment),
        "bench-embedding" => embedding_bench("servemark bench-embedding", args, environment),
        #[cfg(feature = "engine")]
        "bench-offline" => bench_offline("servemark bench-offline", None, args, environment),
        #[cfg(not(feature = "engine"))]
        "bench-offline" => Err(UsageError::refused(PROGRAM, CliError::not_built("bench-offline"))),
        "bench-serving" => bench_serving("servemark bench-serving", args, environment),
        "compare" => compare::parse("servemark compare", args, environment)
            .map(|args| Invocation::Compare(Box::new(args))),
        "completions" => completions::parse(args).map(Invocation::Text),
        "demo" => explored(explore::parse_demo(args, environment)),
        "export" => export::parse(args).map(Invocation::Export),
        "evalscope" => of_evalscope(evalscope::command(args, environment)),
        "launch" => launch::parse(args).map(Invocation::Launch),
        "man" => manual::parse(args).map(Invocation::Text),
        #[cfg(feature = "mock-server")]
        "mock-server" => {
            mock_server::parse(args).map(|flags| Invocation::MockServer(Box::new(flags)))
        }
        "noise" => {
            let runs = ab::parse_noise("servemark noise", args, environment, single_run)?;
            Ok(Invocation::Noise(Box::new(runs)))
        }
        "rerun" => {
            let rerun = rerun::parse("servemark rerun", args, environment)?;
            Ok(Invocation::Rerun(Box::new(rerun)))
        }
        "run" => run_file::parse(args, environment).map(|run| Invocation::Run(Box::new(run))),
        "schema" => schema::parse(args).map(Invocation::Text),
        "score" => score::parse("servemark score", args, environment)
            .map(|args| Invocation::Score(Box::new(args))),
        "doctor" | "selftest" => {
            let program = format!("servemark {name}");
            selftest::parse(&program, args, environment).map(Invocation::Selftest)
        }
        "vllm" => of_vllm(python_beside(&command).as_deref(), args, environment),
        python if is_python(python) => module(&command, args, environment),
        file if script::is_python_file(file) => script::of_file(&command, None, args, environment),
        shell if script::is_shell(shell) => Err(refused(CliError::ShellScript { given: name })),
        module if unknown::is_module(module) => parse_module(&name, None, args, environment),
        _ => Err(refused(unknown::command(&name, args))),
    }
}

/// Parses a command line of a single run: that of another benchmark, or flags of `bench-serving`.
/// Returns `None` if it asks for anything other than a single run.
pub(crate) fn single_run(
    program: &str,
    args: Vec<OsString>,
    environment: &Environment,
) -> Result<Option<Box<Parsed>>, UsageError> {
    let is_flag = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with('-'));
    let invocation = if args.first().is_none_or(is_flag) {
        bench_serving(program, args, environment)?
    } else {
        parse(args, environment)?
    };
    match invocation {
        Invocation::Bench(parsed) => Ok(Some(parsed)),
        _ => Ok(None),
    }
}

/// Returns whether all that follows a command is `-V`, or `bench -V` for vLLM.
fn is_version_request(args: &[OsString]) -> bool {
    match args {
        [version] => version == "-V",
        [bench, version] => bench == "bench" && version == "-V",
        _ => false,
    }
}

fn explored(args: Result<ExploreArgs, UsageError>) -> Result<Invocation, UsageError> {
    Ok(Invocation::Explore(Box::new(args?)))
}

/// Returns whether a word is a flag of `servemark [URL]`; `--help` and `--version` are those of all
/// commands.
fn is_flag(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    word.starts_with("--") && !["--help", "--version"].contains(&word.as_ref())
}

/// Parses a command line of SGLang's serving benchmark, with flags of its older versions too.
pub fn bench_serving(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let args = with_plan_format(args.into_iter().collect());
    let renewed =
        older::replace_old_flags(args).map_err(|error| UsageError::refused(program, error))?;
    let parse = |program: &str, args, environment: &Environment| {
        let mut parsed = sglang::parse(program, args, environment)?;
        parsed.warnings.extend_from_slice(&renewed.warnings);
        Ok(parsed)
    };
    bench(program, renewed.args, environment, sglang::RESULT_FILES, parse).map(Into::into)
}

/// Parses a command line of SGLang's benchmark of an engine without a server. `python` is the
/// interpreter that imports the engine, if the command line began with one.
#[cfg(feature = "engine")]
pub fn bench_offline(
    program: &str,
    python: Option<&str>,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let offline = sglang::offline::parse(program, python, args, environment)?;
    Ok(Invocation::Offline(Box::new(offline)))
}

/// Parses a command line of SGLang's steady-state wrapper: the serving benchmark, for which
/// `--steady-state-concurrency-ratio` is required and checked before everything else.
fn steady_state(
    program: &str,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let args: Vec<OsString> = args.collect();
    check_share(&args).map_err(|error| UsageError::refused(program, error))?;
    bench_serving(program, args, environment)
}

fn check_share(args: &[OsString]) -> Result<(), CliError> {
    const FLAG: &str = JudgingArgs::STEADY_STATE_CONCURRENCY_RATIO.name();
    let texts: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let place = texts.iter().rposition(|text| split_value(text).0 == FLAG);
    let place = place.ok_or(CliError::NoSteadyState)?;
    let is_value = |text: &&str| !text.starts_with('-') || python::float(text).is_ok();
    let following = || texts.get(place + 1).map(|text| &**text).filter(is_value);
    let missing = CliError::ExpectedArgument { flag: FLAG.to_owned(), expected: "one argument" };
    let text = split_value(&texts[place]).1.or_else(following).ok_or(missing)?;
    match python::float(text) {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(()),
        Ok(_) => Err(CliError::setting(FLAG, "must be in (0, 1]")),
        Err(why) => Err(CliError::Peer(format!("argument {FLAG}: {why}"))),
    }
}

/// Parses `python [-u] -m MODULE …` or `python FILE.py …`. The interpreter's own switches are
/// ignored.
fn module(
    python: &OsStr,
    mut args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let mut switch = args.find(|arg| !is_interpreter_switch(arg)).unwrap_or_default();
    while switch == "-W" || switch == "-X" {
        args.next();
        switch = args.find(|arg| !is_interpreter_switch(arg)).unwrap_or_default();
    }
    if script::is_python_file(&switch.to_string_lossy()) {
        return script::of_file(&switch, python.to_str(), args, environment);
    }
    let module = args.next().filter(|_| switch == "-m").unwrap_or_default();
    parse_module(&module.to_string_lossy(), python.to_str(), args, environment)
}

/// Parses the command line of a Python module.
fn parse_module(
    module: &str,
    python: Option<&str>,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    match module {
        "sglang.bench_serving" | "sglang.benchmark.serving" => {
            bench_serving(module, args, environment)
        }
        #[cfg(feature = "engine")]
        "sglang.bench_offline_throughput" | "sglang.benchmark.offline_throughput" => {
            bench_offline(module, Some(python.unwrap_or("python3")), args, environment)
        }
        "sglang.bench_one_batch_server" | "sglang.benchmark.one_batch_server" => {
            let bench = one_batch::parse(module, python, args, environment)?;
            Ok(Invocation::OneBatch(Box::new(bench)))
        }
        "sglang.benchmark.steady_state_serving" => steady_state(module, args, environment),
        "ais_bench.benchmark.cli.main" => of_aisbench(args, environment),
        "evalscope.cli.cli" => of_evalscope(evalscope::command(args, environment)),
        "evalscope.perf.main" => of_evalscope(evalscope::parse(module, args, environment)),
        "vllm.benchmarks.latency" => script::of_vllms("latency", python, args, environment),
        "vllm.benchmarks.serve" => script::of_vllms("serve", python, args, environment),
        "vllm.benchmarks.throughput" => script::of_vllms("throughput", python, args, environment),
        "vllm.entrypoints.cli.main" => of_vllm(python, args, environment),
        "vllm.benchmarks.datasets.create_txt_slices_dataset" => {
            let slices = vllm::text_slices(args, environment)?;
            Ok(Invocation::TextSlices(Box::new(slices)))
        }
        "" => Err(UsageError::refused(PROGRAM, CliError::NoModule)),
        other if other.starts_with(VLLM_SWEEPS) => {
            let kind = OsString::from(&other[VLLM_SWEEPS.len()..]);
            vllm_sweep(std::iter::once(kind).chain(args), environment)
        }
        other => Err(UsageError::refused(PROGRAM, unknown::module(other))),
    }
}

fn of_aisbench(
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let tasks = aisbench::parse("ais_bench", args, environment)?;
    Ok(Invocation::Aisbench(Box::new(tasks)))
}

fn of_evalscope(runs: Result<EvalscopeRuns, UsageError>) -> Result<Invocation, UsageError> {
    runs.map(|runs| Invocation::Evalscope(Box::new(runs)))
}

fn of_vllm(
    python: Option<&str>,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    Ok(match vllm::command(python, args, environment)? {
        vllm::VllmCommand::Compare(args) => Invocation::Compare(args),
        vllm::VllmCommand::DryRun(parsed) => Invocation::DryRun(parsed),
        vllm::VllmCommand::Offline(offline) => Invocation::Offline(offline),
        vllm::VllmCommand::Runs(runs) => runs.into(),
        vllm::VllmCommand::Series(series) => Invocation::Series(series),
        vllm::VllmCommand::Sweep(sweep) => Invocation::VllmSweep(sweep),
    })
}

impl From<Runs> for Invocation {
    fn from(runs: Runs) -> Self {
        match runs {
            Runs::One(parsed) => Self::Bench(parsed),
            Runs::Search(search) => Self::SloSearch(search),
            Runs::Sweep(sweep) => Self::SweepRuns(sweep),
        }
    }
}

fn vllm_sweep(
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    Ok(Invocation::VllmSweep(Box::new(vllm::sweep::parse(args, environment)?)))
}

/// Beginning of the names of vLLM's sweeps as modules that Python runs.
const VLLM_SWEEPS: &str = "vllm.benchmarks.sweep.";

/// Returns the last part of a path: `python3` of `/usr/bin/python3`.
fn file_name(command: &OsStr) -> String {
    let command = command.to_string_lossy();
    command.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

/// Returns the Python interpreter in the folder of a program, because both are installed together;
/// `None` if the program was given without its folder.
fn python_beside(command: &OsStr) -> Option<String> {
    let folder = Path::new(command).parent().filter(|folder| !folder.as_os_str().is_empty())?;
    Some(folder.join("python").to_string_lossy().into_owned())
}

/// Returns whether a name is one of Python's: `python`, `python3`, `python3.12`.
fn is_python(name: &str) -> bool {
    name.strip_prefix("python")
        .is_some_and(|version| version.chars().all(|sign| sign.is_ascii_digit() || sign == '.'))
}

/// Returns whether an argument consists of the interpreter's one-letter switches without a value,
/// such as `-u` and `-OO`.
fn is_interpreter_switch(arg: &OsStr) -> bool {
    let letters = arg.to_str().and_then(|arg| arg.strip_prefix('-')).unwrap_or_default();
    !letters.is_empty() && letters.chars().all(|letter| "bBdEiIOPqRsSuvx".contains(letter))
}

fn refused(error: CliError) -> UsageError {
    UsageError::refused(PROGRAM, error)
}

const PROGRAM: &str = "servemark";

const VERSION: &str = concat!("servemark ", env!("CARGO_PKG_VERSION"), "\n");

const HELP: &str = "\
Measure LLM inference.

usage: servemark [URL] [OPTIONS]      explore a server, in about a minute
       servemark COMMAND [OPTIONS]    prefix the command that you run today

Servers and runs:
  run FILE                            run a plan from a TOML, YAML or JSON file
  rerun RUNLOG                        repeat a finished run from its log
  bench-serving                       benchmark a server with SGLang's flags
  bench-embedding                     benchmark embeddings and rankings
  bench-offline                       benchmark an engine without a server
  ab --a URL --b URL -- FLAGS         measure two servers in turn
  noise URL -- FLAGS                  measure the spread between equal runs
  demo                                explore the bundled simulator
  mock-server                         serve the simulator on a port
  launch --hosts A,B -- COMMAND       share a command's load between machines
  doctor, selftest                    measure how accurate this machine is

Results:
  score RUNLOG                        print the figures of a finished run
  compare BEFORE AFTER                print what changed between results
  export RUNLOG                       write a run in formats of other programs
  schema NAME                         print a JSON Schema
  completions SHELL                   print the completions of a shell
  man [COMMAND]                       print a manual page

Commands of other clients, with their command lines:
  python -m sglang.bench_serving      SGLang's serving benchmark, which is also
                                      sglang.benchmark.serving
  python -m sglang.benchmark.offline_throughput
                                      of an engine without a server
  python -m sglang.benchmark.one_batch_server
                                      of batches, each sent as one request
  python -m sglang.benchmark.steady_state_serving
                                      with a report of the steady part
  vllm bench serve                    vLLM's serving benchmark
  vllm bench throughput               all requests at once
  vllm bench latency                  one batch after the other
  vllm bench sweep                    servers in several settings, and plots
  python -m vllm.benchmarks.datasets.create_txt_slices_dataset
                                      cuts a text into prompts
  evalscope perf                      evalscope's serving benchmark
  ais_bench ... -m perf               AISBench's performance mode

Machines share the load of a command that each of them runs with
--coordinator nats://HOST:PORT --world N --rank R (servemark launch --help).

Options:
  -h, --help       Print this; servemark URL --help lists the options of an
                   exploration, servemark COMMAND --help those of a command
      --version    Print the version

Examples:
  servemark gpu-box:8000
  servemark gpu-box:8000 --slo 'ttft:p90<500ms' --json
  servemark vllm bench serve --model m --num-prompts 100
";

#[cfg(test)]
mod tests;
