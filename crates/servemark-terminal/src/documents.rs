//! Documents for scripts of commands that make several runs, or that write files.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use servemark::Scores;

use crate::screen;

/// The document of a command with several runs: one entry for each run, printed at the end if
/// `--json` asks for it.
#[derive(Debug)]
pub(crate) struct RunsDocument {
    /// Entries of the runs so far; `None` if no document is printed.
    runs: Option<Vec<Value>>,
}

impl RunsDocument {
    /// Creates a document without runs.
    pub(crate) fn new(is_printed: bool) -> Self {
        Self { runs: is_printed.then(Vec::new) }
    }

    /// Adds a run with the document that `servemark score --json` prints of it.
    pub(crate) fn add(&mut self, name: &str, scores: &Scores<'_>) -> anyhow::Result<()> {
        self.add_with(name, scores, None)
    }

    /// Adds a run, with the result in the form in which the peer's client writes it.
    pub(crate) fn add_with(
        &mut self,
        name: &str,
        scores: &Scores<'_>,
        peer_result: Option<Value>,
    ) -> anyhow::Result<()> {
        let Some(runs) = &mut self.runs else { return Ok(()) };
        let score: Value = serde_json::from_str(&of_run(scores)?)?;
        let mut entry = json!({"name": name, "score": score});
        if let Some(result) = peer_result {
            entry["peer_result"] = result;
        }
        runs.push(entry);
        Ok(())
    }

    /// Prints the document.
    pub(crate) fn print(self) {
        self.print_with(Map::new());
    }

    /// Prints the document with further keys of the command.
    pub(crate) fn print_with(self, more: Map<String, Value>) {
        let Some(runs) = self.runs else { return };
        let mut document = json!({"schema": "servemark/runs/1", "runs": runs});
        for (key, value) in more {
            document[key] = value;
        }
        print(&document);
    }
}

/// Prints the document of a command that writes files, if `--json` asks for it. `are_written` is
/// false after a dry run.
pub(crate) fn print_files(is_printed: bool, files: &[PathBuf], are_written: bool) {
    if is_printed {
        let paths: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        print(&json!({"schema": "servemark/files/1", "files": paths, "written": are_written}));
    }
}

/// Prints a document of JSON.
pub(crate) fn print(document: &Value) {
    screen::print_document(&format!("{document:#}\n"));
}

/// Returns the document of a run as text, which `summary.json` keeps and `--json` prints.
pub(crate) fn of_run(scores: &Scores<'_>) -> anyhow::Result<String> {
    screen::text(|out: &mut dyn io::Write| scores.write_json(out))
}

/// Writes the document of a command into the folder of its results.
pub(crate) fn keep(folder: &Path, document: &str) -> anyhow::Result<()> {
    Ok(servemark::replace_file(&folder.join("summary.json"), document.as_bytes())?)
}
