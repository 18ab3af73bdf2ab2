//! Several runs of one command line, and the table of all of them.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use servemark::metrics::{Figure, Metrics, SeveralRuns};
use servemark::report::{SweptRun, write_several, write_swept};
use servemark::{ExitCode, PointRun, RunContext, Scores};
use servemark_cli::{Purpose, Series};

use crate::documents::RunsDocument;
use crate::rewrite::{self, Rewrite};
use crate::{context, report, screen};

/// Executes the runs. Returns the exit code of the worst one. If a run fails, the runs before it
/// are reported.
pub(crate) fn series(series: &Series) -> anyhow::Result<ExitCode> {
    let (mut done, mut logs) = (Vec::new(), Vec::new());
    let Some(context) = context::prepare(&series.first)? else { return Ok(ExitCode::Ok) };
    let mut document = RunsDocument::new(series.first.prints_document());
    let ended = runs(series, &context, &mut done, &mut logs, &mut document);
    if ended.is_ok() || !done.is_empty() {
        screen::print(&table(&series.purpose, &done)?);
        let summary = summary(&series.purpose, &done);
        document.print_with(Map::from_iter([("peer_summary".to_owned(), summary)]));
        let written = write_summary(series, &done, Rewrite::Whole);
        let logs = logs.iter().map(Option::as_deref);
        rewrite::both(&ended, rewrite::with_logs(written, logs, "--json"))?;
    }
    ended
}

/// Executes the runs and adds each to `done`, and its log to `logs`.
fn runs(
    series: &Series,
    context: &RunContext,
    done: &mut Vec<(String, Metrics)>,
    logs: &mut Vec<Option<PathBuf>>,
    document: &mut RunsDocument,
) -> anyhow::Result<ExitCode> {
    let mut worst = ExitCode::Ok;
    for run in servemark::Sweep::open(&series.runs, None, context)? {
        let PointRun { point, run, .. } = run?;
        let scores = Scores::of_run(&run, &point.plan.scoring);
        report::show(&scores, series.first.full)?;
        document.add(&point.name, &scores)?;
        logs.push(run.run_log.clone());
        done.push((point.name.clone(), scores.headline(percentiles(&series.purpose))));
        worst = worst.max(report::keep(&run, &scores, &point.plan.output)?);
        write_summary(series, done, Rewrite::SoFar)?;
    }
    Ok(worst)
}

fn write_summary(series: &Series, done: &CompletedRuns, rewrite: Rewrite) -> anyhow::Result<()> {
    let Some(path) = &series.summary else { return Ok(()) };
    rewrite.file(path, "the summary", &format!("{:#}\n", summary(&series.purpose, done)))
}

type CompletedRuns = [(String, Metrics)];

fn percentiles(purpose: &Purpose) -> &[f64] {
    match purpose {
        Purpose::Sweep { percentiles, .. } => percentiles,
        Purpose::Spread => &[],
    }
}

fn table(purpose: &Purpose, done: &CompletedRuns) -> anyhow::Result<String> {
    screen::text(|out| match purpose {
        Purpose::Sweep { setting, percentiles } => {
            let runs: Vec<_> =
                done.iter().map(|(name, metrics)| SweptRun::new(name, metrics)).collect();
            write_swept(setting, &runs, percentiles, out)
        }
        Purpose::Spread => write_several(&several(done), out),
    })
}

/// Returns the summary: the metrics of each run of a sweep, or the spread of repeated runs.
fn summary(purpose: &Purpose, done: &CompletedRuns) -> Value {
    match purpose {
        Purpose::Sweep { .. } => done.iter().map(numbers).collect(),
        Purpose::Spread => json!(several(done)),
    }
}

fn several(done: &CompletedRuns) -> SeveralRuns {
    let runs: Vec<Metrics> = done.iter().map(|(_, metrics)| metrics.clone()).collect();
    SeveralRuns::of(&Figure::headline(), &runs)
}

fn numbers((name, metrics): &(String, Metrics)) -> Value {
    json!({"run": name, "metrics": metrics})
}
