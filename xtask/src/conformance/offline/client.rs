//! Runs `bench-offline` with an engine, stops it as the run requires, and collects the results.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::own::OwnRun;
use super::run::{End, REQUESTS, Run, SHORT, Submission};
use super::strays::{left_in, living_in, signal};
use crate::conformance::bench::{Bench, renew};
use crate::conformance::engine::{Engine, Offline};
use crate::conformance::install::Installation;
use crate::conformance::process::{ProcessGroup, end_of, poll};
use crate::conformance::record::{self, Log};

/// Inputs of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client<'a> {
    pub(super) engine: &'static Engine,
    pub(super) offline: Offline,
    pub(super) place: &'a Installation,
    pub(super) bench: &'a Bench,
    pub(super) model: &'a Path,
    pub(super) prompts: &'a Path,
}

/// Observed results of a run.
#[derive(Debug, Default)]
pub(super) struct ObservedRun {
    /// Exit code; `None` if a signal ended the program.
    pub(super) code: Option<i32>,
    /// Run log; `None` if the program was killed.
    pub(super) log: Option<Log>,
    /// Line of the result file.
    pub(super) result: Value,
    /// Everything that the program printed.
    pub(super) printed: String,
    /// Titles of the processes that were left behind.
    pub(super) left: Vec<String>,
}

impl Client<'_> {
    /// Executes a run and collects its results.
    pub(super) fn observe(&self, run: Run, folder: &Path) -> anyhow::Result<ObservedRun> {
        renew(folder)?;
        let folder = folder.canonicalize()?;
        let mut group = ProcessGroup::spawn(&mut self.command(run, &folder)?)?;
        let ended = self.see_to_the_end(run, &folder, &mut group);
        let left = left_in(&folder)?;
        Ok(ObservedRun {
            code: ended?.code(),
            log: (run.end != End::ProgramKilled)
                .then(|| record::log(&folder.join(RUN_LOG)))
                .transpose()?,
            result: result(&folder)?,
            printed: fs::read_to_string(folder.join(OUTPUT_FILE))?,
            left,
        })
    }

    /// Runs the engine's own benchmark.
    pub(super) fn own_benchmark(&self, evidence: &Path) -> anyhow::Result<OwnRun> {
        let folder = evidence.join(super::run::name(self.engine)).with_extension("own");
        renew(&folder)?;
        let (result, printed) = (folder.join("answers.json"), folder.join(OUTPUT_FILE));
        let mut own = Command::new(&self.place.python);
        own.arg(self.bench.workspace().join("xtask/python/offline_peer.py"))
            .arg(self.engine.name)
            .args([&*result.to_string_lossy(), &SHORT.to_string(), "--model"])
            .arg(self.model);
        self.send(&mut own, &folder)?;
        let ended = ProcessGroup::spawn(&mut own)?.wait(LONGEST_RUN)?;
        ensure!(ended.success(), "it ended with {ended}: {}", end_of(&printed));
        OwnRun::read(&result)
    }

    fn command(&self, run: Run, folder: &Path) -> anyhow::Result<Command> {
        let mut command = self.bench.program("bench-offline");
        command
            .args(["--engine", self.engine.name, "--python"])
            .arg(&self.place.python)
            .arg("--model-path")
            .arg(self.model)
            .args(["--sharegpt-output-len", &run.output_tokens.to_string(), "--skip-warmup"])
            .args(["--overwrite", "--run-log", RUN_LOG, "--result-filename", RESULT])
            .args(run.submission.flags());
        self.send(&mut command, folder)?;
        Ok(command)
    }

    /// Adds the arguments that both benchmarks have in common.
    fn send(&self, command: &mut Command, folder: &Path) -> anyhow::Result<()> {
        command
            .args(["--dataset-name", "sharegpt", "--num-prompts", &REQUESTS.to_string()])
            .arg("--dataset-path")
            .arg(self.prompts);
        self.set_up(command, folder)
    }

    /// Adds the engine's arguments and environment to a command, and sets its working directory
    /// and output.
    pub(super) fn set_up(&self, command: &mut Command, folder: &Path) -> anyhow::Result<()> {
        let output_file = File::create(folder.join(OUTPUT_FILE))?;
        self.place.equip(command, self.engine);
        command
            .args(self.engine.arguments)
            .current_dir(folder)
            .stdout(output_file.try_clone()?)
            .stderr(output_file);
        Ok(())
    }

    fn see_to_the_end(
        &self,
        run: Run,
        folder: &Path,
        group: &mut ProcessGroup,
    ) -> anyhow::Result<ExitStatus> {
        if run.end != End::Done {
            in_the_middle(run, folder, group)?;
        }
        match run.end {
            End::Done => {}
            End::EngineKilled => signal("KILL", self.core_in(folder)?)?,
            End::Interrupted => signal("INT", group.leader())?,
            End::ProgramKilled => signal("KILL", group.leader())?,
        }
        group.wait(LONGEST_RUN)
    }

    /// Returns the id of the engine's process that computes.
    fn core_in(&self, folder: &Path) -> anyhow::Result<u32> {
        let core = self.offline.core;
        let found = living_in(folder)?.into_iter().find(|process| process.title.starts_with(core));
        Ok(found.with_context(|| format!("there is no process {core}"))?.id)
    }
}

impl Submission {
    const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::AtOnce => &[],
            Self::Served => &["--backend", "runtime"],
            Self::OneByOne => &["--stream"],
            Self::FourAtATime => &["--stream", "--max-concurrency", "4"],
        }
    }
}

/// Waits until a run has its first answer or, if all answers arrive together, has been running
/// for about two seconds.
fn in_the_middle(run: Run, folder: &Path, group: &mut ProcessGroup) -> anyhow::Result<()> {
    let (output_file, log) = (folder.join(OUTPUT_FILE), folder.join(RUN_LOG));
    let mut looks = 0;
    poll(LONGEST_RUN, || {
        if let Some(status) = group.exit_status()? {
            bail!("it ended too soon, with {status}: {}", end_of(&output_file));
        }
        looks += usize::from(file_contains(&output_file, "is loaded after"));
        let is_answered = || file_contains(&log, r#""outcome":{"Ok""#);
        let is_there = if run.submission == Submission::AtOnce { looks > 8 } else { is_answered() };
        Ok(is_there.then_some(()))
    })
}

fn file_contains(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains(word))
}

/// Returns the program's result file; `null` if it has none.
fn result(folder: &Path) -> anyhow::Result<Value> {
    let line = fs::read_to_string(folder.join(RESULT)).unwrap_or_default();
    if line.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&line)?) }
}

pub(super) const RUN_LOG: &str = "run.runlog.jsonl";
const RESULT: &str = "result.jsonl";
pub(super) const OUTPUT_FILE: &str = "client.log";
/// Three consecutive imports of a large Python package, and short answers of a tiny model.
pub(super) const LONGEST_RUN: Duration = Duration::from_secs(900);
