//! `servemark ab` and `servemark noise`: one plan against two servers in turn, or several times
//! against one.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser};
use servemark_client::BaseUrl;
use servemark_metrics::Precision;
use servemark_plan::{AbSpec, Isolation, OutputSpec};

use crate::argparse::Flag;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::number::some_time;
use crate::own::{RUN_EXIT_CODES, online_notes, parse_command};
use crate::parsed::Parsed;
use crate::python;
use crate::results_folder::ResultsFolder;
use crate::sglang::NAMES_SERVER;
use crate::sweep::identity;
use crate::until::{Targets, targets};

/// Run one command line against two servers in turn, until their difference is known
///
/// Servers are measured in the order A B B A A B B A …, with equal requests for both in a round.
/// Every run leaves its log in a folder, from which the same command line continues after a stop.
/// The table is that of servemark compare, with the runs of a round as a pair. After -- come the
/// flags of bench-serving, or another benchmark's whole command line, without the server's address.
#[derive(Clone, Debug, Parser)]
#[command(name = "ab", max_term_width = 100, after_help = online_notes(&AB_EXAMPLES, AB_EXIT_CODES))]
struct AbArgs {
    /// Server A, such as http://127.0.0.1:30000
    #[arg(long, value_name = "URL")]
    a: String,
    /// Server B
    #[arg(long, value_name = "URL")]
    b: String,
    /// A command of the shell that starts server A; it is ended while B is measured
    #[arg(long, value_name = "COMMAND")]
    a_command: Option<String>,
    /// A command of the shell that starts server B; it is ended while A is measured
    #[arg(long, value_name = "COMMAND")]
    b_command: Option<String>,
    /// Stop when the change from A to B is known to this half width with 95 % confidence, such as
    /// ttft:p50+-2% or ttft:mean+-5ms; several with commas
    #[arg(long, value_name = "FIGURE+-HALFWIDTH", value_parser = targets)]
    until: Vec<Targets>,
    /// Maximum number of runs of each server
    #[arg(long, value_name = "N", default_value = "10")]
    max_runs: NonZeroU32,
    #[command(flatten)]
    common: CommonArgs,
}

const AB_EXAMPLES: [&str; 2] = [
    "servemark ab --a http://old:8000 --b http://new:8000 -- --num-prompts 200",
    "servemark ab --a URL --b URL --until ttft:p50+-2% -- vllm bench serve ...",
];

const AB_EXIT_CODES: &str = "0 done, 1 internal error, 2 usage, 4 a server is not ready, 5 too many requests failed, 6 a \
     figure of --until is not known or the changes are not judged, 130 interrupted.";

const NOISE_EXAMPLES: [&str; 2] = [
    "servemark noise http://gpu-box:8000 -- --num-prompts 200 --request-rate 4",
    "servemark noise http://gpu-box:8000 --runs 8 -- vllm bench serve ...",
];

/// Run one command line several times against one server, and store the spread between the runs
///
/// The spread of each figure between runs is kept in a file, by machine, server and plan. servemark
/// compare shows it, and refuses a gate that is finer. After -- come the flags of bench-serving, or
/// another benchmark's whole command line, without the server's address.
#[derive(Clone, Debug, Parser)]
#[command(name = "noise", max_term_width = 100, after_help = online_notes(&NOISE_EXAMPLES, RUN_EXIT_CODES))]
struct NoiseArgs {
    /// The server, such as http://127.0.0.1:30000
    #[arg(value_name = "URL")]
    url: String,
    /// The number of runs
    #[arg(long, value_name = "N", default_value = "5",
          value_parser = clap::value_parser!(u32).range(2..))]
    runs: u32,
    /// The file in which the spread is stored; by default noise.json in the user's cache folder
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Clone, Debug)]
struct CommonArgs {
    /// Folder of the results: run logs, report.html and summary.json; by default
    /// servemark-results/DATE_TIME. The same command line continues there after a stop
    #[arg(long, value_name = "DIR", visible_alias = "folder")]
    out: Option<PathBuf>,
    /// Seconds between two runs in which nothing is sent
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    cool_down: Option<f64>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Command line of a run
    #[arg(last = true, value_name = "FLAGS", allow_hyphen_values = true)]
    flags: Vec<OsString>,
}

