//! Search for the largest load that meets its objectives.

use servemark::{ExitCode, Probe, SloSearch};
use servemark_cli::SloRuns;

use crate::rewrite::{self, Rewrite};
use crate::run_table::{self, RunTable};
use crate::{context, failures, results_folder, screen};

/// Runs a search: prints a line per completed round, then a table of all loads and the result. The
/// exit code is 3 if not even the smallest load meets the objectives. If a round fails, the rounds
/// before it are reported.
pub(crate) fn search(runs: &SloRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = context::prepare(&runs.first)? else { return Ok(ExitCode::Ok) };
    let folder = runs.folder.as_ref().map(results_folder::create).transpose()?;
    let mut search = SloSearch::open(&runs.spec, folder.as_deref(), &context)?;
    let table = RunTable::new("the search", &runs.files, folder.as_deref());
    let searched = rounds(&table, &mut search);
    let answer = search.answer();
    if searched.is_ok() || !answer.trials.is_empty() {
        run_table::print(&runs.first, |format, out| answer.write(format, out))?;
        let written = table.keep(Rewrite::Whole, |format, out| answer.write(format, out));
        let written = rewrite::with_folder(written, folder.as_deref(), "--sweep-file");
        rewrite::both(&searched, written)?;
        results_folder::announce(folder.as_deref());
    }
    searched.map(|()| answer.exit_code())
}

/// Runs the rounds of a search and prints a line for each.
fn rounds<P: Probe>(table: &RunTable, search: &mut SloSearch<P>) -> anyhow::Result<()> {
    while let Some(round) = search.next() {
        let trial = round?;
        screen::eprint_line(&trial.to_string());
        trial.rounds.last().into_iter().for_each(|last| failures::note_metrics(&last.metrics));
        let answer = search.answer();
        table.keep(Rewrite::SoFar, |format, out| answer.write(format, out))?;
    }
    Ok(())
}
