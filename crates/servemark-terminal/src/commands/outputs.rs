//! The files that the commands of `servemark` write.

use std::path::Path;

use servemark::Outputs;
use servemark::plan::BenchPlan;
use servemark_cli::aisbench::{Reuse, Tasks};
use servemark_cli::one_batch::OneBatch;
use servemark_cli::vllm::sweep::SweepCommand;
use servemark_cli::{Command, CompareArgs, ScoreArgs};

use super::gates;
use crate::outputs::{add_file, add_inputs, add_run, check_outputs};

/// Checks the output files of a repeated run, whose log is an input.
pub(crate) fn check_rerun(plan: &BenchPlan, recorded: &Path) -> anyhow::Result<()> {
    let mut outputs = Outputs::of(plan);
    outputs.add_input(recorded);
    check_outputs(&outputs)
}

/// Adds the files that a command reads and writes.
pub(crate) fn add(command: &Command, outputs: &mut Outputs) {
    match command {
        Command::Ab(runs) | Command::Noise(runs) if runs.first.plan_only.is_none() => {
            add_inputs(outputs, &runs.first);
            outputs.add_folder("the run logs", runs.folder.path());
        }
        Command::Aisbench(tasks) => add_tasks(outputs, tasks),
        Command::Compare(args) => add_comparison(outputs, args),
        Command::Evalscope(runs) if runs.first.plan_only.is_none() => {
            outputs.add_folder("the results", &runs.folder);
        }
        Command::Explore(args) => gates::add_outputs(&args.gates, outputs),
        Command::Export(args) => {
            outputs.add_input(&args.run_log);
            if let Some(folder) = &args.parquet {
                outputs.add_folder("the tables", folder);
            }
            add_file(outputs, "the report", args.benchmark_report.as_deref());
        }
        Command::OneBatch(bench) if bench.common.plan_only.is_none() => add_batches(outputs, bench),
        Command::Score(args) => add_score(outputs, args),
        Command::Series(series) if series.first.plan_only.is_none() => {
            // The files of each run are checked when the points are known.
            add_inputs(outputs, &series.first);
            add_file(outputs, "the summary", series.summary.as_deref());
        }
        Command::TextSlices(slices) => outputs.add_file("the prompts", &slices.output),
        Command::VllmSweep(command) => add_experiment(outputs, command),
        _ => {}
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
