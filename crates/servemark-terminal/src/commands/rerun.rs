//! Repeats a completed run from its log.

use std::path::Path;

use servemark::core::{Header, RunLogReader};
use servemark::{ExecuteError, ExitCode, Scores};
use servemark_cli::Rerun;

use super::live_page::{self, RequestedPage};
use super::outputs::check_rerun;
use crate::report::RunOutput;
use crate::{context, offline, report, results_folder, screen};

/// Repeats the run of a log and reports it like any other run.
pub(crate) fn rerun(rerun: &Rerun) -> anyhow::Result<ExitCode> {
    let reader = RunLogReader::open(&rerun.recorded)?;
    let live = RequestedPage::open(rerun.live)?;
    let folder = rerun.folder().map(results_folder::new_empty).transpose()?;
    repeat(rerun, reader.header(), folder.as_deref(), live)
        .inspect_err(|_| folder.iter().for_each(|folder| results_folder::remove_if_empty(folder)))
}

fn repeat(
    rerun: &Rerun,
    header: &Header,
    folder: Option<&Path>,
    live: RequestedPage,
) -> anyhow::Result<ExitCode> {
    let parsed = rerun.parsed(header, folder)?;
    live_page::check(rerun.live, parsed.plan.output.run_log.as_deref())?;
    if parsed.plan_only.is_none() {
        screen::eprint_lines(&rerun.announcement(header));
    }
    let Some(mut context) = context::prepare_own(&parsed, rerun.quiet)? else {
        return Ok(ExitCode::Ok);
    };
    live.show_runs(&mut context);
    let plan = &parsed.plan;
    check_rerun(plan, &rerun.recorded)?;
    let run = offline::run(plan, &context).inspect_err(|error| {
        if parsed.credentials.is_empty() && is_refusal(error) {
            screen::eprint_line(NO_KEY);
        }
    })?;
    let scores = Scores::of_run(&run, &plan.scoring);
    let shown = RunOutput::summary_or(rerun.json, rerun.shows_tables);
    let code = report::show_and_keep(&run, &scores, &plan.output, folder, shown);
    live.finish(&scores, run.run_log.as_deref());
    if let Some(new) = &run.run_log {
        let [old, new] = [&rerun.recorded, new].map(|path| path.display());
        screen::eprint_line(&format!("What changed: servemark compare {old} {new}"));
    }
    code
}

fn is_refusal(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(ExecuteError::is_refusal)
}

const NO_KEY: &str = "A run log holds no key: if the server wants one, set OPENAI_API_KEY or give --header \
                      KEY=VALUE.";
