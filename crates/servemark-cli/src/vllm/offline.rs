//! `vllm bench throughput` and `vllm bench latency`, over HTTP.
//!
//! vLLM runs the engine in its own process. Here a server is asked: everything is sent at once, or
//! one batch after the other, and answers are not streamed. A command line is put into the words of
//! `vllm bench serve`, which makes a plan of it, as vLLM's own client puts it into those words to
//! draw its data sets.

mod engine;
mod latency;
mod throughput;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory, Parser};
use serde_json::{Value, json};
use servemark_backends::BackendSpec;
use servemark_plan::Layout;

pub(crate) use self::latency::parse as latency;
pub(crate) use self::throughput::parse as throughput;
use super::args::VllmArgs;
use super::names::PEER;
use crate::Parsed;
use crate::argparse::{Flexible, Given, Occurrence, texts, with_config};
use crate::environment::Environment;
use crate::error::UsageError;

/// A benchmark of an engine, over HTTP or without a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offline {
    /// What is run before, and not told of.
    pub warm_up: Option<Parsed>,
    /// What is measured.
    pub run: Parsed,
    /// What is told of it.
    pub told: Told,
    /// The file of `--output-json`.
    pub output_json: Option<PathBuf>,
}

/// What is told of a benchmark of an engine. Closed: these are vLLM's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Told {
    /// How long batches of so many requests took, one after the other.
    Latency(NonZeroUsize),
    /// Nothing but what the tables say.
    Nothing,
    /// How many requests and tokens there were a second.
    Throughput,
}

/// A command line of one of the commands, read by argparse's rules.
struct Line<A> {
    args: A,
    given: Given,
    warnings: Vec<String>,
}

impl<A: Parser> Line<A> {
    /// Reads a command line. The engine's arguments are refused by name before anything else.
    fn read(
        program: &str,
        peer: &[&str],
        command: Command,
        args: impl IntoIterator<Item = OsString>,
        environment: &Environment,
    ) -> Result<Self, UsageError> {
        let refuse = |error| UsageError::refused(program, error);
        let has_flag = |flag: &str| command.get_arguments().any(|arg| is_named(arg, flag));
        let flexible = texts(args)
            .and_then(|args| with_config(args, environment, has_flag))
            .and_then(Flexible::take_back)
            .map_err(refuse)?;
        engine::refuse(&flexible.args, &command).map_err(refuse)?;
        let command = flexible.searched(command);
        let given = Given::read(command, peer, &[], &flexible.args).map_err(refuse)?;
        let (args, _) = given.typed(program)?;
        given.reading.refuse_leftovers().map_err(refuse)?;
        Ok(Self { args, given, warnings: flexible.warnings })
    }

    /// A command line for `bench serve`: what it has of the flags that were given, and what the
    /// others mean.
    fn words(&self, meant: Vec<String>) -> Vec<String> {
        let command = A::command();
        let is_own = |name: &str| command.get_arguments().any(|arg| is_named(arg, name));
        let given = self.given.reading.given.iter();
        let shared = given.filter(|occurrence| !is_own(&occurrence.flag));
        shared.flat_map(written).chain(meant).collect()
    }
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

/// The same without files: what is sent before the measurement is not told of.
fn unlogged(mut parsed: Parsed) -> Parsed {
    parsed.plan.output.run_log = None;
    parsed.plan.output.steady_state_file = None;
    parsed
}

/// A command with those flags of `bench serve` that are ours or about the server, and these.
fn with_serve_flags(command: Command, program: &str, shared: &[&str]) -> Command {
    let is_meant = |arg: &&Arg| {
        let is_peers = PEER.iter().any(|name| is_named(arg, name));
        !is_peers || SERVER.iter().chain(shared).any(|name| is_named(arg, name))
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

/// Keys of every request: tokens are drawn as both commands have vLLM's engine draw them.
fn sampling(n: i64) -> Value {
    json!({"n": n, "temperature": 1.0, "top_p": 1.0})
}

const NO_RECORD: &str = "SAVE_TO_PYTORCH_BENCHMARK_FORMAT has no effect here: the record repeats the \
                         engine's arguments, which only the server knows";

const NOTES: &str = "\
A server is asked that runs already, over HTTP. The engine's arguments (--tensor-parallel-size and \
so on) are those that it was started with; here they are refused.

The API key is read from OPENAI_API_KEY.";

#[cfg(test)]
mod tests;
