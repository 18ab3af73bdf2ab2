//! The files of several runs, rewritten whenever one more of them is done.

use std::path::Path;

use anyhow::Context;
use servemark::{is_replaceable, replace_file};

use crate::screen;

/// Whether more runs follow. A file that cannot be written ends a command only after its last run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rewrite {
    /// More runs may follow.
    SoFar,
    /// All runs are done.
    Whole,
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
