//! Search for the largest load that meets its objectives.

use std::path::PathBuf;

use servemark::page::GridFormat;
use servemark::{ExitCode, Probe, SloAnswer, SloSearch};
use servemark_cli::SloRuns;

use crate::rewrite::{self, Rewrite};
use crate::{context, failures, results_folder, screen};

/// Runs a search: prints a line per completed round, then a table of all loads and the result. The
/// exit code is 3 if not even the smallest load meets the objectives. If a round fails, the rounds
/// before it are reported.
pub(crate) fn search(runs: &SloRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = context::prepare(&runs.first)? else { return Ok(ExitCode::Ok) };
    let folder = runs.folder.as_ref().map(results_folder::create).transpose()?;
    let mut search = SloSearch::open(&runs.spec, folder.as_deref(), &context)?;
    let files = results_folder::with_kept(&runs.files, folder.as_deref());
    let searched = rounds(&files, &mut search);
    let answer = search.answer();
    if searched.is_ok() || !answer.trials.is_empty() {
        screen::print(&grid_text(&answer, results_folder::printed_format(&runs.first))?);
        let written = write_files(&files, &answer, Rewrite::Whole);
        let written = rewrite::with_folder(written, folder.as_deref(), "--sweep-file");
        rewrite::both(&searched, written)?;
        results_folder::announce(folder.as_deref());
    }
    searched.map(|()| answer.exit_code())
}

/// Runs the rounds of a search and prints a line for each.
fn rounds<P: Probe>(
    files: &[(PathBuf, GridFormat)],
    search: &mut SloSearch<P>,
) -> anyhow::Result<()> {
    while let Some(round) = search.next() {
        let trial = round?;
        screen::eprint_line(&trial.to_string());
        trial.rounds.last().into_iter().for_each(|last| failures::note_metrics(&last.metrics));
        write_files(files, &search.answer(), Rewrite::SoFar)?;
    }
    Ok(())
}

fn write_files(
    files: &[(PathBuf, GridFormat)],
    answer: &SloAnswer,
    rewrite: Rewrite,
) -> anyhow::Result<()> {
    rewrite.files(files, "the search", |format| grid_text(answer, format))
}

fn grid_text(answer: &SloAnswer, format: GridFormat) -> anyhow::Result<String> {
    screen::text(|out| answer.write(format, out))
}
