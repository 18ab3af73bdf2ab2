//! Command line of the overhead study.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::experiment::Experiment;
use super::{
    Exchange, ExchangeLoad, OpenLoad, Program, ProgramPaths, Start, StartUp, StreamLoad, Style,
};

/// Options of the overhead study.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Numbers of streams; each is studied by itself.
    pub streams: Vec<usize>,
    /// Time from the arrival of a request to its first token.
    pub ttft: Duration,
    /// Time from one token to the next.
    pub itl: Duration,
    /// Number of chunks of each stream, one token each.
    pub tokens: u32,
    /// Number of runs of each load.
    pub runs: usize,
    /// Number of short requests in a closed loop.
    pub requests: usize,
    /// Duration of an open loop.
    pub open_loop: Duration,
    /// Programs that are run beside the client's building blocks, if they are installed.
    pub programs: Vec<Program>,
    /// Where programs are installed.
    pub places: ProgramPaths,
    /// Loads that are run, by name or by the first words of a name; if empty, all loads are run.
    pub only: Vec<String>,
    /// Whether to print what would be run and how long it would take, and to run nothing.
    pub plan: bool,
    /// File for the raw figures.
    pub out: Option<PathBuf>,
    /// File with the raw figures of an earlier study, which is shown instead of a new one.
    pub from: Option<PathBuf>,
    /// Folder of the project whose documents are to quote the study.
    pub docs: Option<PathBuf>,
    /// Folder for the plots.
    pub plots: Option<PathBuf>,
    /// Style of the tables.
    pub style: Style,
}

impl Options {
    /// Parses a command line, without the program's name.
    pub fn parse(args: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(flag) = args.next() {
            match flag.as_str() {
                "--markdown" => options.style = Style::Markdown,
                "--plan" => options.plan = true,
                "--programs" => options.programs = programs(&flag, args.next())?,
                "--servemark" => options.places.ours = Some(value(&flag, args.next())?),
                "--python" => options.places.python = Some(value(&flag, args.next())?),
                "--sglang" => options.places.sglang = Some(value(&flag, args.next())?),
                "--vllm" => options.places.vllm = Some(value(&flag, args.next())?),
                "--only" => options.only = list(&flag, args.next())?,
                "--from" => options.from = Some(value(&flag, args.next())?),
                "--docs" => options.docs = Some(value(&flag, args.next())?),
                "--plots" => options.plots = Some(value(&flag, args.next())?),
                "--out" => options.out = Some(value(&flag, args.next())?),
                "--streams" => options.streams = list(&flag, args.next())?,
                "--tokens" => options.tokens = value(&flag, args.next())?,
                "--requests" => options.requests = value(&flag, args.next())?,
                "--open-loop-ms" => options.open_loop = millis(&flag, args.next())?,
                "--runs" => options.runs = value(&flag, args.next())?,
                "--ttft-ms" => options.ttft = millis(&flag, args.next())?,
                "--itl-ms" => options.itl = millis(&flag, args.next())?,
                _ => bail!("there is no flag {flag}; usage: {USAGE}"),
            }
        }
        options.checked()
    }

    /// Returns whether a load of this name is to be run.
    pub fn chooses(&self, name: &str) -> bool {
        let is = |word: &String| name.strip_prefix(word.as_str()).is_some_and(ends_a_word);
        self.only.is_empty() || self.only.iter().any(is)
    }

    /// Returns every load of streams, the floods last. The streams of floods are longer, because
    /// they are over soon.
    pub(super) fn streams(&self) -> Vec<StreamLoad> {
        let paced = |streams: usize| StreamLoad::new(streams, self.tokens, self.ttft, self.itl);
        let starts = |&streams: &usize| {
            let staggered = (streams > 1).then(|| paced(streams).starting(Start::Staggered));
            [Some(paced(streams)), staggered].into_iter().flatten()
        };
        let hog = paced(self.with_hog()).starting(Start::Staggered).with_hog();
        let flood = |longer: u32, merged| StreamLoad::flood(self.tokens * longer, merged);
        let last = [hog, flood(10, 1), flood(40, MERGED)];
        self.streams.iter().flat_map(starts).chain(last).collect()
    }

    /// Returns every load of short requests in a closed loop.
    pub(super) fn exchanges(&self) -> Vec<ExchangeLoad> {
        let load = |kind| ExchangeLoad::new(kind, self.requests);
        vec![load(Exchange::OneToken), load(Exchange::Embedding)]
    }

    /// Returns every load of short requests in an open loop.
    pub(super) fn open_loops(&self) -> Vec<OpenLoad> {
        let one = [500, 5000].map(|per_second| OpenLoad::new(per_second, self.open_loop));
        let two = one.map(|load| load.with_shards(NonZeroUsize::MIN.saturating_add(1)));
        [one, two, one.map(OpenLoad::sent_precisely)].concat()
    }

    /// Returns the largest number of streams up to a thousand, or else the smallest.
    fn with_hog(&self) -> usize {
        let most = self.streams.iter().copied().filter(|&streams| streams <= 1000).max();
        most.or(self.streams.iter().copied().min()).unwrap_or(1)
    }

    /// Returns the names of all loads.
    fn names(&self) -> Vec<String> {
        fn names<L: Experiment>(loads: &[L]) -> Vec<String> {
            loads.iter().map(Experiment::name).collect()
        }
        let (streams, exchanges) = (names(&self.streams()), names(&self.exchanges()));
        let (open_loops, start_ups) = (names(&self.open_loops()), names(&START_UPS));
        [streams, exchanges, open_loops, start_ups].concat()
    }

