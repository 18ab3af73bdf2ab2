//! Runs the client for a case and collects its log and the bytes on the wire.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::answer::WireAnswer;
use super::case::{Case, Expected, Promise};
use super::case_report::CaseReport;
use super::checks;
use super::dialect::{Dialect, RESULT};
use super::engine::Serving;
use super::install::Installation;
use super::parts::{self, Parts};
use super::peer;
use super::process::{ProcessGroup, end_of, output, poll};
use super::record::{Record, records};
use super::run::Run;
use super::server::Server;
use super::tally::Tally;
use super::wire::{Exchange, exchanges};
use super::wiretap::Wiretap;
use crate::metadata::cargo_command;

/// The built client programs.
#[derive(Debug)]
pub(super) struct Bench {
    /// Folder of the programs.
    programs: PathBuf,
    workspace: PathBuf,
}

/// Environment of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) serving: &'static Serving,
    pub(super) server: &'a Server,
    pub(super) wiretap: &'a Wiretap,
    /// Installation of the engine, including its own client.
    pub(super) place: &'a Installation,
    /// Folder of the model with its tokenizer.
    pub(super) model: &'a Path,
    /// Folder that contains one folder for each case.
    pub(super) evidence: &'a Path,
}

impl Bench {
    /// Uses the programs in a folder, or builds them in the release profile.
    pub(super) fn new(programs: Option<&Path>, workspace: &Path) -> anyhow::Result<Self> {
        let programs = match programs {
            Some(folder) => folder.to_owned(),
            None => build(workspace)?,
        };
        Ok(Self { programs, workspace: workspace.to_owned() })
    }

    /// Runs a case against the target.
    pub(super) fn run(&self, target: Target<'_>, case: Case) -> CaseReport {
        match self.observe(target, &case) {
            Ok(observed) => judge(case, observed),
            Err(error) => CaseReport::broken(case, &error),
        }
    }

    fn observe(&self, target: Target<'_>, case: &Case) -> anyhow::Result<Observed> {
        let folder = target.evidence.join(case.slug());
        let names = if case.promises(Promise::Parts) { target.serving.histograms } else { &[] };
        let before = parts::histograms(target.server, names)?;
        let ours = self.watch(target, case, &folder, self.client(case, &folder))?;
        let is_right = ours.status.code() == Some(exit_code(&case.expected));
        let tail = end_of(&folder.join(OUTPUT_FILE));
        ensure!(is_right, "the client ended with {}: {tail}", ours.status);
        let records = records(&folder.join(RUN_LOG))?;
        let parts = (!names.is_empty()).then(|| {
            let after = parts::histograms(target.server, names)?;
            let histograms = parts::increase(&before, after);
            Ok::<_, anyhow::Error>(Parts { anatomy: self.anatomy(&folder)?, histograms })
        });
        let peer = target.serving.peer.filter(|_| case.dialect == Dialect::Vllm);
        let peers = peer.map(|words| {
            let folder = folder.join("peer");
            let mut client = Command::new(&target.place.python);
            client.args(words);
            self.watch(target, case, &folder, client).context("the engine's own client")
        });
        Ok(Observed { records, ours, peers: peers.transpose()?, parts: parts.transpose()? })
    }

    /// Returns the parts of the requests' times by our program.
    fn anatomy(&self, folder: &Path) -> anyhow::Result<Value> {
        let mut score = self.program("servemark");
        let document = output(score.arg("score").arg(folder.join(RUN_LOG)).arg("--json"))?;
        let mut document: Value = serde_json::from_str(&document)?;
        Ok(document["anatomy"].take())
    }

    /// Returns the folder with fixtures and scripts.
    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Returns a command for one of our programs.
    pub(super) fn program(&self, name: &str) -> Command {
        Command::new(self.programs.join(name))
    }

    fn client(&self, case: &Case, folder: &Path) -> Command {
        let (program, words) = case.dialect.program();
        let mut client = self.program(program);
        client.args(words).arg("--overwrite").arg("--run-log").arg(folder.join(RUN_LOG));
        client
    }

    /// Runs a client and collects its results.
    fn watch(
        &self,
        target: Target<'_>,
        case: &Case,
        folder: &Path,
        client: Command,
    ) -> anyhow::Result<Run> {
        recreate_folder(folder)?;
        let before = tally(target)?;
        let ended = self.drive(target, case, folder, client);
        let exchanges = capture_exchanges(target.wiretap, folder)?;
        Ok(Run {
            status: ended?,
            exchanges,
            tally: tally(target)? - before,
            output: fs::read_to_string(folder.join(OUTPUT_FILE))?,
            result: result(folder)?,
        })
    }

