//! vLLM's scripted runs with what it printed and left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::vllm_golden::Golden;

pub(crate) struct Recorded {
    pub(crate) golden: Golden,
    pub(crate) left: Left,
}

/// What a run left.
#[derive(Deserialize)]
pub(crate) struct Left {
    said: String,
    console: String,
    /// Its files by their names.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Its only file.
    #[serde(default)]
    pub(crate) file: Option<File>,
    /// What the libraries that draw were given.
    #[serde(default)]
    pub(crate) drawn: Value,
}

#[derive(Deserialize)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Recorded {
    /// The runs of a folder.
    pub(crate) fn of(folder: &str) -> Vec<Self> {
        let read = |path: PathBuf| Self {
            golden: Golden::read(&path),
            left: serde_json::from_slice(&fs::read(path).unwrap()).unwrap(),
        };
        Golden::paths(folder).map(read).collect()
    }

    /// A run with results.
    pub(crate) fn named(name: &str) -> Self {
        Self::of("results").into_iter().find(|run| run.golden.name == name).unwrap()
    }
}

impl Left {
    /// What it printed of failures, before the table and among other things.
    pub(crate) fn errors(&self) -> String {
        let Some(start) = self.said.find("Failed requests during") else { return String::new() };
        let errors = &self.said[start..];
        errors[..errors.find("tip: install").unwrap_or(errors.len())].to_owned()
    }

    /// Its table, without what it said of plots after that.
    pub(crate) fn table(&self) -> &str {
        let end = self.console.rfind("====\n").unwrap() + "====\n".len();
        &self.console[..end]
    }
}
