//! Command line of the preparation study.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Context, bail};

/// Options of the preparation study.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Words one of which a case's name must contain; if empty, all cases are measured.
    pub only: Vec<String>,
    /// Size of the cases, as a share of their full size.
    pub scale: f64,
    /// Folder of the cases' files.
    pub folder: PathBuf,
    /// SGLang's client; if absent, only Servemark is measured.
    pub peer: Option<Peer>,
}

/// An installation of SGLang's client.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Python interpreter with the packages that the client needs.
    pub python: PathBuf,
    /// Folder of the unpacked wheel.
    pub wheel: PathBuf,
}

impl Options {
    /// Parses a command line, without the program's name.
    pub fn parse(args: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let (mut python, mut wheel) = (None, None);
        let mut args = args.into_iter();
        while let Some(flag) = args.next() {
            let mut value =
                || args.next().with_context(|| format!("{flag} needs a value; {USAGE}"));
            match flag.as_str() {
                "--folder" => options.folder = value()?.into(),
                "--only" => options.only.push(value()?),
                "--python" => python = Some(value()?.into()),
                "--scale" => options.scale = scale(&value()?)?,
                "--wheel" => wheel = Some(value()?.into()),
                _ => bail!("there is no flag {flag}; {USAGE}"),
            }
        }
        options.peer = match (python, wheel) {
            (Some(python), Some(wheel)) => Some(Peer { python, wheel }),
            (None, None) => None,
            _ => bail!("--python and --wheel need each other; {USAGE}"),
        };
        Ok(options)
    }

    /// Returns whether a case is to be measured.
    pub fn asks_for(&self, case: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| case.contains(word))
    }
}

impl Default for Options {
    fn default() -> Self {
        let folder = std::env::temp_dir().join("servemark-prepare");
        Self { only: Vec::new(), scale: 1.0, folder, peer: None }
    }
}

impl Peer {
    /// Returns the program to which a case's command line is appended.
    pub fn command(&self) -> [&OsStr; 3] {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peer/prepare.py");
        [self.python.as_os_str(), script.as_ref(), self.wheel.as_os_str()]
    }
}

fn scale(text: &str) -> anyhow::Result<f64> {
    let scale = text.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale > 0.0);
    scale.with_context(|| format!("--scale must be a number above 0, not {text}; {USAGE}"))
}

const USAGE: &str = "usage: prepare [--only WORD] [--scale 1.0] [--folder DIR] [--python PYTHON \
    --wheel DIR]";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[track_caller]
    fn refused(line: &str, message: &str) {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }

    #[test]
    fn what_is_not_given_is_the_default() {
        assert_eq!(parse("").unwrap(), Options::default());
        let options = parse("--only random --scale 0.5 --python p --wheel w").unwrap();
        assert!(options.asks_for("5 random-ids") && !options.asks_for("images"));
        assert_eq!(options.peer, Some(Peer { python: "p".into(), wheel: "w".into() }));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        refused("--only", "--only needs a value; usage: prepare");
        refused("--scale 0", "--scale must be a number above 0, not 0");
        refused("--python p", "--python and --wheel need each other");
        refused("--fast", "there is no flag --fast");
    }
}
