//! The dialect of evalscope 1.14.1's serving benchmark (`evalscope perf …`).
//!
//! A command line is read in four steps: argparse's rules make it canonical, clap converts the
//! values to their types, evalscope's rules between flags settle their meaning, and each run of the
//! sweep becomes a [`BenchPlan`].
//!
//! Deliberate differences from evalscope are listed in `docs/compat/evalscope.md`.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod dataset;
mod load;
mod namespace;
mod output;
mod planner;
mod refusal;
mod resolved;
mod scope;
mod search_rules;
mod server;
mod settings;
mod simulate;
mod sla;
mod url;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;

use servemark_datasets::DatasetSpec;
use servemark_plan::{BenchPlan, EarlierSpec, SweepSpec};

use self::args::{EvalscopeArgs, LoadArgs, PEER, TargetArgs};
use self::planner::{DrawPosition, Planner};
use self::resolved::{ResolvedArgs, Step};
pub use self::sla::{SlaCriterion, SlaGoal, SlaMetric, SlaSearch, SlaVariable};
use crate::argparse::{ParsedCommandLine, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::parsed::Parsed;
use crate::results_folder::ResultsFolder;
use crate::words::{CHAT_BACKENDS, Words};

/// The runs of an `evalscope perf` command line: a sequence of runs, or a search.
#[derive(Clone, Debug)]
pub struct EvalscopeRuns {
    /// The first run, with the settings that all runs share.
    pub first: Parsed,
    /// Folder of all results.
    pub folder: PathBuf,
    /// Sequence of runs, or search.
    pub task: EvalscopeTask,
    /// Total number of requests, or of conversations, up to which `progress.json` counts; `None` if
    /// the file is not wanted.
    pub tracked: Option<u64>,
    /// Whether `benchmark.log` records every piece that was sent and received.
    pub debug: bool,
    planner: Planner,
}

/// A sequence of runs, or a search. Closed enum: a search decides for itself what it runs.
#[derive(Clone, Debug)]
pub enum EvalscopeTask {
    /// Runs that are known before the first one starts.
    Runs(SweepSpec),
    /// Runs that each depend on the results of the earlier ones.
    Search(SlaSearch),
}

/// What earlier runs have used up, so that later runs continue from there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consumed {
    /// Number of runs.
    pub runs: u32,
    /// Number of requests that the runs measured.
    pub requests: u64,
    /// Draws of the runs that advanced the random generators, in their order.
    drawn: Vec<EarlierSpec>,
}

/// Parses the arguments that follow `evalscope`.
pub(crate) fn command(
    mut args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<EvalscopeRuns, UsageError> {
    let command = args.next().unwrap_or_default().to_string_lossy().into_owned();
    match command.as_str() {
        "perf" => parse("evalscope perf", args, environment),
        "-h" | "--help" => Err(UsageError::help(HELP)),
        "" => Err(UsageError::refused("servemark evalscope", CliError::NoCommand)),
        other if OTHERS.contains(&other) => {
            let given = format!("evalscope {other}");
            Err(UsageError::refused("servemark evalscope", CliError::PeersAlone { given }))
        }
        other => {
            let unknown = CliError::unknown_command(format!("evalscope {other}"), COMMANDS);
            Err(UsageError::refused("servemark evalscope", unknown))
        }
    }
}

/// Commands of evalscope that Servemark has.
const COMMANDS: [&str; 1] = ["evalscope perf"];

/// Commands of evalscope that Servemark does not have.
const OTHERS: [&str; 4] = ["app", "benchmark-info", "eval", "service"];

const HELP: &str = "\
evalscope's serving benchmark, same command line.

usage: servemark evalscope perf [OPTIONS]

Run eval, app, service and benchmark-info with evalscope itself.
";

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    EvalscopeArgs::whole_command("servemark evalscope perf")
}

/// Parses the arguments of `evalscope perf`, without the program's name. Help and messages call the
/// program `program`.
///
/// ```
/// use servemark_cli::{Environment, EvalscopeTask, evalscope};
///
/// let args = ["--model", "tiny", "--parallel", "1", "4", "-n", "5", "20"].map(Into::into);
/// let runs = evalscope::parse("evalscope perf", args, &Environment::default())?;
/// assert_eq!(runs.first.plan.workload.requests, 5);
/// assert!(matches!(runs.task, EvalscopeTask::Runs(_)));
/// # Ok::<(), servemark_cli::UsageError>(())
/// ```
pub fn parse(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<EvalscopeRuns, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let command = EvalscopeArgs::whole_command(program);
    let words = texts(args).map_err(refuse)?;
    let given = ParsedCommandLine::read(command, &PEER.names(), &[], &words).map_err(refuse)?;
    let (mut args, _): (EvalscopeArgs, _) = given.typed(program)?;
    given.reading.refuse_leftovers().map_err(refuse)?;
    simulate::choose_the_rest(&mut args, &given);
    understand(args, &given, environment).map_err(refuse)
}