    fn drive(
        &self,
        target: Target<'_>,
        case: &Case,
        folder: &Path,
        mut client: Command,
    ) -> anyhow::Result<ExitStatus> {
        let output = File::create(folder.join(OUTPUT_FILE))?;
        let url = format!("http://127.0.0.1:{}", target.wiretap.port());
        case.dialect.keep_result(&mut client, folder);
        client
            .current_dir(&self.workspace)
            .env("HF_HUB_OFFLINE", "1")
            .args(["--backend", case.backend, "--base-url", &url, "--disable-tqdm"])
            .args(["--model", target.serving.model, "--tokenizer"])
            .arg(target.model)
            .args(&case.flags)
            .stdout(output.try_clone()?)
            .stderr(output);
        ProcessGroup::spawn(&mut client)?.wait(LONGEST_RUN)
    }
}

fn build(workspace: &Path) -> anyhow::Result<PathBuf> {
    let packages = ["bench-serving", "bench-embedding", "bench-offline", "servemark"];
    let packages = packages.map(|name| format!("--package {name}")).join(" ");
    cargo(workspace, &format!("build --release {packages}"))?;
    let metadata = cargo(workspace, "metadata --format-version 1 --no-deps")?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"].as_str();
    Ok(Path::new(target.context("cargo tells no target folder")?).join("release"))
}

/// Observations of a case.
struct Observed {
    records: Vec<Record>,
    ours: Run,
    /// The run of the engine's own client, if there is one.
    peers: Option<Run>,
    parts: Option<Parts>,
}

fn judge(case: Case, observed: Observed) -> CaseReport {
    let Observed { records, ours, peers, parts } = observed;
    let of_parts = parts.iter().flat_map(|parts| parts.faults(&records)).collect();
    let answers: Vec<_> = ours.exchanges.iter().map(WireAnswer::of).collect();
    let miscounted = checks::miscounted(&case, &records, &answers);
    let pairs = checks::pairs(records, answers);
    let faults = checks::faults(&case.expected, &pairs);
    let comparison = peers.map(|peers| peer::compare(&pairs, &ours, &peers));
    let beside = comparison.iter().flat_map(|comparison| comparison.faults.clone());
    let faults = [miscounted, faults, of_parts].concat().into_iter().chain(beside).collect();
    CaseReport { case, pairs, faults, beside: comparison.map(|comparison| comparison.row), parts }
}

/// Returns the server's counters when they no longer change: the server updates them a little
/// later than it answers.
fn tally(target: Target<'_>) -> anyhow::Result<Tally> {
    if target.serving.peer.is_none() {
        return Ok(Tally::default());
    }
    let mut last = target.server.tally()?;
    poll(LONGEST_COUNT, || {
        let now = target.server.tally()?;
        Ok((std::mem::replace(&mut last, now) == now).then_some(now))
    })
}

/// Returns the client's result file; `null` if it does not exist.
fn result(folder: &Path) -> anyhow::Result<Value> {
    let path = folder.join(RESULT);
    if !path.exists() {
        return Ok(Value::Null);
    }
    let text = fs::read_to_string(&path)?;
    serde_json::from_str(&text).with_context(|| format!("{} is odd", path.display()))
}

fn cargo(workspace: &Path, line: &str) -> anyhow::Result<String> {
    output(cargo_command().current_dir(workspace).args(line.split(' ')))
}

/// Returns the expected exit code of the client.
fn exit_code(expected: &Expected) -> i32 {
    match expected {
        Expected::Answers(_) | Expected::Items(_) => 0,
        Expected::Refusals(_) => TOO_MANY_FAILED,
    }
}

/// Creates an empty folder, so that files of an earlier run are not taken for this one's.
pub(super) fn recreate_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Returns the exchanges on the wire and saves their bytes in the folder of the log.
fn capture_exchanges(wiretap: &Wiretap, folder: &Path) -> anyhow::Result<Vec<Exchange>> {
    let mut captured = Vec::new();
    for (number, conversation) in wiretap.take().iter().enumerate() {
        fs::write(folder.join(format!("{number}.sent")), &conversation.sent)?;
        fs::write(folder.join(format!("{number}.received")), &conversation.received)?;
        let found = exchanges(conversation).with_context(|| format!("connection {number}"))?;
        captured.extend(found.into_iter().filter(Exchange::is_inference));
    }
    Ok(captured)
}

const RUN_LOG: &str = "run.jsonl";
const OUTPUT_FILE: &str = "client.log";
const TOO_MANY_FAILED: i32 = 5;
/// A run consists of eight short answers of a tiny model and the import of a large Python
/// package.
const LONGEST_RUN: Duration = Duration::from_secs(300);
const LONGEST_COUNT: Duration = Duration::from_secs(10);