impl AbArgs {
    const A: Flag = Flag::new("--a");
    const B: Flag = Flag::new("--b");
}

impl CommonArgs {
    const COOL_DOWN: Flag = Flag::new("--cool-down");
}

/// Parsed command line of `servemark ab` or `servemark noise`.
#[derive(Clone, Debug)]
pub struct AbRuns {
    /// Settings of the repeated runs.
    pub spec: AbSpec,
    /// Parsed command line of one run, with the settings that all runs share.
    pub first: Parsed,
    /// Folder of the run logs.
    pub folder: ResultsFolder,
    /// Commands that start server A and server B; `None` for a server that is already running.
    pub commands: [Option<String>; 2],
    /// File in which the spread between runs of one server is stored; `None` if the environment
    /// names no cache folder, and then nothing is stored.
    pub store: Option<PathBuf>,
    /// Whether one JSON document is printed instead of tables.
    pub json: bool,
}

/// Parses the command line of a single run, which begins with a flag of `bench-serving` or is that
/// of another benchmark. Returns `None` if it asks for anything other than a single run.
pub(crate) type ParseRun =
    fn(&str, Vec<OsString>, &Environment) -> Result<Option<Box<Parsed>>, UsageError>;

/// Returns the clap command `servemark noise`, for completions.
pub(crate) fn noise_command() -> clap::Command {
    <NoiseArgs as CommandFactory>::command()
}

/// Returns the clap command `servemark ab`, for completions.
pub(crate) fn ab_command() -> clap::Command {
    <AbArgs as CommandFactory>::command()
}

pub(crate) fn parse_ab(
    program: &str,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
    parse_run: ParseRun,
) -> Result<AbRuns, UsageError> {
    let (args, identity): (AbArgs, _) = read(program, args)?;
    let refuse = |error| UsageError::refused(program, error);
    let urls = [
        url(AbArgs::A.name(), &args.a).map_err(refuse)?,
        url(AbArgs::B.name(), &args.b).map_err(refuse)?,
    ];
    let first = run_of(program, &args.common, environment, parse_run)?;
    let spec = AbSpec::of_two(first.plan.clone(), urls, args.max_runs);
    let targets: Vec<Precision> = args.until.into_iter().flat_map(|list| list.0).collect();
    let spec = if targets.is_empty() { spec } else { spec.until(targets) };
    let isolation = with_cool_down(spec.isolation.clone(), &args.common).map_err(refuse)?;
    Ok(AbRuns {
        spec: spec.isolated(isolation).known_as(identity),
        first,
        folder: ResultsFolder::named_or_usual(args.common.out, environment),
        commands: [args.a_command, args.b_command],
        store: None,
        json: args.common.json,
    })
}

pub(crate) fn parse_noise(
    program: &str,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
    parse_run: ParseRun,
) -> Result<AbRuns, UsageError> {
    let (args, identity): (NoiseArgs, _) = read(program, args)?;
    let refuse = |error| UsageError::refused(program, error);
    let url = url("URL", &args.url).map_err(refuse)?;
    let first = run_of(program, &args.common, environment, parse_run)?;
    let runs = NonZeroU32::new(args.runs).unwrap_or(NonZeroU32::MIN);
    let spec = AbSpec::of_one(first.plan.clone(), url, runs);
    let isolation = with_cool_down(spec.isolation.clone(), &args.common).map_err(refuse)?;
    Ok(AbRuns {
        spec: spec.isolated(isolation).known_as(identity),
        first,
        folder: ResultsFolder::named_or_usual(args.common.out, environment),
        commands: [None, None],
        store: args.store.or_else(|| environment.noise_file()),
        json: args.common.json,
    })
}

/// Returns the parsed flags, and the identity by which a resumed command line is recognised.
fn read<T: CommandFactory + FromArgMatches>(
    program: &str,
    args: impl Iterator<Item = OsString>,
) -> Result<(T, String), UsageError> {
    let args: Vec<OsString> = args.collect();
    let identity = identity(program, &args);
    parse_command(program, args).map(|parsed| (parsed, identity))
}

