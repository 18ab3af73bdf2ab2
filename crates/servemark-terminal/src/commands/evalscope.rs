//! evalscope's runs, one after the other or in a search, and their common report.

mod debug;
mod progress;
mod search;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use servemark::core::JsonObject;
use servemark::plan::{BenchPlan, PointsSpec, SweepSpec};
use servemark::report::{EvalscopeRates, EvalscopeRun, EvalscopeSubject, EvalscopeSweep};
use servemark::runner::Stop;
use servemark::{ExitCode, PointRun, RunContext, Scores, numbered};
use servemark_cli::{CliError, EvalscopeRuns, EvalscopeTask, ResultsFolder};

use self::progress::Tracker;
use crate::documents::RunsDocument;
use crate::results::{self, Unwritten};
use crate::rewrite::{self, Rewrite};
use crate::{context, report, results_folder, screen};

/// Executes the requested runs. Returns the exit code of the worst one.
pub(crate) fn run(requested: &EvalscopeRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = context::prepare(&requested.first)? else { return Ok(ExitCode::Ok) };
    let requested = &with_folder(requested)?;
    match &requested.task {
        EvalscopeTask::Runs(spec) => runs(requested, spec, &context),
        EvalscopeTask::Search(search) => search::search(requested, search, &context),
    }
}

/// Returns evalscope's runs with a folder of their own, if its path has the time in it:
/// `outputs/TIME/NAME`, or `outputs/TIME_2/NAME` if that exists.
fn with_folder(requested: &EvalscopeRuns) -> anyhow::Result<EvalscopeRuns> {
    let mut requested = requested.clone();
    if let ResultsFolder::Dated(path) = requested.results_folder()
        && let (Some(dated), Some(name)) = (path.parent(), path.file_name())
    {
        let names = numbered(dated.to_owned()).map(|dated| dated.join(name));
        let folder = results_folder::created(&path, names)?;
        if folder != path {
            requested.move_to(folder)?;
        }
    }
    Ok(requested)
}

/// Runs a sweep and reports it. A run that fails before its report ends the sweep; earlier runs are
/// still reported.
fn runs(
    requested: &EvalscopeRuns,
    spec: &SweepSpec,
    context: &RunContext,
) -> anyhow::Result<ExitCode> {
    make_folders(spec)?;
    let live = || Arc::clone(&context.live);
    let tracker = requested.tracked.map(|total| Tracker::start(&requested.folder, total, live()));
    let tracker = tracker.transpose()?;
    let mut completed = CompletedRuns::of(requested);
    let swept = sweep(requested, spec, context, &mut completed);
    let is_whole = swept.as_ref().is_ok_and(|&code| code != ExitCode::Interrupted);
    tracker.map_or(Ok(()), |tracker| tracker.end(is_whole))?;
    let CompletedRuns { runs, logs, document } = completed;
    if !runs.is_empty() {
        let summary = report(requested, &runs);
        document.print();
        let page = page(requested, &runs, Rewrite::Whole);
        let written = rewrite::both(&summary, page).and(summary);
        let logs = logs.iter().map(Option::as_deref);
        rewrite::both(&swept, rewrite::with_logs(written, logs, "--as evalscope"))?;
    }
    swept
}

/// What the completed runs of a command left.
struct CompletedRuns {
    runs: Vec<EvalscopeRun>,
    logs: Vec<Option<PathBuf>>,
    document: RunsDocument,
}

impl CompletedRuns {
    fn of(requested: &EvalscopeRuns) -> Self {
        let document = RunsDocument::new(requested.first.prints_document());
        Self { runs: Vec::new(), logs: Vec::new(), document }
    }
}

/// Executes the runs one after the other. Returns the exit code of the worst one.
fn sweep(
    requested: &EvalscopeRuns,
    spec: &SweepSpec,
    context: &RunContext,
    completed: &mut CompletedRuns,
) -> anyhow::Result<ExitCode> {
    let mut worst = ExitCode::Ok;
    for run in servemark::Sweep::open(spec, None, context)? {
        let run = run?;
        let (reported, code) = run_one(requested, &run, &mut completed.document)?;
        completed.logs.push(run.run.run_log);
        completed.runs.push(reported.run);
        summarize(requested, &completed.runs, Rewrite::SoFar)?;
        page(requested, &completed.runs, Rewrite::SoFar)?;
        worst = worst.max(code?);
    }
    let is_stopped = context.stop.signal().is(Stop::Drain);
    Ok(if is_stopped { ExitCode::Interrupted } else { worst })
}

/// A run with its metrics and the arguments of its command line.
struct Reported {
    run: EvalscopeRun,
    arguments: JsonObject,
}

