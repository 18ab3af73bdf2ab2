//! Checks all files that a command writes before it sends anything.

use std::path::{Path, PathBuf};

use servemark::plan::OutputSpec;
use servemark::{ExecuteError, Outputs};
use servemark_cli::{Invocation, Parsed, ResultsFolder};

/// Checks the output files of a command. `files_read` are files that its command line was read
/// from.
pub(crate) fn check(invocation: &Invocation, files_read: &[PathBuf]) -> anyhow::Result<()> {
    let mut outputs = of(invocation);
    for path in files_read {
        outputs.add_input(path);
    }
    check_outputs(&outputs)
}

pub(crate) fn check_outputs(outputs: &Outputs) -> anyhow::Result<()> {
    Ok(outputs.check().map_err(ExecuteError::from)?)
}

fn of(invocation: &Invocation) -> Outputs {
    let mut outputs = Outputs::default();
    match invocation {
        Invocation::Bench(parsed) => add_run(&mut outputs, parsed),
        #[cfg(feature = "commands")]
        Invocation::Command(command) => crate::commands::add_outputs(command, &mut outputs),
        Invocation::Offline(offline) => {
            add_run(&mut outputs, &offline.run);
            add_file(&mut outputs, "the result (--output-json)", offline.output_json.as_deref());
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
        _ => {}
    }
    outputs
}

pub(crate) fn add_run(outputs: &mut Outputs, parsed: &Parsed) {
    if parsed.plan_only.is_none() {
        outputs.add_plan(&parsed.plan);
    }
}

/// Adds the files that a run reads.
pub(crate) fn add_inputs(outputs: &mut Outputs, parsed: &Parsed) {
    let mut plan = parsed.plan.clone();
    plan.output = OutputSpec::default();
    outputs.add_plan(&plan);
}

pub(crate) fn add_file(outputs: &mut Outputs, what: &'static str, path: Option<&Path>) {
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
