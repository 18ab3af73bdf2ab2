//! One run of a command line, with the messages of its dialect.

use std::sync::Arc;

use serde_json::json;
use servemark::plan::ServerSpec;
use servemark::{DryRun, ExitCode, RunContext, Scores, dry_run, execute};
use servemark_cli::{Parsed, PeerArguments};

use crate::context::prepare;
use crate::report::RunOutput;
use crate::run_screen::{Bars, Screen};
use crate::{documents, report, results_folder, screen};

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

/// Prints the requests that would be sent, in the format of vLLM's Rust client.
pub(crate) fn dry(parsed: &Parsed) -> anyhow::Result<ExitCode> {
    let Some(context) = prepare(parsed)? else { return Ok(ExitCode::Ok) };
    let DryRun { requests, input_tokens, output_tokens, .. } = dry_run(&parsed.plan, &context)?;
    let each = |tokens: u64| tokens as f64 / requests.max(1) as f64;
    screen::print(&format!(
        "Dry run stats:\n  Total prompts: {requests}\n  Total input tokens: {input_tokens}\n  \
         Total expected output tokens: {output_tokens}\n  Avg input tokens: {:.1}\n  \
         Avg output tokens: {:.1}\n",
        each(input_tokens),
        each(output_tokens),
    ));
    if parsed.json {
        documents::print(&json!({
            "schema": "servemark/dry-run/1",
            "requests": requests,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
        }));
    }
    Ok(ExitCode::Ok)
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
