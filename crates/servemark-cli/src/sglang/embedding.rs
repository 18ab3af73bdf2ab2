//! Parses command lines of `bench-embedding`: SGLang's flags for embeddings and rankings, with a
//! task, defaults that fit it, and a grid of runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, Args, Command, FromArgMatches};
use servemark_backends::{BackendName, Route};
use servemark_page::GridFormat;
use servemark_plan::Layout;

use super::args::{DatasetArgs, LoadArgs, OutputArgs, SglangArgs, TargetArgs};
use super::{backend, namespace, read, simulate, understand};
use crate::argparse::Limit::Needs;
use crate::argparse::{Effects, Flag, Group, ParsedCommandLine, flags};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::own::{JudgingArgs, OWN_TOLERANCE, with_online_notes};
use crate::parsed::Parsed;
use crate::python;
use crate::results_folder::{ResultsFolder, usual_folder};

/// A parsed command line of `bench-embedding`: one run, or a grid of runs.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The runs in the order of the grid; exactly one if there is no grid.
    pub points: Vec<Parsed>,
    /// Whether the runs are the points of a grid.
    pub is_grid: bool,
    /// File into which the table of the grid is also written, and its format.
    pub file: Option<(PathBuf, GridFormat)>,
    /// Folder that keeps the runs of the grid. Running the same command line again with this folder
    /// continues the grid.
    pub folder: Option<ResultsFolder>,
    /// Hash by which [`folder`](Self::folder) recognises the command line. It is a hash because the
    /// command line may contain secrets.
    pub identity: String,
}

/// Parses a command line, which is given without the program's name.
///
/// ```
/// use servemark_cli::{Environment, embedding};
///
/// let args = ["--sweep", "batch-size=1,8", "max-concurrency=1,4,16", "--num-prompts", "64"];
/// let sweep = embedding::parse("bench-embedding", args.map(Into::into), &Environment::default())?;
/// assert_eq!(sweep.points.len(), 6);
/// # Ok::<(), servemark_cli::UsageError>(())
/// ```
pub fn parse(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Sweep, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let command = SglangArgs::extended_command(program, extend);
    let given = read(program, command, args)?;
    let (mut args, matches): (SglangArgs, _) = given.typed(program)?;
    let own =
        SweepArgs::from_arg_matches(&matches).map_err(|error| UsageError::from_clap(&error))?;
    given.reading.refuse_leftovers().map_err(refuse)?;
    simulate::choose_the_rest(&mut args, &given);
    own.choose_the_rest(&mut args, &given);
    let mut sweep = own.sweep(&args, &given, environment).map_err(refuse)?;
    if let (false, [run]) = (sweep.is_grid, sweep.points.as_mut_slice()) {
        run.peer_arguments = Some(namespace::arguments(&args, &given, &matches));
    }
    Ok(sweep)
}

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> Command {
    SglangArgs::extended_command("servemark bench-embedding", extend)
}

fn extend(command: Command) -> Command {
    let hide = |arg: Arg| {
        let is_idle = arg.get_long().is_some_and(|name| IDLE.contains(&name));
        if is_idle { arg.hide(true) } else { arg }
    };
    SweepArgs::augment_args(command)
        .name("bench-embedding")
        .about("Benchmark embeddings and rankings: SGLang's flags where they apply, and more")
        .after_help(with_online_notes(&format!("{EXAMPLES}\n\n{SEARCH_NOTES}")))
        .mut_args(hide)
        .mut_args(replace_help)
}

/// Replaces the help of an argument whose default or choices differ from SGLang's.
fn replace_help(arg: Arg) -> Arg {
    let help =
        OWN_HELP.iter().find(|(name, _)| arg.get_long() == Some(name)).map(|(_, help)| *help);
    match help {
        Some(help) => arg.help(help).hide_default_value(true).hide_possible_values(true),
        None => arg,
    }
}

