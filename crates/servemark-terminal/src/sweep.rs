//! A grid of runs, one after the other, and the table of all of them.

use std::path::PathBuf;

use serde_json::{Value, json};
use servemark::page::GridFormat;
use servemark::plan::{BenchPlan, Isolation, NamedPlan, Point, SweepSpec};
use servemark::runner::Stop;
use servemark::{ExitCode, Origin, PointRun, Run, Scores, SweepOutcome, write_runs};
use servemark_cli::{Parsed, Sweep, SweepRuns};

use crate::rewrite::{self, Rewrite};
use crate::{screen, serve};

/// Does the runs of a sweep. Returns the exit code of the worst one.
pub(crate) fn sweep(sweep: &Sweep) -> anyhow::Result<ExitCode> {
    let Sweep { points, is_grid, file, folder, .. } = sweep;
    if !is_grid || points[0].plan_only {
        return serve::bench(&points[0]);
    }
    let (runs, code) = runs(sweep)?;
    screen::print(&grid(&runs, GridFormat::Markdown)?);
    let written = write_grid(file.as_ref(), &runs, Rewrite::Whole);
    if folder.is_some() {
        rewrite::with_folder(written, folder.as_deref(), "--grid-file")?;
    } else {
        rewrite::with_logs(written, runs.iter().map(|run| run.run_log.as_deref()), "--json")?;
    }
    Ok(code)
}

/// Does the runs of a sweep over flags: prints a line per completed run, and a table of all.
pub(crate) fn sweep_runs(runs: &SweepRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = serve::prepare(&runs.first)? else { return Ok(ExitCode::Ok) };
    let mut outcome = SweepOutcome::default();
    for done in servemark::Sweep::open(&runs.spec, runs.folder.as_deref(), &context)? {
        let done = done?;
        if done.origin == Origin::Measured {
            let plan = &done.point.plan;
            serve::report(&done.run, &plan.scoring, &plan.output)?;
        }
        let score = done.score();
        screen::eprint_line(&score.to_string());
        outcome.add(score);
        write_sweep(&runs.files, &outcome, Rewrite::SoFar)?;
    }
    screen::print(&written(&outcome, GridFormat::Markdown)?);
    let files = write_sweep(&runs.files, &outcome, Rewrite::Whole);
    rewrite::with_folder(files, runs.folder.as_deref(), "--sweep-file")?;
    let is_stopped = context.stop.signal().is(Stop::Drain);
    Ok(if is_stopped { ExitCode::Interrupted } else { outcome.exit_code() })
}

fn write_sweep(
    files: &[(PathBuf, GridFormat)],
    outcome: &SweepOutcome,
    rewrite: Rewrite,
) -> anyhow::Result<()> {
    files
        .iter()
        .try_for_each(|(path, format)| rewrite.file(path, "the sweep", &written(outcome, *format)?))
}

fn written(outcome: &SweepOutcome, format: GridFormat) -> anyhow::Result<String> {
    screen::text(|out| outcome.write(format, out))
}

/// Returns the completed runs. Ctrl-C ends the current run and the sweep.
fn runs(sweep: &Sweep) -> anyhow::Result<(Vec<Run>, ExitCode)> {
    let (mut all, mut worst) = (Vec::new(), ExitCode::Ok);
    let Some(context) = serve::prepare(&sweep.points[0])? else { return Ok((all, worst)) };
    let (spec, folder) = (spec(sweep), sweep.folder.as_deref());
    for done in servemark::Sweep::open(&spec, folder, &context)? {
        let PointRun { point: Point { plan, .. }, run, origin, .. } = done?;
        let scores = Scores::of_run(&run, &plan.scoring);
        let code = match origin {
            Origin::Measured => serve::keep(&run, &scores, &plan.output)?,
            Origin::Resumed => scores.exit_code(),
        };
        worst = worst.max(code);
        all.push(run);
        write_grid(sweep.file.as_ref(), &all, Rewrite::SoFar)?;
    }
    Ok((all, worst))
}

fn write_grid(
    file: Option<&(PathBuf, GridFormat)>,
    runs: &[Run],
    rewrite: Rewrite,
) -> anyhow::Result<()> {
    let Some((path, format)) = file else { return Ok(()) };
    rewrite.file(path, "the grid", &grid(runs, *format)?)
}

/// Returns the points of the command line as a sweep, including their prompts.
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

fn grid(runs: &[Run], format: GridFormat) -> anyhow::Result<String> {
    screen::text(|out| write_runs(runs, format, out))
}