impl Reported {
    /// Returns `benchmark_summary.json` and `benchmark_percentile.json`.
    fn documents(&self) -> anyhow::Result<(JsonObject, Vec<JsonObject>)> {
        let files = self.run.files(&self.arguments);
        let percentiles = files.iter().find(|(name, _)| *name == "benchmark_percentile.json");
        let text = percentiles.map_or("[]", |(_, text)| text);
        Ok((self.run.summary_json(), serde_json::from_str(text)?))
    }
}

/// Writes the tables and files of a completed run. Returns its exit code, or the error if a file
/// could not be written.
fn run_one(
    requested: &EvalscopeRuns,
    done: &PointRun,
    document: &mut RunsDocument,
) -> anyhow::Result<(Reported, anyhow::Result<ExitCode>)> {
    let plan = &done.point.plan;
    let scores = Scores::of_run(&done.run, &plan.scoring);
    report::show(&scores, requested.first.full)?;
    document.add(&done.point.name, &scores)?;
    let reported = Reported { run: scores.evalscope(), arguments: plan.echo.clone() };
    let mut unwritten = Unwritten::default();
    if let Some(folder) = folder(plan) {
        let sent = done.run.sent.as_ref();
        unwritten.add("--files", results::write_evalscope(&scores, &reported.run, sent, folder));
    }
    let debugged = if requested.debug {
        let path = requested.folder.join("benchmark.log");
        debug::append(&done.run, &path).with_context(|| format!("cannot write {}", path.display()))
    } else {
        Ok(())
    };
    let code = report::keep(&done.run, &scores, &plan.output);
    if let Some(rates) = reported.run.output_rates().filter(EvalscopeRates::differ) {
        screen::eprint_line(&format!("note: {rates}"));
    }
    let unwritten = unwritten.into_result(done.run.run_log.as_deref());
    let written = rewrite::both(&unwritten, debugged).and(unwritten);
    let code = rewrite::both(&code, written).and(code);
    Ok((reported, code))
}

/// Prints the report of all runs and writes it beside their folders.
fn report(requested: &EvalscopeRuns, runs: &[EvalscopeRun]) -> anyhow::Result<()> {
    screen::print(&summary(requested, runs));
    summarize(requested, runs, Rewrite::Whole)
}

fn summary(requested: &EvalscopeRuns, runs: &[EvalscopeRun]) -> String {
    let subject = subject(&requested.first.plan.echo, &requested.folder);
    EvalscopeSweep::of(runs, &subject).summary()
}

fn summarize(
    requested: &EvalscopeRuns,
    runs: &[EvalscopeRun],
    rewrite: Rewrite,
) -> anyhow::Result<()> {
    let path = requested.folder.join("performance_summary.txt");
    rewrite.file(&path, "the report", &summary(requested, runs))
}

/// Writes the report as a page. A search has no page.
fn page(requested: &EvalscopeRuns, runs: &[EvalscopeRun], rewrite: Rewrite) -> anyhow::Result<()> {
    let arguments = &requested.first.plan.echo;
    let subject = subject(arguments, &requested.folder);
    let page =
        screen::text(|mut out| EvalscopeSweep::of(runs, &subject).write_page(arguments, &mut out))?;
    rewrite.file(&requested.folder.join("perf_report.html"), "the page", &page)
}

fn subject(arguments: &JsonObject, folder: &Path) -> EvalscopeSubject {
    let message =
        |key: &str| arguments.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    EvalscopeSubject::new(message("model_id"), message("dataset"), message("api"))
        .with_alias(message("alias"))
        .at(message("url"))
        .in_folder(&folder.to_string_lossy())
}

/// Creates the folder of every run. Returns an error if a folder contains a run already.
fn make_folders(spec: &SweepSpec) -> anyhow::Result<()> {
    let PointsSpec::Listed(plans) = &spec.points else { return Ok(()) };
    plans.iter().try_for_each(|named| make_folder(&named.plan))
}

fn make_folder(plan: &BenchPlan) -> anyhow::Result<()> {
    let Some(folder) = folder(plan) else { return Ok(()) };
    // A run that was killed left only its log.
    let is_logged = plan.output.run_log.as_ref().is_some_and(|path| path.exists());
    let is_taken = is_logged || folder.join("benchmark_args.json").exists();
    if is_taken {
        let folder = folder.display();
        let why = format!("{folder} holds a run already; choose another --outputs-dir or --name");
        return Err(CliError::Peer(why).into());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Returns the folder of a run, which also contains its log.
fn folder(plan: &BenchPlan) -> Option<&Path> {
    plan.output.run_log.as_deref().and_then(Path::parent)
}
