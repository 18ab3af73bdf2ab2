//! What a command line asked for, done.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use servemark::core::{RunLog, RunLogError};
use servemark::plan::{OutputSpec, ScoringSpec};
use servemark::{
    ExecuteError, ExitCode, Run, RunContext, Scores, execute, stop_on_ctrl_c, verdict,
};
use servemark_cli::{Invocation, Parsed, ScoreArgs};

use crate::screen::{self, Screen};

/// Does what was asked for and says how it went.
pub(crate) fn invoked(invocation: Invocation) -> ExitCode {
    let done = match invocation {
        Invocation::Sglang(parsed) => bench(*parsed),
        Invocation::Score(args) => score(&args),
        _ => unreachable!("every invocation is served"),
    };
    done.unwrap_or_else(|error| {
        screen::complain(&format!("error: {error:#}"));
        exit_code(&error)
    })
}

fn bench(parsed: Parsed) -> anyhow::Result<ExitCode> {
    for warning in &parsed.warnings {
        screen::complain(&format!("warning: {warning}"));
    }
    if parsed.plan_only {
        screen::print(&format!("{:#}\n", parsed.plan.to_json()));
        return Ok(ExitCode::Ok);
    }
    let live = Arc::default();
    let screen = Screen::new(parsed.progress, Arc::clone(&live));
    let mut context = RunContext::new(Arc::new(screen));
    context.live = live;
    context.credentials = parsed.credentials;
    context.hub = parsed.hub;
    stop_on_ctrl_c(context.clone())?;
    let run = execute(&parsed.plan, &context)?;
    report(&run, &parsed.plan.scoring, &parsed.plan.output)
}

fn report(run: &Run, scoring: &ScoringSpec, output: &OutputSpec) -> anyhow::Result<ExitCode> {
    publish(&Scores::of(&run.log, scoring), output)?;
    if let Some(error) = &run.run_log_error {
        bail!("{error:#}; the report above is whole and the file is not");
    }
    if let Some(path) = &run.run_log {
        screen::complain(&format!("Run log: {}", path.display()));
    }
    Ok(verdict(&run.log, scoring))
}

fn score(args: &ScoreArgs) -> anyhow::Result<ExitCode> {
    let log = RunLog::read(&args.run_log)?;
    let scoring = args.scoring(servemark::scoring_of(&log).unwrap_or_default());
    publish(&Scores::of(&log, &scoring), &args.output())?;
    Ok(ExitCode::Ok)
}

/// The tables first: whatever fails after them, the numbers were shown.
fn publish(scores: &Scores<'_>, output: &OutputSpec) -> anyhow::Result<()> {
    let mut tables = Vec::new();
    scores.write_tables(&mut tables)?;
    screen::print_bytes(&tables);
    if let Some(path) = &output.result_file {
        let appended = scores.append_result(output.details, path);
        appended.with_context(|| cannot_append("the result", path))?;
    }
    if let Some(path) = &output.steady_state_file {
        let appended = scores.append_steady_state(path);
        if !appended.with_context(|| cannot_append("the steady state", path))? {
            screen::complain("There is no steady state to write of: no request succeeded.");
        }
    }
    Ok(())
}

fn cannot_append(what: &str, path: &Path) -> String {
    format!("cannot append {what} to {}", path.display())
}

/// A run that did not come to its report knows its code; all else is the machine's or the user's.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    let of_run = error.downcast_ref::<ExecuteError>().map(ExecuteError::exit_code);
    let of_log = error.downcast_ref::<RunLogError>().map(|_| ExitCode::Usage);
    of_run.or(of_log).unwrap_or(ExitCode::Internal)
}
