//! Runs whole benchmarking programs as users run them: Servemark's, and its peers'.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use servemark::core::{Clock, Stamp};
use servemark::mock::TruthRow;
use servemark::pacer::MachineClock;

use super::noise::NoiseMeter;
use super::server::Server;
use super::test_bed::{Observed, TestBed};

mod command;
mod installed;
mod reported;
mod usage;

pub use installed::{Installed, ProgramPaths};
pub(super) use reported::Reported;
use usage::Usage;

/// A benchmarking program. The enum is closed: its command line must be known here.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Servemark's own `bench-serving`.
    Servemark,
    /// SGLang's `bench_serving`.
    SglangPython,
    /// SGLang's client in Rust, which its wheel contains compiled.
    SglangRust,
    /// vLLM's `vllm bench serve`.
    VllmPython,
    /// vLLM's client in Rust, which its wheel contains compiled.
    VllmRust,
}

impl Program {
    /// All known programs.
    pub const ALL: [Self; 5] =
        [Self::Servemark, Self::SglangPython, Self::SglangRust, Self::VllmPython, Self::VllmRust];

    /// Returns the name that selects the program and that tables use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Servemark => "bench-serving",
            Self::SglangPython => "sglang-python",
            Self::SglangRust => "sglang-rust",
            Self::VllmPython => "vllm-python",
            Self::VllmRust => "vllm-rust",
        }
    }

    /// Returns the approximate time to start and to end, and the time for a chunk; generous
    /// estimates.
    pub(super) fn time_budget(self) -> (Duration, Duration) {
        let (seconds, micros) = match self {
            Self::Servemark => (1, 4),
            Self::SglangRust | Self::VllmRust => (2, 15),
            Self::SglangPython | Self::VllmPython => (5, 30),
        };
        (Duration::from_secs(seconds), Duration::from_micros(micros))
    }

    /// Returns whether the program can send a workload. SGLang's client in Rust has no embeddings,
    /// and Servemark has another program for them.
    pub(super) fn can(self, workload: &Workload) -> bool {
        !workload.embeddings || !matches!(self, Self::SglangRust | Self::Servemark)
    }
}

/// The workload that a program is told to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Workload {
    requests: usize,
    prompt_tokens: u32,
    output_tokens: u32,
    in_flight: Option<usize>,
    per_second: Option<f64>,
    embeddings: bool,
}

impl Workload {
    /// Creates a workload of chat requests, all at once.
    pub(super) fn new(requests: usize, prompt_tokens: u32, output_tokens: u32) -> Self {
        Self {
            requests,
            prompt_tokens,
            output_tokens,
            in_flight: None,
            per_second: None,
            embeddings: false,
        }
    }

    /// Limits the number of requests in flight.
    pub(super) fn in_flight(self, in_flight: usize) -> Self {
        Self { in_flight: Some(in_flight), ..self }
    }

    /// Sends the requests as a Poisson process of this rate.
    pub(super) fn at_rate(self, per_second: f64) -> Self {
        Self { per_second: Some(per_second), ..self }
    }

    /// Sends embeddings instead of chat requests.
    pub(super) fn embeddings(self) -> Self {
        Self { embeddings: true, ..self }
    }
}

/// Result of a program's run.
#[derive(Debug)]
pub(super) struct ProgramRun {
    /// Times in the program's result file.
    pub(super) reported: Reported,
    /// When the program was started, by the machine's clock.
    pub(super) started: Stamp,
    /// Time from the first request's arrival to the last chunk's sending, by the server.
    pub(super) busy: Duration,
    /// CPU time of the program on all cores in that time.
    pub(super) cpu: Duration,
}

/// Runs a program, during which the server must do nothing else, and returns the result.
pub(super) fn observe(
    program: Program,
    workload: &Workload,
    bed: &TestBed<'_>,
    server: &mut Server,
) -> anyhow::Result<Observed<ProgramRun>> {
    let folder = tempfile::tempdir()?;
    let result = folder.path().join("result.json");
    let mut command = bed.places.command(program)?;
    command.args(command::arguments(program, workload, server.url(), &result));
    let before = server.account()?;
    let meter = NoiseMeter::start();
    let started = MachineClock.now();
    let usage = run(command, bed)?;
    let account = server.account()?.since(&before);
    let mut noise = meter.stop(Duration::from_nanos(account.waited_ns));
    (noise.waited_ms, noise.switches) = usage.noise();
    let sent = account.truth.len();
    ensure!(sent == workload.requests, "it sent {sent} of {} requests", workload.requests);
    let (first, last) = span(&account.truth).context("it sent nothing")?;
    let text = std::fs::read_to_string(&result).context("it wrote no result")?;
    let reported = Reported::parse(&text)?;
    let (busy, cpu) = (last.since(first), usage.between(first, last));
    Ok(Observed { result: ProgramRun { reported, started, busy, cpu }, account, noise })
}

/// Runs a program to its end, and records its CPU time. The recording runs on the server's core, so
/// that it does not disturb the program.
fn run(mut command: Command, bed: &TestBed<'_>) -> anyhow::Result<Usage> {
    let mut errors = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.try_clone()?);
    let mut child = command.spawn().context("it does not start")?;
    bed.on_servers_core(|| {
        let mut usage = Usage::of(child.id());
        let deadline = MachineClock.now() + MOST;
        while child.try_wait()?.is_none() {
            usage.note();
            std::thread::park_timeout(BETWEEN_NOTES);
            if MachineClock.now() > deadline {
                give_up(&mut child)?;
            }
        }
        let status = child.wait()?;
        ensure!(status.success(), "it ended with {status}: {}", last_line(&mut errors)?);
        Ok(usage)
    })
}

fn give_up(child: &mut Child) -> anyhow::Result<()> {
    child.kill()?;
    child.wait()?;
    anyhow::bail!("it was not done after {} seconds", MOST.as_secs())
}

fn last_line(errors: &mut std::fs::File) -> anyhow::Result<String> {
    use std::io::{Read, Seek};

    let mut text = Vec::new();
    errors.rewind()?;
    errors.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let said = text.lines().rev().find(|line| !line.trim().is_empty());
    Ok(said.unwrap_or("it did not say why").to_owned())
}

/// Returns the instants of the first request's arrival and of the last chunk's sending.
fn span(truth: &[TruthRow]) -> Option<(Stamp, Stamp)> {
    let last = |row: &TruthRow| {
        row.received + Duration::from_nanos(row.sent_ns.last().copied().unwrap_or_default())
    };
    Some((truth.iter().map(|row| row.received).min()?, truth.iter().map(last).max()?))
}

/// Time between two recordings of a program's CPU time; the kernel counts it in ticks of ten
/// milliseconds.
const BETWEEN_NOTES: Duration = Duration::from_millis(40);

/// Longest duration of a program; one that takes longer hangs.
const MOST: Duration = Duration::from_secs(180);