    fn checked(self) -> anyhow::Result<Self> {
        if self.runs == 0 || self.streams.contains(&0) || self.streams.is_empty() {
            bail!("--runs and --streams need at least one each");
        }
        if self.itl.is_zero() || !(2..=MOST_TOKENS).contains(&self.tokens) {
            bail!("a gap needs --tokens from 2 to {MOST_TOKENS} and an --itl-ms above zero");
        }
        if self.requests == 0 || self.open_loop < SHORTEST {
            bail!("--requests needs at least one, --open-loop-ms at least 20");
        }
        let names = self.names();
        for word in &self.only {
            let alone = Self { only: vec![word.clone()], ..self.clone() };
            let known = names.iter().any(|name| alone.chooses(name));
            ensure!(known, "--only knows no load {word:?}; there are: {}", names.join(", "));
        }
        Ok(self)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streams: vec![1, 64, 256, 1000, 4000],
            ttft: Duration::from_millis(200),
            itl: Duration::from_millis(20),
            tokens: 150,
            runs: 3,
            requests: 20_000,
            open_loop: Duration::from_secs(4),
            programs: Program::ALL.to_vec(),
            places: ProgramPaths::default(),
            only: Vec::new(),
            plan: false,
            out: None,
            from: None,
            docs: None,
            plots: None,
            style: Style::Text,
        }
    }
}

/// Returns whether the rest of a name begins after a whole word.
fn ends_a_word(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('-')
}

fn value<T: FromStr>(flag: &str, text: Option<String>) -> anyhow::Result<T> {
    let text = text.with_context(|| format!("{flag} needs a value; usage: {USAGE}"))?;
    text.parse().ok().with_context(|| format!("{flag} cannot be {text:?}; usage: {USAGE}"))
}

fn list<T: FromStr>(flag: &str, text: Option<String>) -> anyhow::Result<Vec<T>> {
    let text: String = value(flag, text)?;
    text.split(',').map(|item| value(flag, Some(item.to_owned()))).collect()
}

fn millis(flag: &str, text: Option<String>) -> anyhow::Result<Duration> {
    let millis: f64 = value(flag, text)?;
    Duration::try_from_secs_f64(millis / 1e3).with_context(|| format!("{flag} cannot be {millis}"))
}

/// Returns the programs with these names.
fn programs(flag: &str, text: Option<String>) -> anyhow::Result<Vec<Program>> {
    let names: Vec<String> = list(flag, text)?;
    let named = |name: &String| {
        let program = Program::ALL.into_iter().find(|program| program.name() == name);
        let known = || Program::ALL.map(Program::name).join(", ");
        program.with_context(|| format!("{flag} knows no {name:?}; there are: {}", known()))
    };
    names.iter().map(named).collect()
}

/// Loads of the start-up test.
pub(super) const START_UPS: [StartUp; 1] = [StartUp { requests: 1000, prompt_tokens: 1024 }];

/// Shortest open loop: ten requests at the lowest rate.
const SHORTEST: Duration = Duration::from_millis(20);

/// Number of events in one write of a server that has many to send.
const MERGED: u32 = 64;

/// Largest number of tokens; a merged flood has forty times as many.
const MOST_TOKENS: u32 = 100_000;

const USAGE: &str = "overhead [--streams 1,64,256,1000,4000] [--ttft-ms 200] [--itl-ms 20] \
    [--tokens 150] [--requests 20000] [--open-loop-ms 4000] [--runs 3] [--only LOAD,...] \
    [--programs NAME,...] [--servemark FOLDER] [--python PYTHON] [--sglang WHEEL] \
    [--vllm WHEEL] [--plan] [--from FILE.json] [--out FILE.json] [--plots FOLDER] [--docs PROJECT] \
    [--markdown]";

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
        let names = ["burst-4", "staggered-4", "burst-8", "staggered-8", "hog-8"];
        assert_eq!(options.names()[..5], names);
        assert_eq!(options.with_hog(), 8);
    }

    #[test]
    fn loads_are_chosen_by_the_words_of_their_names() {
        let chosen = |line: &str| {
            let options = parse(line).unwrap();
            options.names().into_iter().filter(|name| options.chooses(name)).collect::<Vec<_>>()
        };
        assert_eq!(chosen("--only flood"), ["flood", "flood-merged"]);
        assert_eq!(chosen("--only burst-64,hog-1000"), ["burst-64", "hog-1000"]);
        assert_eq!(
            chosen("--only poisson"),
            [
                "poisson-500",
                "poisson-5000",
                "poisson-500-shards-2",
                "poisson-5000-shards-2",
                "poisson-500-precise",
                "poisson-5000-precise"
            ]
        );
        assert_eq!(chosen("").len(), 21);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        refused("--stream 4", "there is no flag --stream; usage: overhead");
        refused("--runs", "--runs needs a value");
        refused("--streams 4,,8", "--streams cannot be \"\"");
        refused("--itl-ms -1", "--itl-ms cannot be -1");
        refused("--itl-ms 0", "a gap needs --tokens");
        refused("--tokens 1", "a gap needs --tokens");
        refused("--runs 0", "--runs and --streams need at least one each");
        refused("--requests 0", "--requests needs at least one");
        refused("--programs wrk", "--programs knows no \"wrk\"; there are: bench-serving, ");
        refused("--only flo", "--only knows no load \"flo\"; there are: burst-1, ");
        refused("--streams 1 --only burst-64", "--only knows no load \"burst-64\"");
    }
}
