//! The study's command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};

use super::{Load, Start, Style};

/// What the study is asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// How many streams at once, one study of each.
    pub streams: Vec<usize>,
    /// From the reading of a request to its first token.
    pub ttft: Duration,
    /// From one token to the next.
    pub itl: Duration,
    /// How many chunks of one token each stream has.
    pub tokens: u32,
    /// How often each load is run.
    pub runs: usize,
    /// Where the raw figures go.
    pub out: Option<PathBuf>,
    /// How the table is written.
    pub style: Style,
}

impl Options {
    /// Reads a command line, without the program's name.
    pub fn parse(args: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(flag) = args.next() {
            match flag.as_str() {
                "--markdown" => options.style = Style::Markdown,
                "--out" => options.out = Some(value(&flag, args.next())?),
                "--streams" => options.streams = list(&flag, args.next())?,
                "--tokens" => options.tokens = value(&flag, args.next())?,
                "--runs" => options.runs = value(&flag, args.next())?,
                "--ttft-ms" => options.ttft = millis(&flag, args.next())?,
                "--itl-ms" => options.itl = millis(&flag, args.next())?,
                _ => bail!("there is no flag {flag}; usage: {USAGE}"),
            }
        }
        options.checked()
    }

    /// Every load of the study, the flood last. Its streams are longer, because they are over soon.
    pub fn loads(&self) -> Vec<Load> {
        let paced = |&streams: &usize| {
            let load = Load::new(streams, self.tokens, self.ttft, self.itl);
            [load, load.starting(Start::Staggered)]
        };
        self.streams
            .iter()
            .flat_map(paced)
            .chain([Load::flood(self.tokens.saturating_mul(10))])
            .collect()
    }

    fn checked(self) -> anyhow::Result<Self> {
        if self.runs == 0 || self.streams.contains(&0) || self.streams.is_empty() {
            bail!("--runs and --streams need at least one each");
        }
        if self.tokens < 2 || self.itl.is_zero() {
            bail!("a gap between tokens needs --tokens 2 and an --itl-ms above zero");
        }
        Ok(self)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streams: vec![64, 256, 1000],
            ttft: Duration::from_millis(200),
            itl: Duration::from_millis(20),
            tokens: 150,
            runs: 3,
            out: None,
            style: Style::Text,
        }
    }
}

fn value<T: FromStr>(flag: &str, text: Option<String>) -> anyhow::Result<T> {
    let text = text.with_context(|| format!("{flag} needs a value; usage: {USAGE}"))?;
    text.parse().ok().with_context(|| format!("{flag} cannot be {text:?}; usage: {USAGE}"))
}

fn list(flag: &str, text: Option<String>) -> anyhow::Result<Vec<usize>> {
    let text: String = value(flag, text)?;
    text.split(',').map(|item| value(flag, Some(item.to_owned()))).collect()
}

fn millis(flag: &str, text: Option<String>) -> anyhow::Result<Duration> {
    let millis: f64 = value(flag, text)?;
    Duration::try_from_secs_f64(millis / 1e3).with_context(|| format!("{flag} cannot be {millis}"))
}

const USAGE: &str = "overhead [--streams 64,256,1000] [--ttft-ms 200] [--itl-ms 20] \
    [--tokens 150] [--runs 3] [--out FILE.json] [--markdown]";

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
        let options = parse("--streams 4,8 --itl-ms 2.5 --markdown --runs 1").unwrap();
        assert_eq!((options.streams.as_slice(), options.runs), (&[4, 8][..], 1));
        assert_eq!(options.itl, Duration::from_micros(2500));
        assert_eq!(options.loads().len(), 5);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        refused("--stream 4", "there is no flag --stream; usage: overhead");
        refused("--runs", "--runs needs a value");
        refused("--streams 4,,8", "--streams cannot be \"\"");
        refused("--itl-ms -1", "--itl-ms cannot be -1");
        refused("--itl-ms 0", "a gap between tokens needs");
        refused("--runs 0", "--runs and --streams need at least one each");
    }
}
