//! Runs what a file describes, and keeps the results in a folder.

use std::path::{Path, PathBuf};

use servemark::{ExitCode, Outputs, RunContext, Scores, local_faults};
use servemark_cli::{CliError, FileRun, Parsed};

use super::gates;
use super::live_page::{self, RequestedPage};
use crate::report::RunOutput;
use crate::{context, documents, offline, report, results, results_folder, rewrite, screen};

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
    screen::eprint_line(&format!("error: {}", not_run(requested)));
    for fault in faults {
        screen::eprint_line(&listed(fault));
    }
    ExitCode::Usage
}

/// Begins the list of the faults of a file.
fn not_run(requested: &FileRun) -> String {
    format!("{} is not run:", requested.file.display())
}

fn listed(fault: &str) -> String {
    format!("  - {fault}")
}

/// Results of a run that another program than ours has asked for.
#[derive(Debug)]
pub struct KeptRun {
    /// Folder with the page, the summary and, unless the plan names another place, the run log.
    pub folder: PathBuf,
    /// Path of the run log; `None` if the run has none.
    pub run_log: Option<PathBuf>,
    /// Summary: the document that `servemark run --json` prints.
    pub summary: String,
    /// Exit code with which `servemark run` ends.
    pub exit_code: ExitCode,
}

/// Runs what a file or a document describes, and keeps the results in the folder of the run as
/// `servemark run` does. It prints no tables and handles no signals: `context` has the observer of
/// the run and the handle that stops it.
///
/// # Errors
///
/// Returns an error with a line for each fault if the plan or the machine does not allow the run;
/// [`exit_code_of`](crate::exit_code_of) tells the kinds of errors apart.
pub fn run_into_folder(requested: &FileRun, context: &RunContext) -> anyhow::Result<KeptRun> {
    let faults = faults(requested);
    let (Some(parsed), true) = (&requested.parsed, faults.is_empty()) else {
        let lines = faults.iter().map(|fault| listed(fault));
        let lines: Vec<String> = std::iter::once(not_run(requested)).chain(lines).collect();
        return Err(CliError::FaultyFile(lines.join("\n")).into());
    };
    let folder = results_folder::new_empty(&requested.folder)?;
    keep_run(parsed, &folder, context).inspect_err(|_| results_folder::remove_if_empty(&folder))
}

fn keep_run(parsed: &Parsed, folder: &Path, context: &RunContext) -> anyhow::Result<KeptRun> {
    let mut parsed = parsed.clone();
    parsed.keep_in(folder);
    let plan = &parsed.plan;
    let run = offline::run(plan, &context::with_settings(context, &parsed))?;
    let scores = Scores::of_run(&run, &plan.scoring);
    let summary = documents::of_run(&scores)?;
    report::keep_in_folder(&run, &scores, &summary, folder)?;
    let run_log = run.run_log.clone();
    results::write(&scores, &plan.output, run.sent.as_ref(), run_log.as_deref())
        .into_result(run_log.as_deref())?;
    report::check_whole(&run)?;
    let (folder, exit_code) = (folder.to_owned(), scores.exit_code());
    Ok(KeptRun { folder, run_log, summary, exit_code })
}
