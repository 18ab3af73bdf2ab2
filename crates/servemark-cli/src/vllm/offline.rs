//! `vllm bench throughput` and `vllm bench latency`.
//!
//! As with vLLM an engine is started and called, in a process of its own. Where a server is named it
//! is asked instead: everything is sent at once, or one batch after the other, and answers are not
//! streamed. Either way a command line is put into the words of `vllm bench serve`, which makes a
//! plan of it, as vLLM's own client puts it into those words to draw its data sets.

mod engine;
#[cfg(feature = "engine")]
mod here;
mod latency;
mod names;
mod throughput;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory, Parser};
use serde_json::{Value, json};
use servemark_backends::BackendSpec;
use servemark_core::{IfTaken, JsonObject};
use servemark_plan::Layout;

pub(crate) use self::latency::parse as latency;
pub(crate) use self::throughput::parse as throughput;
use super::args::VllmArgs;
use super::names::PEER;
use crate::Parsed;
use crate::argparse::{
    Flexible, Given, Occurrence, Owner, Scope, check_scopes, texts, with_config,
};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::own::{CONNECTION, WorkerArgs};

/// A benchmark of an engine, over HTTP or without a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offline {
    /// What is run before, and not told of.
    pub warm_up: Option<Parsed>,
    /// What is measured.
    pub run: Parsed,
    /// What is told of it.
    pub told: OfflineMessages,
    /// The file of `--output-json`.
    pub output_json: Option<PathBuf>,
    /// Whether the program waits for a signal when the run is done, for a profiler that is attached.
    pub stays: bool,
}

impl Offline {
    /// What is measured, with what is run before in its plan.
    pub fn whole(&self) -> Parsed {
        let mut whole = self.run.clone();
        whole.plan.warm_up = self.warm_up.as_ref().map(|warm_up| Box::new(warm_up.plan.clone()));
        whole
    }
}

/// Messages of a benchmark of an engine besides the tables. Closed: these are vLLM's and SGLang's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OfflineMessages {
    /// The latency of each batch of this number of requests.
    Latency(NonZeroUsize),
    /// No messages.
    Nothing,
    /// The number of prompt tokens, once the prompts are drawn.
    Prompts,
    /// How many requests and tokens there were a second.
    Throughput,
    /// Nothing but that it warms up: of a profiler's run the traces count.
    Traces,
}

/// A command line of one of the commands, read by argparse's rules.
struct Line<A> {
    args: A,
    given: Given,
    warnings: Vec<String>,
}

impl<A: Parser> Line<A> {
    /// Reads a command line. Where a server is named, the engine's arguments are refused by name.
    fn read(
        program: &str,
        peer: &[&str],
        command: Command,
        args: impl IntoIterator<Item = OsString>,
        environment: &Environment,
    ) -> Result<Self, UsageError> {
        let refuse = |error| UsageError::refused(program, error);
        let has_flag = |flag: &str| {
            engine::is_negated(flag) || command.get_arguments().any(|arg| is_named(arg, flag))
        };
        let flexible = texts(args)
            .and_then(|args| with_config(args, environment, has_flag))
            .and_then(Flexible::take_back)
            .map_err(refuse)?;
        let command = flexible.searched(command);
        let args = engine::spelled_out(flexible.args, peer).map_err(refuse)?;
        let given = Given::read(command, peer, &[], &args).map_err(refuse)?;
        let (args, _) = given.typed(program)?;
        let line = Self { args, given, warnings: flexible.warnings };
        line.check().map_err(refuse)?;
        Ok(line)
    }

    fn check(&self) -> Result<(), CliError> {
        let asks_server = self.asks_server();
        check_scopes(SCOPES, &self.given, |server| *server == asks_server, &mut Vec::new())?;
        if !asks_server {
            return Ok(());
        }
        engine::refuse(&self.given.reading.leftovers)?;
        self.given.reading.refuse_leftovers()
    }

    /// Whether a server is named, which is asked then. Otherwise an engine is started.
    fn asks_server(&self) -> bool {
        NAMES_SERVER.iter().any(|flag| self.given.is(flag))
    }

    /// The engine's arguments: what is none of this command's, and which model.
    fn argv(&self) -> Vec<String> {
        let given = self.given.reading.given.iter();
        let shared = given.filter(|occurrence| engine::is_flag(&occurrence.flag)).flat_map(written);
        let default = (!self.given.is("--model")).then(|| format!("--model={MODEL}"));
        default.into_iter().chain(shared).chain(self.given.reading.leftovers.clone()).collect()
    }

    /// A command line for `bench serve`: what it has of the flags that were given, and what the
    /// others mean.
    fn words(&self, flags: Vec<String>) -> Vec<String> {
        let command = A::command();
        let is_own = |name: &str| command.get_arguments().any(|arg| is_named(arg, name));
        let given = self.given.reading.given.iter();
        let shared = given.filter(|occurrence| !is_own(&occurrence.flag));
        shared.flat_map(written).chain(flags).collect()
    }
}

/// What is called. Closed: these are the backends of vLLM's benchmark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Callee {
    /// vLLM's engine, which is given texts.
    Vllm,
    /// vLLM's engine, which is given conversations.
    VllmChat,
    /// A model of Transformers.
    Transformers,
}

/// How the engine is called.
#[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "engines are not built"))]
struct Calls {
    callee: Callee,
    /// Its own arguments, as a command line.
    argv: Vec<String>,
    /// Arguments of the engine by name.
    args: JsonObject,
    /// What the worker is told of each call besides requests.
    call: JsonObject,
    /// How many outputs a prompt has.
    n: i64,
    /// Whether it is the asynchronous one.
    streams: bool,
}

