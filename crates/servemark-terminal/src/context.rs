//! The context of a command's runs.

use std::sync::Arc;

use servemark::{RunContext, stop_on_signals};
use servemark_cli::Parsed;

use crate::run_screen::{Bars, Screen};
use crate::{cluster, screen};

/// Returns the context of one or more runs; `None` if the plan was only to be printed, which is
/// done here.
pub(crate) fn prepare(parsed: &Parsed) -> anyhow::Result<Option<RunContext>> {
    for warning in &parsed.warnings {
        screen::eprint_line(&format!("warning: {warning}"));
    }
    if let Some(plan) = parsed.printed_plan() {
        screen::print(&plan.map_err(anyhow::Error::msg)?);
        return Ok(None);
    }
    let context = with_settings(&context(Bars::of(parsed))?, parsed);
    Ok(Some(with_screen(context, parsed)))
}

/// Returns the context of a run of one of Servemark's own commands, which displays live figures
/// unless it is `quiet`; `None` if the plan was only to be printed, which is done here.
pub(crate) fn prepare_own(parsed: &Parsed, quiet: bool) -> anyhow::Result<Option<RunContext>> {
    let Some(mut context) = prepare(parsed)? else { return Ok(None) };
    let screen = Screen::new(Bars::of(parsed), Arc::clone(&context.live));
    let screen = if quiet { screen.quiet() } else { screen.with_live_figures(&parsed.plan) };
    context.observer = Arc::new(screen);
    Ok(Some(context))
}

/// Returns the context of runs that are watched at this terminal and can be stopped with Ctrl-C.
pub(crate) fn context(bars: Bars) -> anyhow::Result<RunContext> {
    let live = Arc::default();
    let screen = Screen::new(bars, Arc::clone(&live));
    let mut context = RunContext::new(Arc::new(screen));
    context.live = live;
    context.ranks = cluster::ranks();
    stop_on_signals(context.clone())?;
    Ok(context)
}

/// Adds the settings of a command line to a context.
pub(crate) fn with_settings(context: &RunContext, parsed: &Parsed) -> RunContext {
    let mut context = context.clone();
    context.credentials = parsed.credentials.clone();
    context.hub = parsed.hub.clone();
    context.cache.clone_from(&parsed.cache);
    context.grace.set(parsed.grace);
    context
}

/// Adds a screen that prints the messages of the command line's dialect.
pub(crate) fn with_screen(mut context: RunContext, parsed: &Parsed) -> RunContext {
    let screen = Screen::new(Bars::of(parsed), Arc::clone(&context.live)).about(parsed);
    context.observer = Arc::new(screen);
    context
}