/// Flags whose defaults or choices differ from SGLang's, each with its help.
const OWN_HELP: [(&str, &str); 8] = [
    (
        "backend",
        "The kind of server and the route of its requests: sglang-embedding, vllm-embedding, \
         sglang-rerank or vllm-rerank; by default sglang-embedding, with --task rerank sglang-rerank",
    ),
    (
        "dataset-name",
        "Source of the texts: sharegpt, custom, random, random-ids, generated-shared-prefix, \
         longbench_v2, speed-bench, azure-trace or servegen; by default random-ids, with \
         --dataset-path sharegpt",
    ),
    ("dataset-path", "The file of sharegpt, random, custom or a trace; for servegen a folder"),
    (
        "port",
        "The server's port; by default the backend's: 8000 for vllm-embedding and vllm-rerank, else \
         30000",
    ),
    (
        "random-input-len",
        "Maximum length of a text of random and random-ids in tokens; by default 1024",
    ),
    (
        "warmup-requests",
        "Number of copies of the first request to send before the measurement; by default 1",
    ),
    (
        "layout",
        "The tables to print, in this order: sglang, native, embedding; by default embedding",
    ),
    (
        "tolerate-failures",
        "The largest share of failed requests, 0 to 1, with which the exit code is not 5; by default \
         0.01",
    ),
];

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: embeddings and rankings")]
struct SweepArgs {
    /// The task: embed or rerank; by default the one of --backend, else embed
    #[arg(long, value_name = "TASK", value_parser = parse_task)]
    task: Option<Task>,
    /// Run once for every pair of the two lists, such as batch-size=1,8,32 max-concurrency=1,4;
    /// documents= in place of batch-size= for rankings
    #[arg(long, value_name = "KEY=N,N", num_args = 1.., action = clap::ArgAction::Set,
          value_delimiter = crate::argparse::LIST, value_parser = parse_axis)]
    sweep: Option<Vec<Axis>>,
    /// The file to which the grid is written: .md, .csv or .json
    #[arg(long, value_name = "PATH", value_parser = parse_grid_file)]
    grid_file: Option<(PathBuf, GridFormat)>,
}

flags! { SweepArgs {
    TASK = "--task";
    SWEEP = "--sweep";
    GRID_FILE = "--grid-file" => [Needs(Self::SWEEP)];
}}

/// Flag of the file of the grid's table.
pub(crate) const GRID_FILE: Flag = SweepArgs::GRID_FILE;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Task {
    Embed,
    Rerank,
}

/// One dimension of a grid: a setting and its values.
#[derive(Clone, Debug, PartialEq)]
struct Axis {
    key: Key,
    values: Vec<i64>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Key {
    BatchSize,
    Documents,
    MaxConcurrency,
}

impl SweepArgs {
    /// Sets the defaults of `bench-embedding` for flags that were not given.
    fn choose_the_rest(&self, args: &mut SglangArgs, given: &ParsedCommandLine) {
        let open = |flag: Flag| !given.is(flag);
        if open(TargetArgs::BACKEND) {
            let rerank = self.task == Some(Task::Rerank);
            let name =
                if rerank { BackendName::SglangRerank } else { BackendName::SglangEmbedding };
            name.as_str().clone_into(&mut args.target.backend);
        }
        if open(DatasetArgs::DATASET_NAME) && open(DatasetArgs::DATASET_PATH) {
            "random-ids".clone_into(&mut args.dataset.dataset_name);
        }
        if open(DatasetArgs::RANDOM_OUTPUT_LEN) {
            args.dataset.random_output_len = 0;
        }
        if open(JudgingArgs::LAYOUT) {
            args.run.judging.layout = vec![Layout::Embedding];
        }
        if open(JudgingArgs::TOLERATE_FAILURES) {
            args.run.judging.tolerate_failures = Some(OWN_TOLERANCE);
        }
        if open(LoadArgs::REQUEST_RATE) {
            args.load.request_rate = f64::INFINITY;
        }
    }

