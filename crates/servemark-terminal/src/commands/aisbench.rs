//! AISBench's tasks, one after the other: each is run, or read from the log of an earlier run, and
//! its tables and files are written.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use servemark::core::{RunLog, RunLogError, RunLogReader};
use servemark::metrics::NoStage;
use servemark::{ExecuteError, ExitCode, RunContext, Scores, execute, numbered};
use servemark_cli::PlanFormat;
use servemark_cli::aisbench::{Reuse, Task, Tasks};

use crate::documents::RunsDocument;
use crate::run_screen::Bars;
use crate::screen;
use crate::{context, failures, report, results_folder};

/// Runs the tasks. Returns the exit code of the worst one.
pub(crate) fn run(tasks: &Tasks) -> anyhow::Result<ExitCode> {
    let is_planned = tasks.tasks.iter().all(|task| task.parsed.plan_only.is_some());
    let tasks = &if is_planned { tasks.clone() } else { with_folder(tasks)? };
    let mut context: Option<RunContext> = None;
    let mut worst = ExitCode::Ok;
    if let [first, _, ..] = tasks.tasks.as_slice()
        && first.parsed.plan_only.is_some_and(|format| format != PlanFormat::Json)
    {
        let count = tasks.tasks.len();
        bail!("there are {count} tasks, and a file has one plan: name one model and one data set");
    }
    let is_printed = tasks.tasks.first().is_some_and(|task| task.parsed.prints_document());
    let mut document = RunsDocument::new(is_printed);
    for task in &tasks.tasks {
        if let Some(log) = past(task).filter(|_| tasks.reuse != Reuse::Nothing).transpose()? {
            worst = worst.max(score(task, &log, &mut document)?);
            continue;
        }
        if tasks.reuse == Reuse::Only {
            let folder = tasks.folder.display();
            bail!("{folder} has no run of the task {}", task.name);
        }
        let shared = match &context {
            Some(shared) => shared.clone(),
            None => context::context(Bars::of(&task.parsed))?,
        };
        worst = worst.max(measure(task, &shared, &mut document)?);
        context = Some(shared);
    }
    if !is_planned {
        screen::eprint_line(&format!("Results of all tasks: {}", tasks.folder.display()));
    }
    document.print();
    Ok(worst)
}

/// Returns AISBench's tasks with a folder of their own, unless they go on with an earlier run.
fn with_folder(tasks: &Tasks) -> anyhow::Result<Tasks> {
    let mut tasks = tasks.clone();
    if tasks.reuse == Reuse::Nothing {
        let folder = results_folder::created(&tasks.folder, numbered(tasks.folder.clone()))?;
        if folder != tasks.folder {
            tasks.move_to(folder);
        }
    }
    Ok(tasks)
}

fn measure(
    task: &Task,
    shared: &RunContext,
    document: &mut RunsDocument,
) -> anyhow::Result<ExitCode> {
    let Task { name, parsed, .. } = task;
    for warning in &parsed.warnings {
        screen::eprint_line(&format!("warning: {warning}"));
    }
    if let Some(plan) = parsed.printed_plan() {
        screen::print(&plan.map_err(anyhow::Error::msg)?);
        return Ok(ExitCode::Ok);
    }
    screen::eprint_line(&format!("Task [{name}]"));
    let folder = parsed.plan.output.run_log.as_deref().and_then(Path::parent);
    if let Some(folder) = folder {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let context = context::with_screen(context::with_settings(shared, parsed), parsed);
    let run = execute(&parsed.plan, &context).map_err(|error| {
        if let Some(folder) = folder {
            leave_nothing(folder, task);
        }
        placed(error, task)
    })?;
    let scores = Scores::of_run(&run, &parsed.plan.scoring);
    report::show(&scores, parsed.full)?;
    document.add(name, &scores)?;
    let code = report::keep(&run, &scores, &parsed.plan.output)?;
    Ok(code.max(of_stage(&scores)))
}

/// Returns the exit code with which AISBench ends if a run has no stable stage.
fn of_stage(scores: &Scores<'_>) -> ExitCode {
    match scores.no_stage() {
        Some(NoStage::NotStable) => ExitCode::Internal,
        _ => ExitCode::Ok,
    }
}

/// Removes the folders of a run that left no file in them. A folder with content stays, and so do
/// its parents.
fn leave_nothing(folder: &Path, task: &Task) {
    let Some(files) = &task.parsed.plan.output.aisbench else { return };
    let own = folder.ancestors().take_while(|path| path.starts_with(&files.folder));
    let _ = own.map(fs::remove_dir).find(Result::is_err);
}

/// Returns the error of a run; if the data set or the tokenizer is at fault, with the place of the
/// setting in the config.
fn placed(error: ExecuteError, task: &Task) -> anyhow::Error {
    let place = match error {
        ExecuteError::Dataset(_) => Some(&task.data),
        ExecuteError::Tokenizer(_) => Some(&task.tokenizer),
        _ => None,
    };
    let error = anyhow::Error::new(error);
    match place {
        Some(place) => error.context(place.clone()),
        None => error,
    }
}

/// Returns the log of an earlier run of the task, if that reached its measurement.
fn past(task: &Task) -> Option<Result<RunLog, RunLogError>> {
    let path = task.parsed.plan.output.run_log.as_ref().filter(|path| path.exists())?;
    let log = RunLogReader::open(path).and_then(RunLogReader::into_log);
    let is_empty = log.as_ref().is_ok_and(|log| log.measured().next().is_none());
    (!is_empty).then_some(log)
}

/// Writes the tables and files of a task from the log of an earlier run.
fn score(task: &Task, log: &RunLog, document: &mut RunsDocument) -> anyhow::Result<ExitCode> {
    let plan = &task.parsed.plan;
    let scores = Scores::of(log, &plan.scoring);
    failures::note(log);
    report::show(&scores, task.parsed.full)?;
    document.add(&task.name, &scores)?;
    if let Some(files) = &plan.output.aisbench {
        scores.save_aisbench(files, None).context("cannot write the results")?;
    }
    report::say_verdict(&scores);
    report::say_objectives(&scores);
    report::say_known(&scores);
    Ok(scores.exit_code().max(of_stage(&scores)))
}
