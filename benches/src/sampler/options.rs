//! Command line of the sampler study.

use std::time::Duration;

use anyhow::{Context, bail};

/// Options of the sampler study.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Number of rounds of three runs.
    pub runs: u32,
    /// Number of URLs that are read.
    pub urls: usize,
    /// Time from one reading of a URL to the next.
    pub interval: Duration,
    /// Percentage of the numbers of a text that change from one reading to the next.
    pub changing: u32,
    /// Number of streams of the load.
    pub streams: usize,
    /// Number of tokens of each stream.
    pub tokens: u32,
    /// Time from one token to the next.
    pub itl: Duration,
}

impl Options {
    /// Parses a command line, without the program's name.
    pub fn parse(args: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("{flag} needs a value; {USAGE}"))?;
            let number: u32 = value
                .parse()
                .ok()
                .filter(|number| *number > 0)
                .with_context(|| format!("{flag} must be a whole number above 0; {USAGE}"))?;
            let ms = Duration::from_millis(number.into());
            match flag.as_str() {
                "--runs" => options.runs = number,
                "--urls" => options.urls = number as usize,
                "--interval-ms" => options.interval = ms,
                "--changing" => options.changing = number.min(100),
                "--streams" => options.streams = number as usize,
                "--tokens" => options.tokens = number,
                "--itl-ms" => options.itl = ms,
                _ => bail!("there is no flag {flag}; {USAGE}"),
            }
        }
        Ok(options)
    }

    /// Minimum time over which the used share of a core is meaningful: half of the load's duration.
    pub(super) fn shortest(&self) -> Duration {
        self.itl * self.tokens / 2
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            runs: 5,
            urls: 8,
            interval: Duration::from_millis(100),
            changing: 100,
            streams: 16,
            tokens: 1000,
            itl: Duration::from_millis(10),
        }
    }
}

const USAGE: &str = "usage: sampler [--runs 5] [--urls 8] [--interval-ms 100] \
    [--changing 100] [--streams 16] [--tokens 1000] [--itl-ms 10]";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_not_given_is_the_default() {
        assert_eq!(parse("").unwrap(), Options::default());
        let options = parse("--urls 2 --interval-ms 50 --tokens 300").unwrap();
        assert_eq!((options.urls, options.interval), (2, Duration::from_millis(50)));
        assert_eq!(options.shortest(), Duration::from_millis(1500));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (line, message) in [
            ("--runs", "--runs needs a value; usage: sampler"),
            ("--urls 0", "--urls must be a whole number above 0"),
            ("--fast 1", "there is no flag --fast"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
