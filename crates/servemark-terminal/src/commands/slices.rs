//! Cuts a text into prompts and writes them to a file.

use std::fs;

use anyhow::Context;
use servemark::datasets::TextSlice;
use servemark::{ExitCode, cut_text};
use servemark_cli::vllm::TextSlices;

use crate::context;
use crate::documents;
use crate::run_screen::Bars;
use crate::screen;

/// Cuts a text and writes its prompts.
pub(crate) fn cut(slices: &TextSlices) -> anyhow::Result<ExitCode> {
    for warning in &slices.warnings {
        screen::eprint_line(&format!("warning: {warning}"));
    }
    let mut context = context::context(Bars::Shown)?;
    context.hub = slices.hub.clone();
    let prompts = cut_text(&slices.spec, slices.count, &slices.tokenizer, &context)?;
    let lines = prompts.iter().map(TextSlice::line).collect::<Result<String, _>>()?;
    let path = slices.output.display();
    fs::write(&slices.output, lines).with_context(|| format!("cannot write {path}"))?;
    documents::print_files(slices.json, std::slice::from_ref(&slices.output), true);
    screen::eprint_line(&format!("Wrote {} prompts to {path}", prompts.len()));
    Ok(ExitCode::Ok)
}
