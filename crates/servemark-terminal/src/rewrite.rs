//! The files of several runs, rewritten whenever one more of them is done.

use std::path::Path;

use anyhow::{Context, anyhow};
use servemark::{is_replaceable, replace_file};

use crate::results::quoted;
use crate::screen;

/// Whether more runs follow. A file that cannot be written ends a command only after its last run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rewrite {
    /// More runs may follow.
    SoFar,
    /// All runs are done.
    Whole,
}

/// Says of a table that could not be written at the end how it is made again from the run logs of
/// a sweep or a search.
pub(crate) fn with_cure(
    written: anyhow::Result<()>,
    run_logs: Option<&Path>,
) -> anyhow::Result<()> {
    written.map_err(|error| match run_logs {
        Some(folder) => anyhow!(
            "{error:#}; the runs are whole in {}, and the same command line with \
             --sweep-folder {} and a --sweep-file that can be written makes the table of them, \
             measuring nothing again",
            folder.display(),
            quoted(folder)
        ),
        None => anyhow!("{error:#}; the runs have no logs to make it of"),
    })
}

/// Says of a table that could not be written at the end which command prints the numbers of each of
/// its runs.
pub(crate) fn with_logs<'a>(
    written: anyhow::Result<()>,
    run_logs: impl IntoIterator<Item = Option<&'a Path>>,
) -> anyhow::Result<()> {
    written.map_err(|error| {
        let commands: Vec<String> = run_logs
            .into_iter()
            .flatten()
            .map(|path| format!("\n  servemark score {} --json", quoted(path)))
            .collect();
        if commands.is_empty() {
            return anyhow!("{error:#}; the runs have no logs to make it of");
        }
        anyhow!(
            "{error:#}; the runs are whole, and these print the numbers of each:{}",
            commands.concat()
        )
    })
}

impl Rewrite {
    /// Replaces a file by the results of all runs that are done. `what` names the content in an error.
    pub(crate) fn file(self, path: &Path, what: &str, content: &str) -> anyhow::Result<()> {
        if self == Self::SoFar && !is_replaceable(path) {
            return Ok(());
        }
        let written = replace_file(path, content.as_bytes())
            .with_context(|| format!("cannot write {what} to {}", path.display()));
        match (self, written) {
            (Self::SoFar, Err(error)) => {
                screen::complain(&format!("warning: {error:#}; the runs go on"));
                Ok(())
            }
            (_, written) => written,
        }
    }
}
