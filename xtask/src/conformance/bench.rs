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
use super::install::Place;
use super::process::{ProcessGroup, end_of, output};
use super::record::{Record, records};
use super::report::CaseReport;
use super::wire::exchanges;
use super::wiretap::Wiretap;

/// The client, built.
#[derive(Debug)]
pub(super) struct Bench {
    program: PathBuf,
    workspace: PathBuf,
}

impl Bench {
    /// Builds the client as it is shipped.
    pub(super) fn build(workspace: &Path) -> anyhow::Result<Self> {
        let mut cargo = Command::new(env!("CARGO"));
        output(cargo.current_dir(workspace).args([
            "build",
            "--release",
            "--package",
            "bench-serving",
        ]))?;
        let mut cargo = Command::new(env!("CARGO"));
        let metadata = output(cargo.current_dir(workspace).args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
        ]))?;
        let metadata: Value = serde_json::from_str(&metadata)?;
        let target =
            metadata["target_directory"].as_str().context("cargo tells no target folder")?;
        let program = Path::new(target).join("release/bench-serving");
        Ok(Self { program, workspace: workspace.to_owned() })
    }

    /// Puts the engine through a case.
    pub(super) fn run(
        &self,
        engine: &Engine,
        place: &Place,
        case: Case,
        wiretap: &Wiretap,
    ) -> CaseReport {
        let folder = place
            .folder
            .join("runs")
            .join(format!("{} {}", case.backend, case.name).replace(' ', "-"));
        match self.observe(engine, &case, &folder, wiretap) {
            Ok((records, answers)) => {
                let uneven = uneven(&records, &answers);
                let pairs = checks::pairs(records, answers);
                let faults =
                    uneven.into_iter().chain(checks::faults(&case.expected, &pairs)).collect();
                CaseReport { case, pairs, faults }
            }
            Err(error) => {
                CaseReport { case, pairs: Vec::new(), faults: vec![format!("{error:#}")] }
            }
        }
    }

    fn observe(
        &self,
        engine: &Engine,
        case: &Case,
        folder: &Path,
        wiretap: &Wiretap,
    ) -> anyhow::Result<(Vec<Record>, Vec<Answer>)> {
        renew(folder)?;
        let ended = self.drive(engine, case, folder, wiretap.port());
        let answers = overheard(wiretap, folder)?;
        let (status, code) = (ended?, exit_code(&case.expected));
        ensure!(
            status.code() == Some(code),
            "the client ended with {status}: {}",
            end_of(&folder.join("client.log"))
        );
        Ok((records(&folder.join("run.jsonl"))?, answers))
    }

    fn drive(
        &self,
        engine: &Engine,
        case: &Case,
        folder: &Path,
        port: u16,
    ) -> anyhow::Result<ExitStatus> {
        let said = File::create(folder.join("client.log"))?;
        let mut client = Command::new(&self.program);
        client
            .current_dir(&self.workspace)
            .args(["--backend", case.backend, "--base-url", &format!("http://127.0.0.1:{port}")])
            .args(["--model", engine.model, "--tokenizer", "fixtures/tokenizers/gpt2"])
            .arg("--disable-tqdm")
            .args(&case.flags)
            .arg("--run-log")
            .arg(folder.join("run.jsonl"))
            .arg("--output-file")
            .arg(folder.join("result.jsonl"))
            .stdout(said.try_clone()?)
            .stderr(said);
        ProcessGroup::spawn(&mut client)?.wait(LONGEST_RUN)
    }
}

/// How the client ends, by its own table of exit codes.
fn exit_code(expected: &Expected) -> i32 {
    match expected {
        Expected::Answers(_) => 0,
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

fn uneven(records: &[Record], answers: &[Answer]) -> Option<String> {
    let (logged, heard) = (records.len(), answers.len());
    (logged != heard).then(|| format!("{logged} requests in the log, {heard} on the wire"))
}

const TOO_MANY_FAILED: i32 = 5;
/// A run is eight short answers of a tiny model.
const LONGEST_RUN: Duration = Duration::from_secs(300);
