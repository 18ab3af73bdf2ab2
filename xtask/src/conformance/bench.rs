//! Runs the client for a case and gathers what it logged and what went by.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::answer::Answer;
use super::case::{Case, Expected};
use super::checks;
use super::engine::Engine;
use super::process::{ProcessGroup, end_of, output};
use super::record::{Record, records};
use super::report::CaseReport;
use super::wire::exchanges;
use super::wiretap::Wiretap;

/// The client, built.
#[derive(Debug)]
pub(super) struct Bench {
    /// The folder of our programs.
    programs: PathBuf,
    workspace: PathBuf,
}

/// What a case is run against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) engine: &'static Engine,
    pub(super) wiretap: &'a Wiretap,
    /// The folder of the model's tokenizer.
    pub(super) tokenizer: &'a Path,
    /// Every case has a folder of its own in here.
    pub(super) evidence: &'a Path,
}

impl Bench {
    /// Builds the client as it is shipped.
    pub(super) fn build(workspace: &Path) -> anyhow::Result<Self> {
        cargo(workspace, "build --release --package bench-serving --package bench-embedding")?;
        let metadata = cargo(workspace, "metadata --format-version 1 --no-deps")?;
        let metadata: Value = serde_json::from_str(&metadata)?;
        let target = metadata["target_directory"].as_str();
        let target = target.context("cargo tells no target folder")?;
        let programs = Path::new(target).join("release");
        Ok(Self { programs, workspace: workspace.to_owned() })
    }

    /// Puts the target through a case.
    pub(super) fn run(&self, target: Target<'_>, case: Case) -> CaseReport {
        match self.observe(target, &case) {
            Ok((records, answers)) => {
                let miscounted = checks::miscounted(&case, &records, &answers);
                let pairs = checks::pairs(records, answers);
                let faults = checks::faults(&case.expected, &pairs);
                CaseReport { case, pairs, faults: [miscounted, faults].concat() }
            }
            Err(error) => CaseReport::broken(case, &error),
        }
    }

    fn observe(
        &self,
        target: Target<'_>,
        case: &Case,
    ) -> anyhow::Result<(Vec<Record>, Vec<Answer>)> {
        let folder = target.evidence.join(case.slug());
        renew(&folder)?;
        let ended = self.drive(target, case, &folder);
        let answers = overheard(target.wiretap, &folder)?;
        let (status, said) = (ended?, folder.join("client.log"));
        let is_right = status.code() == Some(exit_code(&case.expected));
        ensure!(is_right, "the client ended with {status}: {}", end_of(&said));
        Ok((records(&folder.join(RUN_LOG))?, answers))
    }

    fn drive(&self, target: Target<'_>, case: &Case, folder: &Path) -> anyhow::Result<ExitStatus> {
        let said = File::create(folder.join("client.log"))?;
        let url = format!("http://127.0.0.1:{}", target.wiretap.port());
        let mut client = Command::new(self.programs.join(target.engine.task.program()));
        client
            .current_dir(&self.workspace)
            .args(["--backend", case.backend, "--base-url", &url, "--disable-tqdm"])
            .args(["--model", target.engine.model, "--tokenizer"])
            .arg(target.tokenizer)
            .args(&case.flags)
            .arg("--run-log")
            .arg(folder.join(RUN_LOG))
            .arg("--output-file")
            .arg(folder.join("result.jsonl"))
            .stdout(said.try_clone()?)
            .stderr(said);
        ProcessGroup::spawn(&mut client)?.wait(LONGEST_RUN)
    }
}

fn cargo(workspace: &Path, line: &str) -> anyhow::Result<String> {
    output(Command::new(env!("CARGO")).current_dir(workspace).args(line.split(' ')))
}

/// How the client ends, by its own table of exit codes.
fn exit_code(expected: &Expected) -> i32 {
    match expected {
        Expected::Answers(_) | Expected::Items(_) => 0,
        Expected::Refusals(_) => TOO_MANY_FAILED,
    }
}

/// An empty folder: what a former run left there must not be taken for this one's.
fn renew(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// What the server answered, read from the wire; the bytes are kept beside the log.
fn overheard(wiretap: &Wiretap, folder: &Path) -> anyhow::Result<Vec<Answer>> {
    let mut answers = Vec::new();
    for (number, conversation) in wiretap.take().iter().enumerate() {
        fs::write(folder.join(format!("{number}.sent")), &conversation.sent)?;
        fs::write(folder.join(format!("{number}.received")), &conversation.received)?;
        let asked = exchanges(conversation).with_context(|| format!("connection {number}"))?;
        answers.extend(asked.iter().filter(|exchange| exchange.is_inference()).map(Answer::of));
    }
    Ok(answers)
}

const RUN_LOG: &str = "run.jsonl";
const TOO_MANY_FAILED: i32 = 5;
/// A run is eight short answers of a tiny model.
const LONGEST_RUN: Duration = Duration::from_secs(300);
