//! A grid of runs, one after the other, and the table of all of them.

use std::path::Path;

use serde_json::{Value, json};
use servemark::plan::{BenchPlan, Isolation, NamedPlan, Point, SweepSpec};
use servemark::runner::Stop;
use servemark::{ExitCode, Origin, PointRun, Run, RunContext, Scores, SweepOutcome, write_runs};
use servemark_cli::{Parsed, Sweep, SweepRuns};

use crate::rewrite::{self, Rewrite};
use crate::run_table::{self, RunTable};
use crate::{bench, context, report, results_folder, screen};

/// Executes the runs of a sweep. Returns the exit code of the worst one.
pub(crate) fn sweep(sweep: &Sweep) -> anyhow::Result<ExitCode> {
    let Sweep { points, is_grid, file, .. } = sweep;
    if !is_grid || points[0].plan_only.is_some() {
        return bench::bench(&points[0]);
    }
    let Some(context) = context::prepare(&points[0])? else { return Ok(ExitCode::Ok) };
    let folder = sweep.folder.as_ref().map(results_folder::create).transpose()?;
    let mut done = Vec::new();
    let table = RunTable::new("the grid", file.as_slice(), folder.as_deref());
    let ended = runs(sweep, &table, folder.as_deref(), &context, &mut done);
    if ended.is_err() && done.is_empty() {
        return ended;
    }
    run_table::print(&points[0], |format, out| write_runs(&done, format, out))?;
    let written = table.keep(Rewrite::Whole, |format, out| write_runs(&done, format, out));
    let written = if folder.is_some() {
        rewrite::with_folder(written, folder.as_deref(), "--grid-file")
    } else {
        rewrite::with_logs(written, done.iter().map(|run| run.run_log.as_deref()), "--json")
    };
    rewrite::both(&ended, written)?;
    results_folder::announce(folder.as_deref());
    ended
}

/// Executes the runs of a sweep over flags: prints a line per completed run, and a table of all. If
/// a run fails, the runs before it are in the table.
pub(crate) fn sweep_runs(runs: &SweepRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = context::prepare(&runs.first)? else { return Ok(ExitCode::Ok) };
    let folder = runs.folder.as_ref().map(results_folder::create).transpose()?;
    let table = RunTable::new("the sweep", &runs.files, folder.as_deref());
    let mut outcome = SweepOutcome::default();
    let ended = points(runs, &table, folder.as_deref(), &context, &mut outcome);
    if ended.is_ok() || !outcome.points.is_empty() {
        run_table::print(&runs.first, |format, out| outcome.write(format, out))?;
        let written = table.keep(Rewrite::Whole, |format, out| outcome.write(format, out));
        let written = rewrite::with_folder(written, folder.as_deref(), "--sweep-file");
        rewrite::both(&ended, written)?;
        results_folder::announce(folder.as_deref());
    }
    ended?;
    let is_stopped = context.stop.signal().is(Stop::Drain);
    Ok(if is_stopped { ExitCode::Interrupted } else { outcome.exit_code() })
}

/// Executes the runs and adds each to the outcome.
fn points(
    runs: &SweepRuns,
    table: &RunTable,
    folder: Option<&Path>,
    context: &RunContext,
    outcome: &mut SweepOutcome,
) -> anyhow::Result<()> {
    for done in servemark::Sweep::open(&runs.spec, folder, context)? {
        let done = done?;
        let plan = &done.point.plan;
        let reported = match done.origin {
            Origin::Measured => reported(&done.run, plan, &runs.first),
            Origin::Resumed => Ok(()),
        };
        let score = done.score();
        screen::eprint_line(&score.to_string());
        outcome.add(score);
        table.keep(Rewrite::SoFar, |format, out| outcome.write(format, out))?;
        reported?;
    }
    Ok(())
}

/// Prints the tables of a point, unless one document is printed at the end, and writes its files.
fn reported(run: &Run, plan: &BenchPlan, first: &Parsed) -> anyhow::Result<()> {
    let scores = Scores::of_run(run, &plan.scoring);
    if !first.json {
        report::show(&scores, first.full)?;
    }
    report::keep(run, &scores, &plan.output).map(drop)
}

/// Executes the runs and adds each to `done`. Returns the exit code of the worst one. Ctrl-C ends
/// the current run and the sweep.
fn runs(
    sweep: &Sweep,
    table: &RunTable,
    folder: Option<&Path>,
    context: &RunContext,
    done: &mut Vec<Run>,
) -> anyhow::Result<ExitCode> {
    let mut worst = ExitCode::Ok;
    for measured in servemark::Sweep::open(&spec(sweep), folder, context)? {
        let PointRun { point: Point { plan, .. }, run, origin, .. } = measured?;
        let scores = Scores::of_run(&run, &plan.scoring);
        let code = match origin {
            Origin::Measured => report::keep(&run, &scores, &plan.output),
            Origin::Resumed => Ok(scores.exit_code()),
        };
        done.push(run);
        table.keep(Rewrite::SoFar, |format, out| write_runs(done, format, out))?;
        worst = worst.max(code?);
    }
    Ok(worst)
}

/// Returns the points of the command line as a sweep that leaves their seeds and prompts unchanged.
fn spec(sweep: &Sweep) -> SweepSpec {
    let named = |Parsed { plan, .. }: &Parsed| NamedPlan::new(settings(plan), plan.clone());
    let spec = SweepSpec::listed(sweep.points.iter().map(named)).isolated(Isolation::none());
    spec.known_as(&sweep.identity)
}

fn settings(plan: &BenchPlan) -> Vec<(String, Value)> {
    let limit = plan.load.max_concurrency.map_or(json!("inf"), |limit| json!(limit));
    let items = json!(plan.workload.grouping.items());
    vec![("items".to_owned(), items), ("max_concurrency".to_owned(), limit)]
}
