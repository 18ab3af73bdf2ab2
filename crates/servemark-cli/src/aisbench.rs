//! The dialect of AISBench's performance mode (`ais_bench … -m perf`).
//!
//! The models and data sets of a run come from a Python config file, which is read as data, from a
//! TOML file, or by name from config files and built-in configs; flags change their settings. Each
//! model with each data set is a task, and each task becomes a
//! [`BenchPlan`](servemark_plan::BenchPlan). Several data sets of one class count as one.
//!
//! Deliberate differences from AISBench are listed in `docs/compat/aisbench.md`.

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
mod settings;
mod summary;
mod toml;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use self::args::{AisbenchArgs, OwnArgs, PEER};
use self::config::Config;
use self::python::{Fault, Library};
use crate::argparse::{Flag, ParsedCommandLine, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::parsed::Parsed;
use crate::words::{CHAT_BACKENDS, Words};

/// Tasks of an `ais_bench` command line, one for each model with each data set.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// Tasks in the order in which they run: those of the first model, then those of the next.
    pub tasks: Vec<Task>,
    /// Folder of the run's results and run logs.
    pub folder: PathBuf,
    /// What happens with the run log of a task if it already exists.
    pub reuse: Reuse,
}

/// One model with one data set, or with several data sets of one class that are sent as one.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name for messages: `MODEL/DATASET`, from the short names (`abbr`) in the config. If the task
    /// has several data sets, `DATASET` is the name of their class in lower case.
    pub name: String,
    /// Position of the data set in the config, as `FILE:LINE`. The positions of several data sets
    /// are separated by commas.
    pub data: String,
    /// Position in the config of the path of the tokenizer, as `FILE:LINE`; that of the model if
    /// the path is not set.
    pub tokenizer: String,
    /// The run: its plan, its credentials and its warnings.
    pub parsed: Parsed,
}

/// What happens with run logs that already exist. Closed enum: these are all the ways.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reuse {
    /// All tasks are run: the folder is new and holds no run logs.
    Nothing,
    /// A task whose run log holds a measurement is scored from it; any other task is run.
    Scored,
    /// A task whose run log holds a measurement is scored from it; any other task is an error.
    Only,
}

impl Tasks {
    /// Moves the results and the run logs of all tasks to another folder. A run log that the user
    /// named stays where it is.
    pub fn move_to(&mut self, folder: PathBuf) {
        for task in &mut self.tasks {
            let output = &mut task.parsed.plan.output;
            let inside = |path: &PathBuf| path.strip_prefix(&self.folder).map(Path::to_owned);
            if let Some(Ok(rest)) = output.run_log.as_ref().map(inside) {
                output.run_log = Some(folder.join(rest));
            }
            if let Some(files) = &mut output.aisbench {
                files.folder.clone_from(&folder);
            }
        }
        self.folder = folder;
    }
}

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    AisbenchArgs::whole_command("servemark ais_bench")
}

/// Parses the arguments of `ais_bench`, without the program's name. Help and messages call the
/// program `program`.
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
    let given =
        ParsedCommandLine::read(AisbenchArgs::whole_command(program), &PEER.names(), &[], &args);
    let given = given.map_err(refuse)?;
    let (args, _): (AisbenchArgs, _) = given.typed(program)?;
    args.check_counts().map_err(refuse)?;
    let file = positional(&given).map_err(refuse)?;
    let library = Library::new(environment, catalog::module);
    let config = Config::of(&args, file, &library).map_err(|fault| refuse(fault.into()))?;
    if args.search {
        return Err(UsageError::help(search::table(&config.found)));
    }
    plan::tasks(&args, &given, &config, environment).map_err(refuse)
}

/// Returns the config file, which is the only argument without a flag.
fn positional(given: &ParsedCommandLine) -> Result<Option<&str>, CliError> {
    match given.reading.leftovers.as_slice() {
        [] => Ok(None),
        [file] if file.is_empty() => Ok(None),
        [file] if !file.starts_with('-') => Ok(Some(file)),
        [file, rest @ ..] if !file.starts_with('-') => Err(given.reading.unrecognized(rest)),
        all => Err(given.reading.unrecognized(all)),
    }
}

/// Replaces the peer's short flags by their long names: `-m perf`, `-mperf` and `-m=perf` become
/// `--mode perf` or `--mode=perf`.
fn long_names(args: Vec<String>) -> Vec<String> {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let long = |(place, arg): (usize, String)| match SHORT
        .iter()
        .find(|(short, _)| arg.starts_with(short))
    {
        Some((short, long)) if place < end => match arg[short.len()..].trim_start_matches('=') {
            "" => long.to_string(),
            value => format!("{long}={value}"),
        },
        _ => arg,
    };
    args.into_iter().enumerate().map(long).collect()
}

const SHORT: [(&str, Flag); 4] = [
    ("-m", AisbenchArgs::MODE),
    ("-r", AisbenchArgs::REUSE),
    ("-s", AisbenchArgs::SEARCH),
    ("-w", AisbenchArgs::WORK_DIR),
];

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        Self::Config { place: fault.place.to_string(), why: fault.why }
    }
}

/// Keys and phrases in messages of the crates below, each with its replacement in this dialect.
pub(crate) const WORDS: Words = &[
    ("or a header Authorization", "or api_key in the model's config"),
    (CHAT_BACKENDS, "a model whose type is VLLMCustomAPIChat"),
    ("`load.max_concurrency`", OwnArgs::BATCH_SIZE.name()),
    ("`model.name`", OwnArgs::MODEL_NAME.name()),
    ("`model.tokenizer`", OwnArgs::TOKENIZER_PATH.name()),
];

#[cfg(test)]
mod tests;
