//! Files about several runs, which are rewritten after each run.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use servemark::page::GridFormat;
use servemark::{is_replaceable, replace_file};

use crate::results::quoted;
use crate::screen;

/// Whether more runs follow. A file that cannot be written fails a command only after its last run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rewrite {
    /// More runs may follow.
    SoFar,
    /// All runs are done.
    Whole,
}

/// Adds to the error of a final table the command that makes it again from the run logs of a sweep
/// or a search.
pub(crate) fn with_folder(
    written: anyhow::Result<()>,
    run_logs: Option<&Path>,
    file_flag: &str,
) -> anyhow::Result<()> {
    written.map_err(|error| match run_logs {
        Some(folder) => anyhow!(
            "{error:#}; the run logs are in {}, and the same command line with --sweep-folder {} and \
             a {file_flag} that can be written makes the table of them, measuring only what is \
             missing",
            folder.display(),
            quoted(folder)
        ),
        None => anyhow!("{error:#}; the runs have no logs to make it of"),
    })
}

/// Adds to the error of a final table the command that prints the metrics of each of its runs.
pub(crate) fn with_logs<'a>(
    written: anyhow::Result<()>,
    run_logs: impl IntoIterator<Item = Option<&'a Path>>,
    how: &str,
) -> anyhow::Result<()> {
    written.map_err(|error| {
        let commands: Vec<String> = run_logs
            .into_iter()
            .flatten()
            .map(|path| format!("\n  servemark score {} {how}", quoted(path)))
            .collect();
        if commands.is_empty() {
            return anyhow!("{error:#}; the runs have no logs to make it of");
        }
        anyhow!("{error:#}; these print the numbers of each run from its log:{}", commands.concat())
    })
}

/// Returns the error of a table of runs that ended without an error. If the runs ended with one,
/// that is the error to return, and the table's is only printed.
pub(crate) fn both<T>(runs: &anyhow::Result<T>, table: anyhow::Result<()>) -> anyhow::Result<()> {
    match table {
        Err(error) if runs.is_err() => {
            screen::eprint_line(&format!("error: {error:#}"));
            Ok(())
        }
        table => table,
    }
}

impl Rewrite {
    /// Replaces each file by the results of all completed runs in its format. If one cannot be
    /// written, the others still are.
    pub(crate) fn files(
        self,
        files: &[(PathBuf, GridFormat)],
        what: &str,
        content: impl Fn(GridFormat) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let write = |(path, format): &(PathBuf, GridFormat)| {
            content(*format).and_then(|content| self.file(path, what, &content))
        };
        files.iter().map(write).fold(Ok(()), anyhow::Result::and)
    }

    /// Replaces a file by the results of all completed runs. `what` names the content in an error.
    pub(crate) fn file(self, path: &Path, what: &str, content: &str) -> anyhow::Result<()> {
        if self == Self::SoFar && !is_replaceable(path) {
            return Ok(());
        }
        let written = replace_file(path, content.as_bytes())
            .with_context(|| format!("cannot write {what} to {}", path.display()));
        match (self, written) {
            (Self::SoFar, Err(error)) => {
                screen::eprint_line(&format!("warning: {error:#}; the runs go on"));
                Ok(())
            }
            (_, written) => written,
        }
    }
}
