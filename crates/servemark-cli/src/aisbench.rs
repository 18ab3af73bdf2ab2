//! The dialect of AISBench's performance mode (`ais_bench … -m perf`).
//!
//! What is run is said by config files of Python, which are read as data, by TOML, or by names of
//! what is built in, and by flags that change what they say. Each model with each data set is a task,
//! and each task a [`BenchPlan`](servemark_plan::BenchPlan).
//!
//! What differs from the peer on purpose is told in `docs/compat/aisbench.md`.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod catalog;
mod config;
mod data;
mod merge;
mod model;
mod plan;
mod python;
mod scope;
mod search;
mod section;
mod summary;
mod toml;

use std::ffi::OsString;
use std::path::PathBuf;

use self::args::{AisbenchArgs, PEER};
use self::config::Config;
use self::python::{Fault, Library};
use crate::argparse::{Given, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::{Invocation, Parsed};

/// The tasks of a command line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tasks {
    /// What is run, in its order. Each has a name for a person.
    pub tasks: Vec<Task>,
    /// The folder of the run.
    pub folder: PathBuf,
    /// What becomes of a run log that is there already.
    pub reuse: Reuse,
}

/// A model and a data set.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Task {
    /// `MODEL/DATASET`, by their short names.
    pub name: String,
    /// Where its data set stands, as `FILE:LINE`.
    pub data: String,
    /// Where the path of its tokenizer stands.
    pub tokenizer: String,
    /// What is run.
    pub parsed: Parsed,
}

/// What becomes of run logs that are there already. Closed: these are all the ways.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reuse {
    /// There are none: the folder is new.
    Nothing,
    /// A task that has one is scored from it, any other is run.
    Scored,
    /// The same, and a task that has none is an error.
    Only,
}

/// Reads what follows `ais_bench`.
pub(crate) fn command(
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let tasks = parse("ais_bench", args, environment)?;
    Ok(Invocation::Aisbench(Box::new(tasks)))
}

/// Reads a command line, without the program's name.
///
/// ```
/// use servemark_cli::{Environment, aisbench};
///
/// let args = "--models vllm_api_stream_chat --datasets synthetic_gen_string -m perf --simulate";
/// let tasks = aisbench::parse("ais_bench", args.split(' ').map(Into::into), &Environment::default())?;
/// assert_eq!(tasks.tasks[0].name, "vllm-api-stream-chat/synthetic");
/// # Ok::<(), servemark_cli::UsageError>(())
/// ```
pub fn parse(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Tasks, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args = texts(args).map(long_names).map_err(refuse)?;
    let given = Given::read(AisbenchArgs::whole_command(program), &PEER, &[], &args);
    let given = given.map_err(refuse)?;
    let (args, _): (AisbenchArgs, _) = given.typed(program)?;
    let file = positional(&given).map_err(refuse)?;
    let library = Library::new(environment);
    let config = Config::of(&args, file, &library).map_err(|fault| refuse(fault.into()))?;
    if args.search {
        return Err(UsageError::help(search::table(&config.found)));
    }
    plan::tasks(&args, &given, &config, environment).map_err(refuse)
}

/// The config file, which is the only argument without a flag.
fn positional(given: &Given) -> Result<Option<&str>, CliError> {
    match given.reading.leftovers.as_slice() {
        [] => Ok(None),
        [file] if !file.starts_with('-') => Ok(Some(file)),
        [file, rest @ ..] if !file.starts_with('-') => Err(given.reading.unrecognized(rest)),
        all => Err(given.reading.unrecognized(all)),
    }
}

/// The same arguments with the long names of the peer's short flags: `-m perf`, `-mperf`.
fn long_names(args: Vec<String>) -> Vec<String> {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let long = |(place, arg): (usize, String)| match SHORT
        .iter()
        .find(|(short, _)| arg.starts_with(short))
    {
        Some((short, long)) if place < end => match arg[short.len()..].trim_start_matches('=') {
            "" => (*long).to_owned(),
            value => format!("{long}={value}"),
        },
        _ => arg,
    };
    args.into_iter().enumerate().map(long).collect()
}

const SHORT: [(&str, &str); 4] =
    [("-m", "--mode"), ("-r", "--reuse"), ("-s", "--search"), ("-w", "--work-dir")];

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        Self::Config { place: fault.place.to_string(), why: fault.why }
    }
}

#[cfg(test)]
mod tests;
