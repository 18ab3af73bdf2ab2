//! Finds out which program a command line is for, and parses it by that program's rules.
//!
//! `servemark` is put in front of the command that the user already runs, or of one of its own
//! commands.

mod script;
mod unknown;

use std::ffi::{OsStr, OsString};
use std::path::Path;

#[cfg(feature = "mock-server")]
use super::mock_server;
use super::{
    Command, ExploreArgs, ab, completions, explore, export, launch, manual, rerun, run_file,
    schema, score, selftest,
};
use crate::argparse::split_value;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::evalscope::EvalscopeRuns;
#[cfg(feature = "engine")]
use crate::invocation::bench_offline;
use crate::invocation::{Invocation, bench_serving, embedding_bench};
use crate::own::JudgingArgs;
use crate::parsed::Parsed;
use crate::plan_file::with_plan_format;
use crate::sglang::one_batch;
use crate::{aisbench, compare, evalscope, python, vllm};

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
            Ok(Command::Ab(Box::new(runs)).into())
        }
        "ais_bench" => of_aisbench(args, environment),
        "bench-embedding" => embedding_bench("servemark bench-embedding", args, environment),
        #[cfg(feature = "engine")]
        "bench-offline" => bench_offline("servemark bench-offline", None, args, environment),
        #[cfg(not(feature = "engine"))]
        "bench-offline" => Err(UsageError::refused(PROGRAM, CliError::not_built("bench-offline"))),
        "bench-serving" => bench_serving("servemark bench-serving", args, environment),
        "compare" => compare::parse("servemark compare", args, environment)
            .map(|args| Command::Compare(Box::new(args)).into()),
        "completions" => completions::parse(args).map(|text| Command::Text(text).into()),
        "demo" => explored(explore::parse_demo(args, environment)),
        "export" => export::parse(args).map(|args| Command::Export(args).into()),
        "evalscope" => of_evalscope(evalscope::command(args, environment)),
        "launch" => launch::parse(args).map(|args| Command::Launch(args).into()),
        "man" => manual::parse(args).map(|text| Command::Text(text).into()),
        #[cfg(feature = "mock-server")]
        "mock-server" => {
            mock_server::parse(args).map(|flags| Command::MockServer(Box::new(flags)).into())
        }
        "noise" => {
            let runs = ab::parse_noise("servemark noise", args, environment, single_run)?;
            Ok(Command::Noise(Box::new(runs)).into())
        }
        "rerun" => {
            let rerun = rerun::parse("servemark rerun", args, environment)?;
            Ok(Command::Rerun(Box::new(rerun)).into())
        }
        "run" => run_file::parse(args, environment).map(|run| Command::Run(Box::new(run)).into()),
        "schema" => schema::parse(args).map(|text| Command::Text(text).into()),
        "score" => score::parse("servemark score", args, environment)
            .map(|args| Command::Score(Box::new(args)).into()),
        "doctor" | "selftest" => {
            let program = format!("servemark {name}");
            selftest::parse(&program, args, environment).map(|args| Command::Selftest(args).into())
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
    Ok(Command::Explore(Box::new(args?)).into())
}

/// Returns whether a word is a flag of `servemark [URL]`; `--help` and `--version` are those of all
/// commands.
fn is_flag(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    word.starts_with("--") && !["--help", "--version"].contains(&word.as_ref())
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
            Ok(Command::OneBatch(Box::new(bench)).into())
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
            Ok(Command::TextSlices(Box::new(slices)).into())
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
    Ok(Command::Aisbench(Box::new(tasks)).into())
}

fn of_evalscope(runs: Result<EvalscopeRuns, UsageError>) -> Result<Invocation, UsageError> {
    runs.map(|runs| Command::Evalscope(Box::new(runs)).into())
}

fn of_vllm(
    python: Option<&str>,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    Ok(match vllm::command(python, args, environment)? {
        vllm::VllmCommand::Compare(args) => Command::Compare(args).into(),
        vllm::VllmCommand::DryRun(parsed) => Command::DryRun(parsed).into(),
        vllm::VllmCommand::Offline(offline) => Invocation::Offline(offline),
        vllm::VllmCommand::Runs(runs) => runs.into(),
        vllm::VllmCommand::Series(series) => Command::Series(series).into(),
        vllm::VllmCommand::Sweep(sweep) => Command::VllmSweep(sweep).into(),
    })
}

fn vllm_sweep(
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    Ok(Command::VllmSweep(Box::new(vllm::sweep::parse(args, environment)?)).into())
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
