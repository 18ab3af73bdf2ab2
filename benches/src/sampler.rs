//! Measures what reading the metrics of servers costs beside a run.
//!
//! A round has three runs of the same load against the simulator: one alone, one beside which metrics
//! are read from an exporter in a process of its own, and one beside which a bare receiver reads the
//! same texts. The exporter answers with the texts of real servers, of which a share of the numbers
//! changes with every request. The cost is the CPU time of the threads that read, by the kernel's
//! clocks of these threads. The effect is the error of the p99 gap between tokens against the
//! simulator's own log.

mod bare;
mod exporter;
mod options;

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use servemark::backends::{BackendName, BackendSpec, CommonSpec};
use servemark::core::{IfTaken, NoProgress, RunLog};
use servemark::datasets::{DatasetSpec, RandomSpec, RangeRatio, Source};
use servemark::metrics::{MetricPolicy, Metrics};
use servemark::mock::MockSpec;
use servemark::plan::{BenchPlan, MetricsSource, ServerSpec, TelemetrySpec, WorkloadSpec};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::tokenizer::TokenizerSpec;
use servemark::{RunContext, execute};

pub use self::exporter::export;
pub use self::options::Options;
use crate::overhead::proc::cpu_of_thread;

/// A run alone, one beside which metrics were read, and one beside a bare receiver.
#[derive(Clone, Debug)]
pub struct Round {
    /// Error of the p99 gap of the run alone, in milliseconds.
    pub alone_ms: f64,
    /// Error of the p99 gap of the other run, in milliseconds.
    pub beside_ms: f64,
    /// Share of a core that the reading threads used.
    pub share: f64,
    /// Share of a core that the bare receiver used.
    pub bare_share: f64,
    /// Share of a core that the thread which writes the run log used beyond that of the run alone.
    pub log_share: f64,
    /// Number of answers that it read.
    pub readings: usize,
}

/// Measures rounds of runs. `exporter` starts the process that answers with metrics.
pub fn measure(
    options: &Options,
    exporter: &[&OsStr],
    progress: impl Fn(&str),
) -> anyhow::Result<Vec<Round>> {
    let (exporter, folder) = (Exporter::start(exporter)?, tempfile::tempdir()?);
    let mut rounds = Vec::new();
    for number in 1..=options.runs {
        let path = folder.path().join(format!("{number}.jsonl"));
        let measured = |exporter: Option<&Exporter>| {
            while_running(|| run(&plan(options, &path, exporter)?), options.shortest())
        };
        let (alone, [_, _, log_alone, _]) = measured(None)?;
        let (beside, [share, opening, log_beside, _]) = measured(Some(&exporter))?;
        let (_, [.., bare_share]) =
            bare::beside(BARE, &exporter.addr, options.urls, options.interval, || measured(None))?;
        let share = share.zip(opening).map(|(reading, opening)| reading + opening);
        let log_share = log_beside.zip(log_alone).map(|(beside, alone)| beside - alone);
        let round = Round {
            alone_ms: error_ms(&alone)?,
            beside_ms: error_ms(&beside)?,
            share: share.context("the threads that read metrics were not seen")?,
            bare_share: bare_share.context("the bare receiver was not seen")?,
            log_share: log_share.context("the thread that writes the log was not seen")?,
            readings: beside.telemetry().samples.len(),
        };
        progress(&format!("round {number} of {}: {round:?}", options.runs));
        rounds.push(round);
    }
    Ok(rounds)
}

/// Writes the rounds as a Markdown table, and the medians.
pub fn write_table(options: &Options, rounds: &[Round], out: &mut dyn Write) -> io::Result<()> {
    let Options { urls, interval, changing, streams, .. } = options;
    let interval_ms = interval.as_millis();
    writeln!(
        out,
        "{urls} URLs every {interval_ms} ms beside {streams} streams, {changing} % of the numbers new:\n"
    )?;
    writeln!(
        out,
        "| round | answers read | share of a core | bare receiver | more for the log | p99 ITL error alone | beside it |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for (number, round) in (1..).zip(rounds) {
        let Round { alone_ms, beside_ms, share, bare_share, log_share, readings } = round;
        writeln!(
            out,
            "| {number} | {readings} | {:.3} % | {:.3} % | {:.3} % | {alone_ms:+.3} ms | {beside_ms:+.3} ms |",
            share * 100.0,
            bare_share * 100.0,
            log_share * 100.0
        )?;
    }
    let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value).collect());
    writeln!(
        out,
        "| median | | {:.3} % | {:.3} % | {:.3} % | {:+.3} ms | {:+.3} ms |",
        of(|round| round.share) * 100.0,
        of(|round| round.bare_share) * 100.0,
        of(|round| round.log_share) * 100.0,
        of(|round| round.alone_ms),
        of(|round| round.beside_ms)
    )
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The process that answers with metrics. It ends when it is dropped.
struct Exporter {
    process: Child,
    addr: String,
}