    fn sweep(
        &self,
        args: &SglangArgs,
        given: &ParsedCommandLine,
        environment: &Environment,
    ) -> Result<Sweep, CliError> {
        self.check(backend(args)?)?;
        Effects::of(given).check(&[Group::of(Self::FLAGS)], &mut Vec::new())?;
        let args = self.points(args);
        let points = args.iter().map(|point| understand(point, given, environment));
        let mut points = points.collect::<Result<Vec<_>, _>>()?;
        for (parsed, point) in points.iter_mut().zip(&args) {
            let (usual, output) = (usual_folder(environment), &mut parsed.plan.output);
            parsed.folder = point.results.folder(&point.run, Some(usual), output)?;
            if parsed.folder.is_some() && !given.is(OutputArgs::OUTPUT_FILE) {
                output.result_file = None;
            }
        }
        let is_grid = self.sweep.is_some();
        if is_grid {
            points.iter_mut().for_each(name_after_point);
        }
        let folder = points.first().and_then(|point| point.folder.clone());
        let (file, identity) = (self.grid_file.clone(), String::new());
        Ok(Sweep { points, is_grid, file, folder, identity })
    }

    fn check(&self, backend: BackendName) -> Result<(), CliError> {
        let task = match backend.route() {
            Route::EMBEDDINGS => Task::Embed,
            Route::RERANK => Task::Rerank,
            _ => {
                let why = format!("{backend} generates text; bench-serving measures that");
                return Err(CliError::setting(TargetArgs::BACKEND, why));
            }
        };
        if self.task.is_some_and(|requested| requested != task) {
            return Err(CliError::setting(
                Self::TASK,
                format!("does not go with --backend {backend}"),
            ));
        }
        let axes = self.sweep.iter().flatten();
        let foreign = if task == Task::Embed { Key::Documents } else { Key::BatchSize };
        match axes.map(|axis| axis.key).find(|key| *key == foreign) {
            Some(_) => Err(CliError::setting(
                Self::SWEEP,
                format!(
                    "has a key that does not go with --backend {backend}: batch-size= is for \
                     embeddings, documents= for rankings"
                ),
            )),
            None => Ok(()),
        }
    }

    /// Returns the arguments of every point of the grid; the values of the last dimension change
    /// fastest.
    fn points(&self, args: &SglangArgs) -> Vec<SglangArgs> {
        let grid = vec![args.clone()];
        self.sweep.iter().flatten().fold(grid, |grid, axis| {
            let along = |point: &SglangArgs| {
                let point = point.clone();
                axis.values.iter().map(move |value| axis.key.set(point.clone(), *value))
            };
            grid.iter().flat_map(along).collect()
        })
    }
}

impl Key {
    const ALL: [Self; 3] = [Self::BatchSize, Self::Documents, Self::MaxConcurrency];

    const fn as_str(self) -> &'static str {
        match self {
            Self::BatchSize => "batch-size",
            Self::Documents => "documents",
            Self::MaxConcurrency => "max-concurrency",
        }
    }

    fn set(self, mut args: SglangArgs, value: i64) -> SglangArgs {
        match self {
            Self::BatchSize => args.embedding.batch_size = value,
            Self::Documents => args.embedding.documents = value,
            Self::MaxConcurrency => args.load.max_concurrency = Some(value),
        }
        args
    }
}

/// Adds the number of items per request and the concurrency limit of a point to the name of its run
/// log, so that every point has a log of its own.
fn name_after_point(point: &mut Parsed) {
    let (items, limit) = (point.plan.workload.grouping.items(), point.plan.load.max_concurrency);
    let limit = limit.map_or_else(|| "all".to_owned(), |limit| limit.to_string());
    if let Some(path) = &mut point.plan.output.run_log {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = LOG_ENDS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        let end = &name[stem.len()..];
        *path = path.with_file_name(format!("{stem}_{items}x{limit}{end}"));
    }
}

fn parse_task(name: &str) -> Result<Task, String> {
    match name {
        "embed" => Ok(Task::Embed),
        "rerank" => Ok(Task::Rerank),
        _ => Err(python::expected(&["embed", "rerank"], name)),
    }
}

