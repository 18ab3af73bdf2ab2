//! vLLM's scripted runs with their printed output and files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::vllm_golden::Golden;

pub(crate) struct Recorded {
    pub(crate) golden: Golden,
    pub(crate) left: RunOutput,
}

/// Output of a run.
#[derive(Deserialize)]
pub(crate) struct RunOutput {
    said: String,
    console: String,
    /// Files by name.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// The file, if there is only one.
    #[serde(default)]
    pub(crate) file: Option<File>,
    /// Arguments that the plotting libraries received.
    #[serde(default)]
    pub(crate) drawn: Value,
}

#[derive(Deserialize)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Recorded {
    /// Returns the runs of a folder.
    pub(crate) fn of(folder: &str) -> Vec<Self> {
        let read = |path: PathBuf| Self {
            golden: Golden::read(&path),
            left: serde_json::from_slice(&fs::read(path).unwrap()).unwrap(),
        };
        Golden::paths(folder).map(read).collect()
    }

    /// Returns a run with results by its name.
    pub(crate) fn from_name(name: &str) -> Self {
        Self::of("results").into_iter().find(|run| run.golden.name == name).unwrap()
    }
}

impl RunOutput {
    /// Returns the failures that were printed before the table.
    pub(crate) fn errors(&self) -> String {
        let Some(start) = self.said.find("Failed requests during") else { return String::new() };
        let errors = &self.said[start..];
        errors[..errors.find("tip: install").unwrap_or(errors.len())].to_owned()
    }

    /// Returns the table without the text about plots that follows it.
    pub(crate) fn table(&self) -> &str {
        let end = self.console.rfind("====\n").unwrap() + "====\n".len();
        &self.console[..end]
    }
}
