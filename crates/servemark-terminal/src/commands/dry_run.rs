//! The prompts of a serving benchmark, drawn and not sent.

use serde_json::json;
use servemark::{DryRun, ExitCode, dry_run};
use servemark_cli::Parsed;

use crate::context::prepare;
use crate::{documents, screen};

/// Prints the requests that would be sent, in the format of vLLM's Rust client.
pub(crate) fn print(parsed: &Parsed) -> anyhow::Result<ExitCode> {
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