/// Replaces the server of an offline benchmark by the engine in this program.
#[cfg(feature = "engine")]
fn here(
    mut offline: Offline,
    args: &WorkerArgs,
    python: Option<&str>,
    calls: &Calls,
) -> Result<Offline, CliError> {
    for parsed in offline.warm_up.iter_mut().chain([&mut offline.run]) {
        here::put(parsed, args, python, calls)?;
    }
    Ok(offline)
}

#[cfg(not(feature = "engine"))]
fn here(_: Offline, _: &WorkerArgs, _: Option<&str>, _: &Calls) -> Result<Offline, CliError> {
    Err(CliError::Together("this program is built without engines: name a server (--base-url)"))
}

/// A flag with its values as it may be written.
fn written(Occurrence { flag, values }: &Occurrence) -> Vec<String> {
    match values.as_slice() {
        [value] => vec![format!("{flag}={value}")],
        values => [flag].into_iter().chain(values).cloned().collect(),
    }
}

fn is_named(arg: &Arg, name: &str) -> bool {
    arg.get_long() == name.strip_prefix("--")
}

/// The plan that `bench serve` makes of these words, with answers that are not streamed.
fn plan(
    program: &str,
    words: Vec<String>,
    environment: &Environment,
) -> Result<Parsed, UsageError> {
    let mut parsed = super::parse(program, words.into_iter().map(Into::into), environment)?;
    let plan = &mut parsed.plan;
    if let BackendSpec::Vllm(spec) = &mut plan.wire {
        spec.common.stream = false;
    }
    plan.scoring.layouts.retain(|layout| *layout != Layout::Vllm);
    if environment.variable("SAVE_TO_PYTORCH_BENCHMARK_FORMAT").is_some() {
        parsed.warnings.push(NO_RECORD.to_owned());
    }
    Ok(parsed)
}

/// Removes the output files of a run before the measurement, which is not reported.
fn unlogged(mut parsed: Parsed) -> Parsed {
    parsed.plan.output.run_log = None;
    parsed.plan.output.run_log_if_taken = IfTaken::default();
    parsed.plan.output.steady_state_file = None;
    parsed
}

/// A command with those flags of `bench serve` that are ours or about the server, and these. What an
/// engine has under the same name is the engine's.
fn with_serve_flags(command: Command, program: &str, shared: &[&str]) -> Command {
    let is_meant = |arg: &&Arg| {
        let is_in = |names: &[&str]| names.iter().any(|name| is_named(arg, name));
        let is_engines = engine::is_flag(&format!("--{}", arg.get_long().unwrap_or_default()));
        is_in(shared) || is_in(&SERVER) || !is_in(&PEER) && !is_engines
    };
    let serve = VllmArgs::command();
    let args: Vec<Arg> = serve.get_arguments().filter(is_meant).cloned().collect();
    let mut command = command.args(args).after_help(NOTES).bin_name(program);
    command.build();
    command
}

/// What says which server is asked, and how. In this command these flags are ours.
const SERVER: [&str; 7] = [
    "--base-url",
    "--disable-tqdm",
    "--header",
    "--host",
    "--insecure",
    "--port",
    "--ready-check-timeout-sec",
];

fn object<const N: usize>(members: [(&str, Value); N]) -> JsonObject {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Keys of every request: tokens are drawn as both commands have vLLM's engine draw them.
fn sampling(n: i64) -> Value {
    json!({"n": n, "temperature": 1.0, "top_p": 1.0})
}

/// Each of these names a server.
const NAMES_SERVER: [&str; 4] = ["--base-url", "--host", "--port", "--simulate"];

/// Flags, and whether it takes a server for them to have an effect.
const SCOPES: &[Scope<bool>] = &[
    Scope {
        flags: &["--header", "--insecure", "--ready-check-timeout-sec", "--align-sample"],
        in_use: true,
        when: NO_SERVER,
        owner: Owner::Ours,
    },
    Scope { flags: CONNECTION, in_use: true, when: NO_SERVER, owner: Owner::Ours },
    Scope {
        flags: &[
            "--shards",
            "--precise-send",
            "--simulate-fault",
            "--server-times",
            "--metrics-url",
        ],
        in_use: true,
        when: NO_SERVER,
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--python", "--engine-patience", "--engine-log"],
        in_use: false,
        when: "where a server is named: no engine is started",
        owner: Owner::Ours,
    },
];

const NO_SERVER: &str = "where no server is named (--base-url, --host, --port, --simulate): an \
                         engine is started";

/// vLLM's own default.
const MODEL: &str = "Qwen/Qwen3-0.6B";

const NO_RECORD: &str = "SAVE_TO_PYTORCH_BENCHMARK_FORMAT has no effect here: the record repeats \
                         all of the engine's arguments, which only the engine knows";

const NOTES: &str = "\
As with vLLM, an engine is started and called, by the Python of --python or of the command. What is \
none of these flags is an argument of the engine and is passed on to it as it is \
(--tensor-parallel-size 2 --dtype float32 --load-format dummy ...).

Where a server is named (--base-url, --host, --port, or --simulate), it is asked over HTTP; the \
engine's arguments are those that it was started with, and are refused here. The API key is read \
from OPENAI_API_KEY.";

#[cfg(test)]
mod tests;
