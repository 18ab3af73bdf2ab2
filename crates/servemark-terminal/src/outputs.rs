//! Checks all files that a command writes before it sends anything.

use std::path::{Path, PathBuf};

use servemark::plan::{BenchPlan, OutputSpec};
use servemark::{ExecuteError, Outputs};
use servemark_cli::aisbench::{Reuse, Tasks};
use servemark_cli::one_batch::OneBatch;
use servemark_cli::vllm::sweep::SweepCommand;
use servemark_cli::{CompareArgs, Invocation, Parsed, ResultsFolder, ScoreArgs};

use crate::gates;

/// Checks the output files of a command. `files_read` are files that its command line was read
/// from.
pub(crate) fn check(invocation: &Invocation, files_read: &[PathBuf]) -> anyhow::Result<()> {
    let mut outputs = of(invocation);
    for path in files_read {
        outputs.add_input(path);
    }
    check_outputs(&outputs)
}

/// Checks the output files of a repeated run, whose log is an input.
pub(crate) fn check_rerun(plan: &BenchPlan, recorded: &Path) -> anyhow::Result<()> {
    let mut outputs = Outputs::of(plan);
    outputs.add_input(recorded);
    check_outputs(&outputs)
}

fn check_outputs(outputs: &Outputs) -> anyhow::Result<()> {
    Ok(outputs.check().map_err(ExecuteError::from)?)
}

fn of(invocation: &Invocation) -> Outputs {
    let mut outputs = Outputs::default();
    match invocation {
        Invocation::Ab(runs) | Invocation::Noise(runs) if runs.first.plan_only.is_none() => {
            add_inputs(&mut outputs, &runs.first);
            outputs.add_folder("the run logs", runs.folder.path());
        }
        Invocation::Aisbench(tasks) => add_tasks(&mut outputs, tasks),
        Invocation::Bench(parsed) => add_run(&mut outputs, parsed),
        Invocation::Compare(args) => add_comparison(&mut outputs, args),
        Invocation::Explore(args) => gates::add_outputs(&args.gates, &mut outputs),
        Invocation::Export(args) => {
            outputs.add_input(&args.run_log);
            if let Some(folder) = &args.parquet {
                outputs.add_folder("the tables", folder);
            }
            add_file(&mut outputs, "the report", args.benchmark_report.as_deref());
        }
        Invocation::Evalscope(runs) if runs.first.plan_only.is_none() => {
            outputs.add_folder("the results", &runs.folder);
        }
        Invocation::Offline(offline) => {
            add_run(&mut outputs, &offline.run);
            add_file(&mut outputs, "the result (--output-json)", offline.output_json.as_deref());
        }
        Invocation::OneBatch(bench) if bench.common.plan_only.is_none() => {
            add_batches(&mut outputs, bench);
        }
        Invocation::Score(args) => add_score(&mut outputs, args),
        Invocation::Series(series) if series.first.plan_only.is_none() => {
            // The files of each run are checked when the points are known.
            add_inputs(&mut outputs, &series.first);
            add_file(&mut outputs, "the summary", series.summary.as_deref());
        }
        Invocation::SloSearch(runs) if runs.first.plan_only.is_none() => {
            add_inputs(&mut outputs, &runs.first);
            add_several(&mut outputs, runs.folder.as_ref(), &runs.files);
        }
        Invocation::Sweep(sweep) => {
            sweep.points.iter().for_each(|point| add_run(&mut outputs, point));
            let file = sweep.file.as_ref().filter(|_| sweep.points[0].plan_only.is_none());
            add_file(&mut outputs, "the grid", file.map(|(path, _)| path.as_path()));
            if let Some(folder) = sweep.folder.as_ref().filter(|_| sweep.is_grid) {
                outputs.add_folder("the run logs", folder.path());
            }
        }
        Invocation::SweepRuns(runs) if runs.first.plan_only.is_none() => {
            let mut first = runs.first.clone();
            first.plan.output.run_log = None;
            add_run(&mut outputs, &first);
            add_several(&mut outputs, runs.folder.as_ref(), &runs.files);
        }
        Invocation::TextSlices(slices) => outputs.add_file("the prompts", &slices.output),
        Invocation::VllmSweep(command) => add_experiment(&mut outputs, command),
        _ => {}
    }
    outputs
}

fn add_run(outputs: &mut Outputs, parsed: &Parsed) {
    if parsed.plan_only.is_none() {
        outputs.add_plan(&parsed.plan);
    }
}

/// Adds the files that a run reads.
fn add_inputs(outputs: &mut Outputs, parsed: &Parsed) {
    let mut plan = parsed.plan.clone();
    plan.output = OutputSpec::default();
    outputs.add_plan(&plan);
}

fn add_file(outputs: &mut Outputs, what: &'static str, path: Option<&Path>) {
    if let Some(path) = path {
        outputs.add_file(what, path);
    }
}

fn add_several<F>(outputs: &mut Outputs, folder: Option<&ResultsFolder>, files: &[(PathBuf, F)]) {
    if let Some(folder) = folder {
        outputs.add_folder("the run logs", folder.path());
    }
    for (path, _) in files {
        outputs.add_file("the table", path);
    }
}

fn add_tasks(outputs: &mut Outputs, tasks: &Tasks) {
    for task in &tasks.tasks {
        let mut parsed = task.parsed.clone();
        let output = &mut parsed.plan.output;
        let is_inside = output.run_log.as_ref().is_some_and(|log| log.starts_with(&tasks.folder));
        // A new folder gets another name if another process takes this one meanwhile.
        if tasks.reuse == Reuse::Nothing && is_inside {
            output.run_log = None;
        }
        add_run(outputs, &parsed);
    }
}

fn add_batches(outputs: &mut Outputs, bench: &OneBatch) {
    bench.batches.iter().for_each(|batch| outputs.add_plan(&batch.case.plan));
    let files = &bench.files;
    if let Some(path) = &files.lines {
        outputs.add_appended("the results", path);
    }
    add_file(outputs, "the list of results", files.list.as_deref());
    if let Some(path) = files.github_summary.as_ref().filter(|_| bench.report.is_some()) {
        outputs.add_appended("the summary", path);
    }
}

fn add_score(outputs: &mut Outputs, args: &ScoreArgs) {
    args.run_logs.iter().for_each(|log| outputs.add_input(log));
    if let Some(path) = &args.how.result_file {
        outputs.add_appended("the result", path);
    }
    add_file(outputs, "the page", args.how.page.as_deref());
    gates::add_outputs(&args.gates, outputs);
    if let Some(path) = &args.how.steady_state_file {
        outputs.add_appended("the line about the steady part", path);
    }
}

fn add_comparison(outputs: &mut Outputs, args: &CompareArgs) {
    for path in args.sides().iter().flatten() {
        outputs.add_input(path);
    }
    add_file(outputs, "the page", args.page.as_deref());
    gates::add_outputs(&args.gates, outputs);
}

fn add_experiment(outputs: &mut Outputs, command: &SweepCommand) {
    let experiment = match command {
        SweepCommand::Serve(sweep) => &sweep.experiment,
        SweepCommand::Startup(sweep) => &sweep.experiment,
        _ => return,
    };
    if !experiment.dry_run {
        outputs.add_folder("the experiment", &experiment.folder);
    }
}
