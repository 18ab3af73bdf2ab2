//! One run of a command line, with the messages of its dialect.

use std::sync::Arc;

use servemark::plan::ServerSpec;
use servemark::{ExitCode, RunContext, Scores, execute};
use servemark_cli::{Parsed, PeerArguments};

use crate::context::prepare;
use crate::report::RunOutput;
use crate::run_screen::{Bars, Screen};
use crate::{report, results_folder, screen};

/// Executes one run and reports it.
pub(crate) fn bench(parsed: &Parsed) -> anyhow::Result<ExitCode> {
    results_folder::run_in(parsed, |parsed, folder| {
        let Some(context) = prepare(parsed)? else { return Ok(ExitCode::Ok) };
        let context = as_peer(context, parsed);
        let run = execute(&parsed.plan, &context)?;
        let scores = Scores::of_run(&run, &parsed.plan.scoring);
        let shown = RunOutput::tables_of(parsed);
        report::show_and_keep(&run, &scores, &parsed.plan.output, folder, shown)
    })
}

/// Prints the arguments as the peer's client does, on standard output, followed by the client's
/// messages. For a simulated run they are printed once the simulator listens, with its address.
fn as_peer(mut context: RunContext, parsed: &Parsed) -> RunContext {
    let screen = Screen::new(Bars::of(parsed), Arc::clone(&context.live));
    let (label, arguments, screen) = match &parsed.peer_arguments {
        Some(PeerArguments::Sglang { given, settled }) => {
            ("benchmark_args=", given, screen.in_sglangs_words(settled, &parsed.plan))
        }
        Some(PeerArguments::Vllm(arguments)) => ("", arguments, screen.about(parsed)),
        _ => return context,
    };
    let screen = if matches!(parsed.plan.server, ServerSpec::Simulated(_)) {
        screen.with_arguments(label, arguments)
    } else {
        screen::print_line(&format!("{label}{arguments}"));
        screen
    };
    context.observer = Arc::new(screen);
    context
}
