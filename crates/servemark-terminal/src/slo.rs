//! Search for the largest load that meets its objectives.

use servemark::page::GridFormat;
use servemark::{ExitCode, SloAnswer, SloSearch};
use servemark_cli::SloRuns;

use crate::rewrite::{self, Rewrite};
use crate::{failures, screen, serve};

/// Runs a search: prints a line per completed round, then a table of all loads and the result. The
/// exit code is 3 if not even the smallest load meets the objectives.
pub(crate) fn search(runs: &SloRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = serve::prepare(&runs.first)? else { return Ok(ExitCode::Ok) };
    let mut search = SloSearch::open(&runs.spec, runs.folder.as_deref(), &context)?;
    while let Some(round) = search.next() {
        let trial = round?;
        screen::eprint_line(&trial.to_string());
        trial.rounds.last().into_iter().for_each(|last| failures::note_metrics(&last.metrics));
        write_files(runs, &search.answer(), Rewrite::SoFar)?;
    }
    let answer = search.answer();
    screen::print(&written(&answer, GridFormat::Markdown)?);
    let files = write_files(runs, &answer, Rewrite::Whole);
    rewrite::with_folder(files, runs.folder.as_deref(), "--sweep-file")?;
    if let Some(folder) = &runs.folder {
        screen::eprint_line(&format!("Run logs: {}", folder.display()));
    }
    Ok(answer.exit_code())
}

fn write_files(runs: &SloRuns, answer: &SloAnswer, rewrite: Rewrite) -> anyhow::Result<()> {
    runs.files
        .iter()
        .try_for_each(|(path, format)| rewrite.file(path, "the search", &written(answer, *format)?))
}

fn written(answer: &SloAnswer, format: GridFormat) -> anyhow::Result<String> {
    screen::text(|out| answer.write(format, out))
}