impl Exporter {
    fn start(command: &[&OsStr]) -> anyhow::Result<Self> {
        let (program, args) = command.split_first().context("no program was given")?;
        let mut process = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the exporter")?;
        let stdout = process.stdout.take().context("the exporter has no output")?;
        let mut addr = String::new();
        BufReader::new(stdout).read_line(&mut addr).context("cannot read the address")?;
        Ok(Self { process, addr: addr.trim().to_owned() })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn plan(
    options: &Options,
    run_log: &Path,
    exporter: Option<&Exporter>,
) -> anyhow::Result<BenchPlan> {
    let mut mock = MockSpec::new(Duration::from_millis(20), options.itl);
    mock.keep_requests = 0;
    let dataset = RandomSpec {
        source: Source::Vocabulary,
        input_tokens: 16,
        output_tokens: options.tokens,
        range_ratio: RangeRatio::FIXED,
        ..RandomSpec::default()
    };
    let mut plan = BenchPlan::new(
        ServerSpec::Simulated(mock),
        BackendName::VllmChat,
        BackendSpec::new(BackendName::VllmChat, CommonSpec::default()),
        WorkloadSpec::new(DatasetSpec::Random(dataset), options.streams),
        LoadSpec::new(ArrivalSpec::Burst),
    );
    plan.model.tokenizer = Some(TokenizerSpec::new(TOKENIZER));
    plan.output.run_log = Some(run_log.to_owned());
    plan.output.run_log_if_taken = IfTaken::Replace;
    if let Some(Exporter { addr, .. }) = exporter {
        let url = |number: usize| format!("http://{addr}/{number}").parse();
        let urls = (0..options.urls).map(url).collect::<Result<Vec<_>, _>>()?;
        let mut spec = TelemetrySpec::new(urls.into_iter().map(MetricsSource::Url).collect());
        spec.interval = options.interval;
        plan.control.telemetry = Some(spec);
    }
    Ok(plan)
}

fn run(plan: &BenchPlan) -> anyhow::Result<RunLog> {
    let log = execute(plan, &RunContext::new(Arc::new(NoProgress)))?.log;
    let failed = log.measured().filter(|record| !record.is_success()).count();
    ensure!(failed == 0, "{failed} requests failed");
    Ok(log)
}

fn error_ms(log: &RunLog) -> anyhow::Result<f64> {
    let truth = Metrics::score(log, &MetricPolicy::native()).truth.context("no truth")?;
    Ok(truth.p99_itl.context("no gaps between tokens")?.difference_ms)
}

/// Calls `work` while recording the CPU time of [`THREADS`]. Returns for each the share of a core
/// that it used between its first and its last recording, if they lie at least `shortest` apart.
fn while_running<T>(
    work: impl FnOnce() -> anyhow::Result<T>,
    shortest: Duration,
) -> anyhow::Result<(T, [Option<f64>; 4])> {
    let is_over = Arc::new(AtomicBool::new(false));
    let watching = thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || watch(&is_over)
    });
    let result = work();
    is_over.store(true, Ordering::Relaxed);
    let seen = watching.join().ok().context("the watching thread panicked")?;
    let shares = seen.map(|seen| {
        let (first, last) = seen.first().zip(seen.last())?;
        let span = last.0.duration_since(first.0);
        let used = last.1.saturating_sub(first.1).as_secs_f64();
        (span >= shortest).then(|| used / span.as_secs_f64())
    });
    Ok((result?, shares))
}

/// Returns the recordings of each of [`THREADS`]: when, and the CPU time so far.
#[expect(clippy::disallowed_methods, reason = "nothing is measured by the sleep")]
fn watch(is_over: &AtomicBool) -> [Vec<(Instant, Duration)>; 4] {
    let mut seen = [const { Vec::new() }; 4];
    while !is_over.load(Ordering::Relaxed) {
        for (seen, thread) in seen.iter_mut().zip(THREADS) {
            seen.extend(cpu_of_thread("self", thread).map(|used| (Instant::now(), used)));
        }
        thread::sleep(Duration::from_millis(20));
    }
    seen
}

/// Names of the threads that read metrics, of the one that writes the run log, and of the bare
/// receiver.
const THREADS: [&str; 4] = ["telemetry", "telemetry-open", "run-log", BARE];

const BARE: &str = "bare-receiver";

const TOKENIZER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/tokenizers/spm-unigram-botchan-1000");
