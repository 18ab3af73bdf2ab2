//! AISBench's tasks, one after the other: each is run, or read from the log of a run before, and its
//! tables and files are made.

use std::fs;

use anyhow::{Context, bail};
use servemark::core::RunLogReader;
use servemark::{ExecuteError, ExitCode, RunContext, Scores, execute};
use servemark_cli::aisbench::{Reuse, Task, Tasks};

use crate::{screen, serve};

/// Does the tasks. Its exit code is that of the one that went worst.
pub(crate) fn run(tasks: &Tasks) -> anyhow::Result<ExitCode> {
    let mut context: Option<RunContext> = None;
    let mut worst = ExitCode::Ok;
    for task in &tasks.tasks {
        if tasks.reuse != Reuse::Nothing && has_log(task) {
            worst = worst.max(score(task)?);
            continue;
        }
        if tasks.reuse == Reuse::Only {
            let folder = tasks.folder.display();
            bail!("{folder} has no run of the task {}", task.name);
        }
        let shared = match &context {
            Some(shared) => shared.clone(),
            None => serve::context(task.parsed.progress)?,
        };
        worst = worst.max(measure(task, &shared)?);
        context = Some(shared);
    }
    screen::complain(&format!("Results of all tasks: {}", tasks.folder.display()));
    Ok(worst)
}

fn measure(task: &Task, shared: &RunContext) -> anyhow::Result<ExitCode> {
    let Task { name, parsed, .. } = task;
    for warning in &parsed.warnings {
        screen::complain(&format!("warning: {warning}"));
    }
    if parsed.plan_only {
        screen::print(&format!("{:#}\n", parsed.plan.to_json()));
        return Ok(ExitCode::Ok);
    }
    screen::complain(&format!("Task [{name}]"));
    if let Some(folder) = parsed.plan.output.run_log.as_deref().and_then(std::path::Path::parent) {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let context = serve::voiced(serve::furnished(shared, parsed), parsed);
    let run = execute(&parsed.plan, &context).map_err(|error| placed(error, task))?;
    serve::report(&run, &parsed.plan.scoring, &parsed.plan.output)
}

/// What is wrong with the rows, with the place at which a config asks for them.
fn placed(error: ExecuteError, task: &Task) -> anyhow::Error {
    let is_of_data = matches!(error, ExecuteError::Dataset(_));
    let error = anyhow::Error::new(error);
    if is_of_data { error.context(task.data.clone()) } else { error }
}

fn has_log(task: &Task) -> bool {
    task.parsed.plan.output.run_log.as_ref().is_some_and(|path| path.exists())
}

/// The tables and the files of a task that was run before.
fn score(task: &Task) -> anyhow::Result<ExitCode> {
    let plan = &task.parsed.plan;
    let Some(path) = &plan.output.run_log else { return Ok(ExitCode::Ok) };
    let log = RunLogReader::open(path)?.into_log()?;
    let scores = Scores::of(&log, &plan.scoring);
    serve::show(&scores)?;
    if let Some(files) = &plan.output.aisbench {
        scores.save_aisbench(files).context("cannot write the results")?;
    }
    Ok(scores.exit_code())
}
