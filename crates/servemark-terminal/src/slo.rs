//! A search for the largest load that keeps its objectives.

use std::fs;

use anyhow::Context;
use servemark::report::GridFormat;
use servemark::{ExitCode, SloAnswer, SloSearch};
use servemark_cli::SloRuns;

use crate::{screen, serve};

/// Searches: a line for each round that is done, then a table of all loads and the answer. Its exit
/// code is 3 if not even the smallest load holds.
pub(crate) fn search(runs: &SloRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = serve::prepare(&runs.first)? else { return Ok(ExitCode::Ok) };
    let mut search = SloSearch::open(&runs.spec, runs.folder.as_deref(), &context)?;
    for round in &mut search {
        screen::complain(&round?.to_string());
    }
    let answer = search.answer();
    screen::print(&written(&answer, GridFormat::Markdown)?);
    for (path, format) in &runs.files {
        fs::write(path, written(&answer, *format)?)
            .with_context(|| format!("cannot write the search to {}", path.display()))?;
    }
    if let Some(folder) = &runs.folder {
        screen::complain(&format!("Run logs: {}", folder.display()));
    }
    Ok(answer.exit_code())
}

fn written(answer: &SloAnswer, format: GridFormat) -> anyhow::Result<String> {
    screen::text(|out| answer.write(format, out))
}