fn parse_axis(text: &str) -> Result<Axis, String> {
    let expected = || {
        let rendered = python::repr(text);
        format!(
            "expected KEY=N,N with KEY in batch-size, documents, max-concurrency, got {rendered}"
        )
    };
    let (name, values) = text.split_once('=').ok_or_else(expected)?;
    let key = Key::ALL.into_iter().find(|key| key.as_str() == name).ok_or_else(expected)?;
    let values: Option<Vec<i64>> =
        values.split(',').map(|value| value.parse().ok().filter(|n| *n > 0)).collect();
    Ok(Axis { key, values: values.ok_or_else(expected)? })
}

fn parse_grid_file(path: &str) -> Result<(PathBuf, GridFormat), String> {
    let extension = Path::new(path).extension().map(|end| end.to_string_lossy().into_owned());
    let format = match extension.as_deref() {
        Some("csv") => GridFormat::Csv,
        Some("json") => GridFormat::Json,
        Some("md") => GridFormat::Markdown,
        _ => {
            return Err(format!(
                "expected a name in .md, .csv or .json, got {}",
                python::repr(path)
            ));
        }
    };
    Ok((path.into(), format))
}

const LOG_ENDS: [&str; 2] = [".runlog.jsonl", ".jsonl"];

const EXAMPLES: &str = "\
Examples:
  bench-embedding --base-url http://gpu-box:8000 --backend vllm-embedding
  bench-embedding --simulate --sweep batch-size=1,8,32";

/// Help text about objectives, searches and known figures for answers without tokens.
pub(crate) const SEARCH_NOTES: &str = "\
Objectives: --slo OBJECTIVE[,OBJECTIVE] ... is what the run must meet, such as e2el:p99<200ms, \
response_e2el:mean<100ms (from when a request was due), queue:p90<10ms or success>=99%; the exit code is \
0 if confidence bounds say that it does (--slo-confidence 95%), 3 if they say that it does not, and 6 if \
the run cannot tell or is not judged. --slo-search request-rate or --slo-search max-concurrency (or any number of the \
plan) finds, by doubling and bisection, the loads that meet the objectives, that stay undecided and that miss them, \
and estimates the capacity; --slo NAME=OBJECTIVES ... gives a search several tiers. A search begins at \
--slo-start N, stays within --slo-bounds LOW,HIGH, and ends when the load is known to --slo-precision 2%. The first \
round of a load has at least --slo-requests N requests and lasts at least --slo-duration SECONDS; each load \
has at most --slo-rounds N rounds, each twice as long as the one before it. Run logs of a search are \
kept in --sweep-folder PATH, --sweep-file PATH (.csv, .html, .json, .md) writes its table, \
--sweep-cool-down SECONDS pauses between its runs, and --sweep-same-prompts gives all of them the same prompts.

Known figures: --until e2el:mean+-2%,requests_per_s+-1% ends a run when all of them are known with 95 % \
confidence; the number of requests stays its limit, and the exit code is 6 if it ends there before.";

/// Flags about output, pictures and conversations, which embeddings and rankings do not have. They
/// are accepted as SGLang's client accepts them, but are hidden in the help.
const IDLE: [&str; 27] = [
    "agentic-max-turns",
    "dataset-offset",
    "gsp-num-turns",
    "image-content",
    "image-count",
    "image-format",
    "image-resolution",
    "mooncake-num-rounds",
    "mooncake-prompts",
    "mooncake-workload",
    "random-image-count",
    "tokenize-prompt",
    "cache-report",
    "disable-ignore-eos",
    "disable-stream",
    "fake-prefill",
    "include-usage",
    "logprob-start-len",
    "prompt-suffix",
    "random-output-len",
    "return-logprob",
    "return-routed-experts",
    "temperature",
    "token-ids-logprob",
    "top-logprobs-num",
    "trt-headers",
    "top-p",
];
