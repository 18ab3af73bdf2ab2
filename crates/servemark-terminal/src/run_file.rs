//! Runs what a file describes, and keeps the results in a folder.

use std::path::Path;

use servemark::{ExitCode, Outputs, Run, Scores, local_faults, replace_file};
use servemark_cli::{FileRun, Parsed};

use crate::{context, gates, offline, report, results, results_folder, screen};

/// Runs the plan of a file. All faults that are known on this machine are told together.
pub(crate) fn run(asked: &FileRun) -> anyhow::Result<ExitCode> {
    let faults = faults(asked);
    let (Some(parsed), true) = (&asked.parsed, faults.is_empty()) else {
        return Ok(refuse(asked, &faults));
    };
    if parsed.plan_only.is_some() {
        return context::prepare(parsed).map(|_| ExitCode::Ok);
    }
    let folder = results_folder::new_empty(&asked.folder)?;
    run_once(asked, parsed, &folder).inspect_err(|_| results_folder::remove_if_empty(&folder))
}

fn run_once(asked: &FileRun, parsed: &Parsed, folder: &Path) -> anyhow::Result<ExitCode> {
    let mut parsed = parsed.clone();
    FileRun::keep_in(&mut parsed, folder);
    let Some(context) = context::prepare_own(&parsed, asked.quiet)? else {
        return Ok(ExitCode::Ok);
    };
    let plan = &parsed.plan;
    let run = offline::run(plan, &context)?;
    let scores = Scores::of_run(&run, &plan.scoring);
    if asked.json {
        screen::print(&screen::text(|out| scores.write_json(out))?);
    } else {
        report::show(&scores)?;
    }
    let kept = keep_in_folder(&run, &scores, folder);
    let title = asked.file.display().to_string();
    let gated = gates::write(&scores.gate_report(&title), &asked.gates);
    let code = report::keep(&run, &scores, &plan.output);
    kept.and(gated)?;
    code
}

/// Writes the page and the summary of a run into its folder.
pub(crate) fn keep_in_folder(run: &Run, scores: &Scores<'_>, folder: &Path) -> anyhow::Result<()> {
    results::write_page(scores, run.run_log.as_deref(), &folder.join("report.html"))?;
    let summary = screen::text(|out| scores.write_json(out))?;
    replace_file(&folder.join("summary.json"), summary.as_bytes())?;
    screen::eprint_line(&format!("Results: {}", folder.display()));
    Ok(())
}

/// Returns a line for each fault of the file, of the options, of inputs and of outputs.
fn faults(asked: &FileRun) -> Vec<String> {
    let mut faults = asked.faults.clone();
    let is_run = |parsed: &&Parsed| parsed.plan_only.is_none();
    if let Some(parsed) = &asked.parsed.as_ref().filter(is_run) {
        let local = local_faults(&parsed.plan).into_iter();
        faults.extend(local.map(|fault| format!("{:#}", anyhow::Error::from(fault))));
    }
    if asked.parsed.as_ref().is_none_or(|parsed| is_run(&parsed)) {
        faults.extend(results_folder::refusal(&asked.folder).map(|error| format!("{error:#}")));
    }
    let mut outputs = Outputs::default();
    gates::add_outputs(&asked.gates, &mut outputs);
    faults.extend(outputs.check().err().map(|error| format!("{:#}", anyhow::Error::from(error))));
    faults
}

fn refuse(asked: &FileRun, faults: &[String]) -> ExitCode {
    screen::eprint_line(&format!("error: {} is not run:", asked.file.display()));
    for fault in faults {
        screen::eprint_line(&format!("  - {fault}"));
    }
    ExitCode::Usage
}