fn understand(
    args: EvalscopeArgs,
    given: &ParsedCommandLine,
    environment: &Environment,
) -> Result<EvalscopeRuns, CliError> {
    let credentials = server::credentials(&args.target)?;
    refusal::check_built(given)?;
    let resolved = ResolvedArgs::of(&args)?;
    refusal::check_dataset(&args, &resolved)?;
    let mut warnings = resolved.warnings.clone();
    scope::check(&args, given, &mut warnings)?;
    warnings.extend(uncovered(&args, &resolved));
    let search = SlaSearch::of(&args, &resolved)?;
    let (progress, plan_only) = (!args.extras.no_progress, args.asking.printed_plan());
    let all = resolved.number.iter().map(|number| number.unsigned_abs()).sum();
    let (debug, grace) = (args.client.debug, args.stopping.grace);
    let tracked = args.client.enable_progress_tracker.then_some(all);
    let (json, full) = (args.asking.json, args.judging.is_full());
    let planner = Planner::new(args, resolved, given, environment)?;
    let plans = planner.sweep(search.as_ref())?;
    let plan = plans[0].plan.clone();
    let first = Parsed::new(plan, credentials, environment, grace);
    let first = Parsed { progress, json, full, plan_only, warnings, ..first };
    let task = match search {
        Some(search) => EvalscopeTask::Search(search),
        None => EvalscopeTask::Runs(planner.spec(plans)?),
    };
    Ok(EvalscopeRuns { first, folder: planner.folder.clone(), task, tracked, debug, planner })
}

/// Returns evalscope's warning that the burst at the start is measured, because a warm-up has fewer
/// requests than may be in flight at once; `None` if no run has such a warm-up. If several runs
/// have one, the warning is about the last.
fn uncovered(args: &EvalscopeArgs, resolved: &ResolvedArgs) -> Option<String> {
    let steps = resolved.steps();
    let closed = steps.iter().filter(|step| !step.is_open && step.parallel > 1);
    let mut short = closed.filter_map(|&step| {
        let covered = i64::try_from(load::lead_in(&args.load, step).ok()?).ok()?;
        (covered < step.parallel).then_some((covered, step.parallel))
    });
    short.next_back().map(|(covered, parallel)| {
        format!(
            "warm-up covers {covered} of {parallel} places, so the first requests that are measured \
             leave at once and wait for one another; --warmup-num {parallel} keeps that out, or {} \
             if the maximum counts",
            2 * parallel
        )
    })
}

impl EvalscopeRuns {
    /// Returns the folder of all results; `Dated` if its path has the time of the start.
    pub fn results_folder(&self) -> ResultsFolder {
        let path = self.folder.clone();
        if self.planner.is_dated() {
            ResultsFolder::Dated(path)
        } else {
            ResultsFolder::Named(path)
        }
    }

    /// Moves the results of all runs to another folder.
    pub fn move_to(&mut self, folder: PathBuf) -> Result<(), CliError> {
        self.planner.folder.clone_from(&folder);
        self.folder = folder;
        let search = match &self.task {
            EvalscopeTask::Runs(_) => None,
            EvalscopeTask::Search(search) => Some(search),
        };
        let plans = self.planner.sweep(search)?;
        self.first.plan = plans[0].plan.clone();
        if let EvalscopeTask::Runs(spec) = &mut self.task {
            *spec = self.planner.spec(plans)?;
        }
        Ok(())
    }

    /// Returns the runs of a search at a load, and what is used up after them. `used` is what was
    /// used up before them.
    pub fn probe(
        &self,
        search: &SlaSearch,
        load: u32,
        used: &Consumed,
    ) -> Result<(SweepSpec, Consumed), CliError> {
        let (plans, after) = self.planner.probe(search, load, used)?;
        Ok((self.planner.spec(plans)?, after))
    }
}

impl Consumed {
    /// Adds a run of a plan.
    fn add(&mut self, step: Step, plan: &BenchPlan) {
        self.runs += 1;
        self.requests += step.number.unsigned_abs();
        let prompts_are_drawn = match &plan.workload.dataset {
            DatasetSpec::Evalscope(spec) => spec.draws(),
            _ => true,
        };
        if prompts_are_drawn || step.rate >= 0.0 {
            self.drawn.push(EarlierSpec::of(plan));
        }
    }
}

/// Keys and phrases in messages of the crates below, each with its replacement in this dialect.
pub(crate) const WORDS: Words = &[
    (CHAT_BACKENDS, "--api openai, and a --url that ends with /v1/chat/completions"),
    ("(OPENAI_API_KEY or API_KEY)", "(--api-key, OPENAI_API_KEY or API_KEY)"),
    ("(or API_KEY, or a header", "(or API_KEY, --api-key, or a header"),
    ("`load.arrivals`", LoadArgs::RATE.name()),
    ("`load.max_concurrency`", LoadArgs::PARALLEL.name()),
    ("`model.tokenizer`", TargetArgs::TOKENIZER_PATH.name()),
    ("`workload.dataset.chat`", "--apply-chat-template"),
    ("`workload.dataset.least_turns`", "--min-turns"),
    ("`workload.dataset.longest`", "--max-prompt-length"),
    ("`workload.dataset.most_turns`", "--max-turns"),
    ("`workload.dataset.prefix_tokens`", "--prefix-length"),
    ("`workload.dataset.prefixes`", "--prefix-count"),
    ("`workload.dataset.shortest`", "--min-prompt-length"),
    ("`workload.requests`", LoadArgs::NUMBER.name()),
];

#[cfg(test)]
mod tests;
