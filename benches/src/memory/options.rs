//! Command line of the memory study.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, bail};

use super::Case;

/// Options of the memory study.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Number of streams that are open at once.
    pub streams: usize,
    /// Number of tokens of a run.
    pub tokens: u64,
    /// Folder of the run's file, which takes thirty bytes per token.
    pub folder: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self { streams: 10_000, tokens: 100_000_000, folder: std::env::temp_dir() }
    }
}

impl Options {
    /// Parses a command line, without the program's name.
    pub fn parse(args: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(flag) = args.next() {
            match flag.as_str() {
                "--folder" => options.folder = value(&flag, args.next())?,
                "--streams" => options.streams = value(&flag, args.next())?,
                "--tokens" => options.tokens = value(&flag, args.next())?,
                _ => bail!("there is no flag {flag}; {USAGE}"),
            }
        }
        Ok(options)
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        vec![
            Case::IdleStreams(self.streams),
            Case::KeptTokens(self.tokens),
            Case::ScoredTokens(self.tokens),
            Case::WrittenTokens(self.tokens, self.file()),
            Case::ReadTokens(self.tokens, self.file()),
        ]
    }

    pub(super) fn tidy_up(&self) {
        // If the study failed before this case, there is no file.
        let _ = fs::remove_file(self.file());
    }

    fn file(&self) -> PathBuf {
        self.folder.join("servemark-memory-study.jsonl")
    }
}

fn value<T: FromStr>(flag: &str, word: Option<String>) -> anyhow::Result<T> {
    let word = word.with_context(|| format!("{flag} needs a value; {USAGE}"))?;
    word.parse().ok().with_context(|| format!("{flag} cannot be {word:?}; {USAGE}"))
}

const USAGE: &str = "usage: memory [--streams N] [--tokens N] [--folder FOLDER]";
