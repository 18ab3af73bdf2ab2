//! The dialect of evalscope 1.14.1's serving benchmark (`evalscope perf …`).
//!
//! A command line is read in four steps: argparse's rules make it canonical, clap gives the values
//! their types, evalscope's rules between flags settle what they mean, and each run of the sweep
//! becomes a [`BenchPlan`].
//!
//! What differs from the peer on purpose is told in `docs/compat/evalscope.md`.

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod dataset;
mod load;
mod names;
mod namespace;
mod output;
mod planner;
mod refusal;
mod scope;
mod server;
mod settings;
mod settled;
mod simulate;
mod sla;
mod url;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;

use servemark_datasets::DatasetSpec;
use servemark_plan::{BenchPlan, EarlierSpec, SweepSpec};

use self::args::EvalscopeArgs;
use self::names::PEER;
use self::planner::{Place, Planner};
use self::settled::{Settled, Step};
pub use self::sla::{SlaCriterion, SlaGoal, SlaMetric, SlaSearch, SlaVariable};
use crate::argparse::{Given, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::{Invocation, Parsed};

/// What `evalscope perf` is asked to do: runs one after the other, or a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EvalscopeRuns {
    /// The first run, with what all of them share.
    pub first: Parsed,
    /// The folder of all results.
    pub folder: PathBuf,
    /// What is done.
    pub task: EvalscopeTask,
    /// How many requests, or conversations, `progress.json` counts up to, if it is wanted.
    pub tracked: Option<u64>,
    /// Whether `benchmark.log` tells of every piece that was sent and received.
    pub debug: bool,
    planner: Planner,
}

/// What is done. Closed: a search decides for itself what it runs.
#[derive(Clone, Debug)]
pub enum EvalscopeTask {
    /// Runs that are known before.
    Runs(SweepSpec),
    /// Runs of which each depends on those before it.
    Search(SlaSearch),
}

/// What runs have used up.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Used {
    /// How many runs there were.
    pub runs: u32,
    /// How many requests they measured.
    pub requests: u64,
    /// What they drew, where that matters to those after them.
    drawn: Vec<EarlierSpec>,
}

/// Reads what follows `evalscope`.
pub(crate) fn command(
    mut args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let command = args.next().unwrap_or_default().to_string_lossy().into_owned();
    match command.as_str() {
        "perf" => Ok(Invocation::Evalscope(Box::new(parse("evalscope perf", args, environment)?))),
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

/// evalscope's commands that servemark has.
const COMMANDS: [&str; 1] = ["evalscope perf"];

/// evalscope's other commands.
const OTHERS: [&str; 4] = ["app", "benchmark-info", "eval", "service"];

const HELP: &str = "\
evalscope's serving benchmark, same command line.

usage: servemark evalscope perf [OPTIONS]

Run eval, app, service and benchmark-info with evalscope itself.
";

/// Reads the command line of `evalscope perf`, without the program's name.
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
    let given = Given::read(command, &PEER, &[], &words).map_err(refuse)?;
    let (mut args, _): (EvalscopeArgs, _) = given.typed(program)?;
    given.reading.refuse_leftovers().map_err(refuse)?;
    simulate::choose_the_rest(&mut args, &given);
    understand(args, &given, environment).map_err(refuse)
}

fn understand(
    args: EvalscopeArgs,
    given: &Given,
    environment: &Environment,
) -> Result<EvalscopeRuns, CliError> {
    let credentials = server::credentials(&args.target)?;
    refusal::check_built(given)?;
    let settled = Settled::of(&args)?;
    refusal::check_dataset(&args, &settled)?;
    let mut warnings = settled.warnings.clone();
    scope::check(&args, given, &mut warnings)?;
    warnings.extend(uncovered(&args, &settled));
    let search = SlaSearch::of(&args, &settled)?;
    let (progress, plan_only) = (!args.extras.no_progress, args.asking.plan_only);
    let all = settled.number.iter().map(|number| number.unsigned_abs()).sum();
    let (debug, grace) = (args.client.debug, args.stopping.grace);
    let tracked = args.client.enable_progress_tracker.then_some(all);
    let planner = Planner::new(args, settled, given, environment)?;
    let plans = planner.sweep(search.as_ref())?;
    let plan = plans[0].plan.clone();
    let first = Parsed::new(plan, credentials, environment, grace);
    let first = Parsed { progress, plan_only, warnings, ..first };
    let task = match search {
        Some(search) => EvalscopeTask::Search(search),
        None => EvalscopeTask::Runs(planner.spec(plans)?),
    };
    Ok(EvalscopeRuns { first, folder: planner.folder.clone(), task, tracked, debug, planner })
}

/// evalscope's warning of a start whose burst is measured.
fn uncovered(args: &EvalscopeArgs, settled: &Settled) -> Option<String> {
    let steps = settled.steps();
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
    /// The runs of a search at a load, after what was used up before. Says what is used up then.
    pub fn probe(
        &self,
        search: &SlaSearch,
        load: u32,
        used: &Used,
    ) -> Result<(SweepSpec, Used), CliError> {
        let (plans, after) = self.planner.probe(search, load, used)?;
        Ok((self.planner.spec(plans)?, after))
    }
}

impl Used {
    /// One more run was made.
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

#[cfg(test)]
mod tests;
