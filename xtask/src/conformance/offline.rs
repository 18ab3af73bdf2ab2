//! Examines an engine without a server: `bench-offline` drives it in a worker process, is
//! compared with the engine's own benchmark, and is stopped in every way in which a run can end.
//! If our program accepts the command lines of the engine's own benchmarks, both are run with the
//! same ones.

mod checks;
mod client;
mod own;
mod prompts;
mod report;
mod strays;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use self::checks::{Sides, Toll};
use self::client::Client;
use self::own::OwnRun;
pub(super) use self::report::{line, markdown};
use self::words::{WORDINGS, Worded};
use super::bench::Bench;
use super::engine::{Engine, Offline, TINY_LLAMA};
use super::install::Place;

/// Result of one run.
#[derive(Debug)]
pub(super) struct RunReport {
    name: &'static str,
    pub(super) faults: Vec<String>,
    counts: Counts,
}

/// Counts of a run, by kind of run.
#[derive(Debug)]
enum Counts {
    /// The run could not be compared.
    None,
    /// Counts of a complete run from three sources.
    Whole(Sides),
    /// Outcome of a run that was stopped.
    Ended(Toll),
    /// Counts of a run with the engine's own command line.
    Worded(Worded),
}

/// A run of `bench-offline`.
#[derive(Clone, Copy, Debug)]
struct Run {
    name: &'static str,
    submission: Submission,
    output_tokens: u64,
    end: End,
}

/// How requests are submitted to the engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Submission {
    AtOnce,
    /// All at once, by the engine's class that starts a server and sends requests to it.
    Served,
    OneByOne,
    /// One by one with at most four in flight, so that some are answered while others are not.
    FourAtATime,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// The run completes.
    Done,
    /// The engine's process that computes is killed.
    EngineKilled,
    /// The run is interrupted by SIGINT.
    Interrupted,
    /// Our program is killed.
    ProgramKilled,
}

const RUNS: [Run; 7] = [
    whole("at once", Submission::AtOnce),
    whole("by its own server", Submission::Served),
    whole("one by one", Submission::OneByOne),
    ended("at once, engine killed", Submission::AtOnce, End::EngineKilled),
    ended("one by one, engine killed", Submission::FourAtATime, End::EngineKilled),
    ended("one by one, interrupted", Submission::FourAtATime, End::Interrupted),
    ended("one by one, program killed", Submission::FourAtATime, End::ProgramKilled),
];

const fn whole(name: &'static str, submission: Submission) -> Run {
    Run { name, submission, output_tokens: SHORT, end: End::Done }
}

/// Creates a run that is long enough to be stopped before its end.
const fn ended(name: &'static str, submission: Submission, end: End) -> Run {
    let output_tokens = if matches!(submission, Submission::AtOnce) { LONG } else { MIDDLE };
    Run { name, submission, output_tokens, end }
}

/// Returns the name that selects an engine's offline examination.
pub(super) fn name(engine: &Engine) -> String {
    format!("{}-offline", engine.name)
}

/// Runs all cases of an engine whose names contain `only`.
pub(super) fn examine(
    engine: &'static Engine,
    offline: Offline,
    place: &Place,
    bench: &Bench,
    only: &str,
) -> anyhow::Result<Vec<RunReport>> {
    let is_possible = |run: &Run| run.submission != Submission::Served || offline.has_runtime;
    let runs = RUNS.into_iter().filter(is_possible);
    let runs: Vec<_> = runs.filter(|run| slug(engine, run.name).contains(only)).collect();
    let wordings = offline.bench.map_or(&[] as &[_], |_| &WORDINGS).iter();
    let wordings: Vec<_> =
        wordings.filter(|wording| slug(engine, wording.name).contains(only)).collect();
    let is_any = !runs.is_empty() || !wordings.is_empty();
    ensure!(is_any, "no run of {} is named {only:?}", name(engine));
    let model = place.model(TINY_LLAMA)?;
    let prompts = prompts::write(bench.workspace(), &place.folder)?;
    let evidence = place.folder.join("runs");
    let client = Client { engine, offline, place, bench, model: &model, prompts: &prompts };
    let is_compared = runs.iter().any(|run| run.end == End::Done);
    let own = is_compared.then(|| client.own_benchmark(&evidence)).transpose();
    let own = own.context("the engine's own benchmark")?;
    let in_our_words = runs.into_iter().map(|run| run.examine(&client, &evidence, own.as_ref()));
    let in_its_words = wordings.into_iter().map(|wording| wording.examine(&client, &evidence));
    let tell = |report: &RunReport| super::say(&line(report));
    Ok(in_our_words.chain(in_its_words).inspect(tell).collect())
}

/// Returns a run's name in the form of a folder name.
fn slug(engine: &Engine, run: &str) -> String {
    format!("{} {run}", name(engine)).replace(", ", " ").replace(' ', "-")
}

impl Run {
    fn examine(self, client: &Client<'_>, evidence: &Path, own: Option<&OwnRun>) -> RunReport {
        let folder: PathBuf = evidence.join(slug(client.engine, self.name));
        match client.observe(self, &folder) {
            Err(error) => RunReport::broken(self.name, &error),
            Ok(seen) => {
                let (counts, faults) = match own.filter(|_| self.end == End::Done) {
                    Some(own) => (Counts::Whole(seen.sides(own)), seen.whole_faults(own)),
                    None => (Counts::Ended(seen.toll()), seen.ended_faults(self)),
                };
                RunReport { name: self.name, faults, counts }
            }
        }
    }
}

impl RunReport {
    /// Creates the report of a run that could not be compared.
    fn broken(name: &'static str, error: &anyhow::Error) -> Self {
        Self { name, faults: vec![format!("{error:#}")], counts: Counts::None }
    }
}

const REQUESTS: usize = 16;
/// Output tokens of an answer, by the required duration of a run.
const SHORT: u64 = 32;
const MIDDLE: u64 = 128;
const LONG: u64 = 512;

#[cfg(test)]
mod tests {
    use super::super::engine::ALL;
    use super::*;

    #[test]
    fn every_run_has_a_folder_of_its_own() {
        let names = RUNS.iter().map(|run| run.name).chain(WORDINGS.iter().map(|words| words.name));
        let mut slugs: Vec<_> = names.map(|run| slug(ALL[1], run)).collect();
        assert_eq!(slugs[3], "sglang-offline-at-once-engine-killed");
        slugs.sort();
        slugs.dedup();
        assert_eq!(slugs.len(), RUNS.len() + WORDINGS.len());
    }
}
