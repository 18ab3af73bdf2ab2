//! Repeats a completed run from its log.

use servemark::core::RunLogReader;
use servemark::{ExecuteError, ExitCode};
use servemark_cli::Rerun;

use crate::{context, offline, outputs, report, screen};

/// Repeats the run of a log and reports it like any other run.
pub(crate) fn rerun(rerun: &Rerun) -> anyhow::Result<ExitCode> {
    let old = &rerun.recorded;
    let reader = RunLogReader::open(old)?;
    let parsed = rerun.parsed(reader.header())?;
    if parsed.plan_only.is_none() {
        screen::eprint_lines(&rerun.announcement(reader.header()));
    }
    let Some(context) = context::prepare(&parsed)? else { return Ok(ExitCode::Ok) };
    let plan = &parsed.plan;
    outputs::check_rerun(plan, old)?;
    let run = offline::run(plan, &context).inspect_err(|error| {
        if parsed.credentials.is_empty() && is_refusal(error) {
            screen::eprint_line(NO_KEY);
        }
    })?;
    let code = report::report(&run, &plan.scoring, &plan.output)?;
    if let Some(new) = &run.run_log {
        let [old, new] = [old, new].map(|path| path.display());
        screen::eprint_line(&format!("What changed: servemark compare {old} {new}"));
    }
    Ok(code)
}

fn is_refusal(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(ExecuteError::is_refusal)
}

const NO_KEY: &str = "A run log holds no key: if the server wants one, set OPENAI_API_KEY or give --header \
                      KEY=VALUE.";
