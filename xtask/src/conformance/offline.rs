//! Examines an engine without a server: `bench-offline` drives it in a worker process, is
//! compared with the engine's own benchmark, and is stopped in every way in which a run can end.
//! If our program accepts the command lines of the engine's own benchmarks, both are run with the
//! same ones.

mod checks;
mod client;
mod outcome;
mod own;
mod prompts;
mod report;
mod run;
mod strays;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use self::client::Client;
use self::outcome::Counts;
pub(super) use self::outcome::RunReport;
use self::own::OwnRun;
pub(super) use self::report::{line, markdown};
pub(super) use self::run::name;
use self::run::{End, RUNS, Run, Submission, slug};
use self::words::WORDINGS;
use super::bench::Bench;
use super::engine::{Engine, Offline, TINY_LLAMA};
use super::install::Installation;

/// Runs all cases of an engine whose names contain `only`.
pub(super) fn examine(
    engine: &'static Engine,
    offline: Offline,
    place: &Installation,
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
    let print = |report: &RunReport| super::eprint_line(&line(report));
    Ok(in_our_words.chain(in_its_words).inspect(print).collect())
}

impl Run {
    fn examine(self, client: &Client<'_>, evidence: &Path, own: Option<&OwnRun>) -> RunReport {
        let folder: PathBuf = evidence.join(slug(client.engine, self.name));
        match client.observe(self, &folder) {
            Err(error) => RunReport::broken(self.name, &error),
            Ok(observed) => {
                let (counts, faults) = match own.filter(|_| self.end == End::Done) {
                    Some(own) => (Counts::Whole(observed.sides(own)), observed.whole_faults(own)),
                    None => (Counts::Ended(observed.toll()), observed.ended_faults(self)),
                };
                RunReport { name: self.name, faults, counts }
            }
        }
    }
}

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