/// Returns the run of the flags after `--`, without output files of its own.
fn run_of(
    program: &str,
    common: &CommonArgs,
    environment: &Environment,
    parse_run: ParseRun,
) -> Result<Parsed, UsageError> {
    let refuse = |why: &str| UsageError::refused(program, CliError::Peer(why.to_owned()));
    let flags = &common.flags;
    let Some(mut parsed) = parse_run(program, flags.clone(), environment)? else {
        return Err(refuse("after -- a single run of a serving benchmark is expected"));
    };
    if flags.iter().any(names_a_server) {
        return Err(refuse(
            "servers are named before --, so --base-url, --host and --port do not go after it",
        ));
    }
    if parsed.plan.scoring.until.is_some() {
        return Err(refuse(
            "runs of a round must be as long as each other, so --until does not go after --",
        ));
    }
    let mut moved = parsed.plan.clone();
    if !moved.move_to(&"http://127.0.0.1:1".parse().map_err(|_| refuse("no address"))?) {
        return Err(refuse(
            "servers are asked over HTTP, so --simulate and engines do not go after --",
        ));
    }
    if parsed.json || matches!(parsed.folder, Some(ResultsFolder::Named(_))) {
        return Err(refuse("--out and --json go before --"));
    }
    parsed.plan.output = OutputSpec::default();
    parsed.folder = None;
    Ok(*parsed)
}

fn names_a_server(arg: &OsString) -> bool {
    let arg = arg.to_str().unwrap_or_default().replace('_', "-");
    let name = arg.split('=').next().unwrap_or_default();
    NAMES_SERVER.iter().any(|flag| flag.name() == name)
}

fn url(flag: &'static str, text: &str) -> Result<BaseUrl, CliError> {
    text.parse().map_err(|error| CliError::setting(flag, error))
}

fn with_cool_down(isolation: Isolation, common: &CommonArgs) -> Result<Isolation, CliError> {
    let rest =
        common.cool_down.map(|seconds| some_time(CommonArgs::COOL_DOWN, seconds)).transpose()?;
    Ok(isolation.with_cool_down(rest.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::commands::dispatch::single_run;

    fn ab(line: &str) -> Result<AbRuns, String> {
        let args = line.split_whitespace().map(Into::into);
        let read = parse_ab("servemark ab", args, &Environment::default(), single_run);
        read.map_err(|error| error.to_string())
    }

    const URLS: &str = "--a http://h:1 --b http://h:2";

    #[test]
    fn two_servers_are_asked_one_plan() {
        let runs = ab(&format!(
            "{URLS} --until ttft:p50+-2%,itl:mean+-1ms --max-runs 6 --folder f --cool-down 2 -- \
             --backend vllm --num-prompts 7"
        ))
        .unwrap();
        assert_eq!((runs.spec.runs(), runs.spec.base.workload.requests), (12, 7));
        assert_eq!(runs.spec.until.unwrap().targets.len(), 2);
        assert_eq!(runs.spec.isolation.cool_down, Duration::from_secs(2));
        assert_eq!(runs.folder, ResultsFolder::Named("f".into()));
        let whole = ab(&format!("{URLS} -- vllm bench serve --model m --num-prompts 7")).unwrap();
        assert_eq!(whole.spec.base.workload.requests, 7);
    }

    #[test]
    fn one_server_is_asked_one_plan_several_times() {
        let args = "http://h:1 --runs 3 --store n.json -- --num-prompts 7".split(' ');
        let args = args.map(Into::into);
        let runs =
            parse_noise("servemark noise", args, &Environment::default(), single_run).unwrap();
        assert_eq!((runs.spec.runs(), runs.spec.urls.len()), (3, 1));
        assert_eq!(runs.store, Some("n.json".into()));
    }

    #[track_caller]
    fn refuses(line: &str, message: &str) {
        let error = ab(line).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        refuses("--a http://h:1", "--b <URL>");
        refuses(&format!("{URLS} --until ttft"), "expected a figure and how well");
        refuses(&format!("{URLS} -- --base-url http://h:3"), "servers are named before --");
        refuses(&format!("{URLS} -- --simulate ttft=2ms"), "so --simulate and engines do not go");
        refuses(&format!("{URLS} -- --until ttft:p50+-2%"), "so --until does not go after --");
        refuses(&format!("{URLS} -- --sweep request-rate=1,2"), "a single run");
        refuses(&format!("{URLS} -- --json"), "--out and --json go before --");
        refuses(&format!("{URLS} -- --out x"), "--out and --json go before --");
        refuses("--a nowhere --b http://h:2", "--a");
    }
}
