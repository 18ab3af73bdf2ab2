//! Arguments of `cargo xtask command-lines`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, bail};
use servemark_command_lines::{Line, Peer, from_name};

/// Usage of `cargo xtask command-lines`.
const USAGE: &str = "cargo xtask command-lines PEER --wheel DIR [--python FILE] [--count N] [--seed S] [--jobs J] [--only N,N,…] [--whole] [--record FILE], or PEER --replay FILE [--only N,N,…] [--whole]";

/// Parsed arguments of the task.
pub(super) struct Options {
    pub(super) name: String,
    pub(super) peer: &'static dyn Peer,
    /// Folder of the peer's unpacked wheel.
    pub(super) wheel: Option<PathBuf>,
    /// Python interpreter with the packages of the peer's client.
    pub(super) python: Option<PathBuf>,
    pub(super) count: u64,
    pub(super) seed: u64,
    /// Number of lines that run concurrently.
    pub(super) jobs: usize,
    /// Numbers of the lines to run; empty for all lines.
    pub(super) only: BTreeSet<u64>,
    /// Whether all output of the clients is printed.
    pub(super) is_whole: bool,
    /// File for the recording of the peer's client.
    pub(super) record: Option<PathBuf>,
    /// Recording that is replayed instead of drawing lines.
    pub(super) replay: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(words: &[&str]) -> anyhow::Result<Self> {
        let Some((name, words)) = words.split_first() else { bail!("usage: {USAGE}") };
        let peer = from_name(name).with_context(|| format!("{name} is no peer; usage: {USAGE}"))?;
        let mut options = Self {
            name: (*name).to_owned(),
            peer,
            wheel: None,
            python: None,
            count: 20,
            seed: 1,
            jobs: 8,
            only: BTreeSet::new(),
            is_whole: false,
            record: None,
            replay: None,
        };
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut next = || words.next().with_context(|| format!("{word}: which?"));
            match word {
                "--wheel" => options.wheel = Some(next()?.into()),
                "--python" => options.python = Some(next()?.into()),
                "--count" => options.count = next()?.parse()?,
                "--seed" => options.seed = next()?.parse()?,
                "--jobs" => options.jobs = next()?.parse()?,
                "--only" => {
                    let numbers = next()?.split(',').map(str::parse);
                    options.only = numbers.collect::<Result<_, _>>()?;
                }
                "--whole" => options.is_whole = true,
                "--record" => options.record = Some(next()?.into()),
                "--replay" => options.replay = Some(next()?.into()),
                _ => bail!("{word:?} is not known; usage: {USAGE}"),
            }
        }
        Ok(options)
    }

    /// Returns the selected lines of a recording.
    pub(super) fn keep(&self, mut lines: Vec<Line>) -> Vec<Line> {
        lines.retain(|line| self.only.is_empty() || self.only.contains(&line.n));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let words = ["sglang", "--count", "5", "--only", "1,3", "--seed", "9"];
        let options = Options::parse(&words).unwrap();
        assert_eq!((options.count, options.seed), (5, 9));
        assert_eq!(options.only, [1, 3].into());
    }

    #[test]
    fn what_is_unknown_is_told_the_usage() {
        for words in [&[][..], &["tgi"], &["sglang", "--often"]] {
            let error = Options::parse(words).err().unwrap().to_string();
            assert!(error.ends_with(USAGE), "{error}");
        }
        assert!(Options::parse(&["sglang", "--count"]).is_err());
    }
}
