//! Runs what a file describes, and keeps the results in a folder.

use std::path::Path;

use servemark::{ExitCode, Outputs, Scores, local_faults};
use servemark_cli::{FileRun, Parsed};

use crate::live_page::{self, RequestedPage};
use crate::report::RunOutput;
use crate::{context, gates, offline, report, results_folder, rewrite, screen};

/// Runs the plan of a file. All faults that this machine can find are reported together.
pub(crate) fn run(requested: &FileRun) -> anyhow::Result<ExitCode> {
    let (live, refused) = match RequestedPage::open(requested.live) {
        Ok(live) => (live, None),
        Err(error) => (RequestedPage::default(), Some(error.to_string())),
    };
    let faults: Vec<String> = faults(requested).into_iter().chain(refused).collect();
    let (Some(parsed), true) = (&requested.parsed, faults.is_empty()) else {
        return Ok(refuse(requested, &faults));
    };
    if parsed.plan_only.is_some() {
        return context::prepare(parsed).map(|_| ExitCode::Ok);
    }
    let folder = results_folder::new_empty(&requested.folder)?;
    run_once(requested, parsed, &folder, live)
        .inspect_err(|_| results_folder::remove_if_empty(&folder))
}

fn run_once(
    requested: &FileRun,
    parsed: &Parsed,
    folder: &Path,
    live: RequestedPage,
) -> anyhow::Result<ExitCode> {
    let mut parsed = parsed.clone();
    parsed.keep_in(folder);
    let Some(mut context) = context::prepare_own(&parsed, requested.quiet)? else {
        return Ok(ExitCode::Ok);
    };
    live.show_runs(&mut context);
    let plan = &parsed.plan;
    let run = offline::run(plan, &context)?;
    let scores = Scores::of_run(&run, &plan.scoring);
    let shown = RunOutput::summary_or(parsed.json, requested.shows_tables);
    let code = report::show_and_keep(&run, &scores, &plan.output, Some(folder), shown);
    let title = requested.file.display().to_string();
    let gated = gates::write(&scores.gate_report(&title), &requested.gates);
    live.finish(&scores, run.run_log.as_deref());
    rewrite::both(&code, gated)?;
    code
}

/// Returns a line for each fault of the file, of the options, of inputs and of outputs.
fn faults(requested: &FileRun) -> Vec<String> {
    let mut faults = requested.faults.clone();
    let is_run = |parsed: &&Parsed| parsed.plan_only.is_none();
    if let Some(parsed) = &requested.parsed.as_ref().filter(is_run) {
        let local = local_faults(&parsed.plan).into_iter();
        faults.extend(local.map(|fault| format!("{:#}", anyhow::Error::from(fault))));
        let refused = live_page::check(requested.live, parsed.plan.output.run_log.as_deref());
        faults.extend(refused.err().map(|error| error.to_string()));
    }
    if requested.parsed.as_ref().is_none_or(|parsed| is_run(&parsed)) {
        faults.extend(results_folder::refusal(&requested.folder).map(|error| format!("{error:#}")));
    }
    let mut outputs = Outputs::default();
    gates::add_outputs(&requested.gates, &mut outputs);
    faults.extend(outputs.check().err().map(|error| format!("{:#}", anyhow::Error::from(error))));
    faults
}

fn refuse(requested: &FileRun, faults: &[String]) -> ExitCode {
    screen::eprint_line(&format!("error: {} is not run:", requested.file.display()));
    for fault in faults {
        screen::eprint_line(&format!("  - {fault}"));
    }
    ExitCode::Usage
}
