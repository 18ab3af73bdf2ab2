//! An engine without a server: `bench-offline` drives it in its worker process, beside the engine's
//! own benchmark, and is ended in every way in which a run can end.

mod checks;
mod client;
mod own;
mod prompts;
mod report;
mod strays;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use self::checks::{Sides, Toll};
use self::client::Client;
use self::own::OwnRun;
pub(super) use self::report::{line, markdown};
use super::bench::Bench;
use super::engine::{Engine, Offline, TINY_LLAMA};
use super::install::Place;

/// What one run came to.
#[derive(Debug)]
pub(super) struct RunReport {
    name: &'static str,
    pub(super) faults: Vec<String>,
    counts: Counts,
}

/// What there is to tell of a run besides its faults.
#[derive(Debug)]
enum Counts {
    /// It gave nothing to compare.
    None,
    /// Of a whole run, from three sides.
    Whole(Sides),
    /// Of one that was ended in its middle.
    Ended(Toll),
}

/// A run of `bench-offline`.
#[derive(Clone, Copy, Debug)]
struct Run {
    name: &'static str,
    submission: Submission,
    output_tokens: u64,
    end: End,
}

/// How the engine is given its requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Submission {
    AtOnce,
    OneByOne,
    /// One by one, four at a time, so that some are answered while others are not.
    FourAtATime,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// By itself.
    Done,
    /// The engine's process that computes is killed.
    EngineKilled,
    /// Ctrl-C.
    Interrupted,
    /// Our program is killed.
    ProgramKilled,
}

const RUNS: [Run; 6] = [
    whole("at once", Submission::AtOnce),
    whole("one by one", Submission::OneByOne),
    ended("at once, engine killed", Submission::AtOnce, End::EngineKilled),
    ended("one by one, engine killed", Submission::FourAtATime, End::EngineKilled),
    ended("one by one, interrupted", Submission::FourAtATime, End::Interrupted),
    ended("one by one, program killed", Submission::FourAtATime, End::ProgramKilled),
];

const fn whole(name: &'static str, submission: Submission) -> Run {
    Run { name, submission, output_tokens: SHORT, end: End::Done }
}

/// A run with a middle that is long enough to be ended in it.
const fn ended(name: &'static str, submission: Submission, end: End) -> Run {
    let output_tokens = if matches!(submission, Submission::AtOnce) { LONG } else { MIDDLE };
    Run { name, submission, output_tokens, end }
}

/// The name under which this part of an engine's examination is asked for.
pub(super) fn name(engine: &Engine) -> String {
    format!("{}-offline", engine.name)
}

/// Puts an engine through all runs whose names hold a word.
pub(super) fn examine(
    engine: &'static Engine,
    offline: Offline,
    place: &Place,
    bench: &Bench,
    only: &str,
) -> anyhow::Result<Vec<RunReport>> {
    let runs: Vec<_> = RUNS.into_iter().filter(|run| run.slug(engine).contains(only)).collect();
    ensure!(!runs.is_empty(), "no run of {} is named {only:?}", name(engine));
    let model = place.model(TINY_LLAMA)?;
    let prompts = prompts::write(bench.workspace(), &place.folder)?;
    let evidence = place.folder.join("runs");
    let client = Client { engine, offline, place, bench, model: &model, prompts: &prompts };
    let is_compared = runs.iter().any(|run| run.end == End::Done);
    let own = is_compared.then(|| client.own_benchmark(&evidence)).transpose();
    let own = own.context("the engine's own benchmark")?;
    let examine = |run: Run| {
        let report = run.examine(&client, &evidence, own.as_ref());
        super::say(&line(&report));
        report
    };
    Ok(runs.into_iter().map(examine).collect())
}

impl Run {
    /// Its name as a folder's.
    fn slug(self, engine: &Engine) -> String {
        format!("{} {}", name(engine), self.name).replace(", ", " ").replace(' ', "-")
    }

    fn examine(self, client: &Client<'_>, evidence: &Path, own: Option<&OwnRun>) -> RunReport {
        let folder: PathBuf = evidence.join(self.slug(client.engine));
        match client.observe(self, &folder) {
            Err(error) => RunReport {
                name: self.name,
                faults: vec![format!("{error:#}")],
                counts: Counts::None,
            },
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

const REQUESTS: usize = 16;
/// Tokens of an answer, by how long a run should last.
const SHORT: u64 = 32;
const MIDDLE: u64 = 128;
const LONG: u64 = 512;

#[cfg(test)]
mod tests {
    use super::super::engine::ALL;
    use super::*;

    #[test]
    fn every_run_has_a_folder_of_its_own() {
        let mut slugs: Vec<_> = RUNS.iter().map(|run| run.slug(ALL[1])).collect();
        assert_eq!(slugs[2], "sglang-offline-at-once-engine-killed");
        slugs.sort();
        slugs.dedup();
        assert_eq!(slugs.len(), RUNS.len());
    }
}
