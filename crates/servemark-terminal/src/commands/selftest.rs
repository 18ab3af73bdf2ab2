//! Runs a self-test, prints it and stores its results.

use std::sync::Arc;

use servemark::{ExitCode, RunContext, Selftest, SelftestSpec, selftest, stop_on_signals};
use servemark_cli::SelftestArgs;

use crate::run_screen::{Bars, Screen};
use crate::screen;

/// Tests this machine. Results that cannot be stored are reported; the test is not affected.
pub(crate) fn test(args: &SelftestArgs) -> anyhow::Result<ExitCode> {
    let live = Arc::default();
    let mut context = RunContext::new(Arc::new(Screen::new(Bars::Hidden, Arc::clone(&live))));
    context.live = live;
    stop_on_signals(context.clone())?;
    let found = selftest(&spec(args), &context)?;
    if args.json {
        screen::print_document(&found.to_json());
    }
    screen::print(&screen::folded_lines(&found.to_string(), screen::columns()));
    keep(&found, args);
    Ok(verdict(&found, args))
}

fn spec(args: &SelftestArgs) -> SelftestSpec {
    SelftestSpec { streams: args.streams as usize, duration: args.duration }
}

fn keep(found: &Selftest, args: &SelftestArgs) {
    let Some(folder) = &args.cache else { return };
    match found.keep(folder) {
        Ok(path) => screen::eprint_line(&format!("Saved for later runs: {}", path.display())),
        Err(error) => {
            let folder = folder.display();
            screen::eprint_line(&format!("Could not keep the figures in {folder}: {error}"));
        }
    }
}

fn verdict(found: &Selftest, args: &SelftestArgs) -> ExitCode {
    let missed = |error: f64, most: Option<f64>| most.is_some_and(|most| error.abs() > most);
    let accuracy = &found.accuracy;
    let misses = missed(accuracy.p99_ttft_error_ms, args.require_ttft_error_ms)
        || missed(accuracy.p99_itl_error_ms, args.require_itl_error_ms);
    if misses { ExitCode::GateFailed } else { ExitCode::Ok }
}
