//! Text of the events, in lines for a person.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_client::{ClientError, ClientErrorKind};
use servemark_core::{EngineFacts, Weights, printable};
use servemark_datasets::{DatasetSpec, MooncakeSpec, SkippedLines, Summary};
use servemark_plan::WorkerSpec;
use servemark_runner::Stop;

use super::{Profiler, RunEvent, Switch};

impl fmt::Display for Profiler<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorker => f.write_str(
                "Warning: PD separated mode requires --profile-prefill-url or \
                 --profile-decode-url\n\
                 Skipping profiler start. Please specify worker URLs for profiling.",
            ),
            Self::Turning(Switch::Start) => f.write_str("Starting profiler..."),
            Self::Turning(Switch::Stop) => f.write_str("Stopping profiler..."),
            Self::Turned(Switch::Start, worker) => write!(f, "Profiler started{}", of(*worker)),
            Self::Turned(Switch::Stop, worker) => write!(f, "Profiler stopped{}", of(*worker)),
            Self::Failed(Switch::Start, worker, why) => {
                write!(f, "Failed to start profiler{}: {}", of(*worker), one_line(why))
            }
            Self::Failed(Switch::Stop, worker, why) => {
                write!(f, "Failed to stop profiler{}: {}", of(*worker), one_line(why))
            }
        }
    }
}

/// Formats a worker's answer as one printable line.
fn one_line(answer: &impl fmt::Display) -> String {
    printable(&answer.to_string()).into_owned()
}

/// Names the worker of a profiler, if there are several workers.
fn of(worker: Option<&WorkerSpec>) -> String {
    let named = |worker: &WorkerSpec| format!(" for {} worker at {}", worker.label, worker.url);
    worker.map(named).unwrap_or_default()
}

impl fmt::Display for RunEvent<'_> {
    #[expect(clippy::too_many_lines, reason = "one arm for each event, in the order of a run")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulating { url } => {
                write!(f, "The target is the bundled simulator at {url}, not a real server.")
            }
            Self::Unverified { url } => write!(
                f,
                "WARNING: the TLS certificate of {url} is NOT CHECKED (--insecure). An \
                 impostor would get the API key and could send any answer."
            ),
            Self::ReuseEnded => f.write_str(
                "Note: the server closes connections after each answer although it announces \
                 keep-alive; connections are not reused.",
            ),
            Self::WaitingForServer { url, patience } => {
                let seconds = patience.as_secs_f64();
                write!(f, "Waiting up to {seconds}s for {url} to become ready...")
            }
            Self::ServerNotReady { error } => {
                write!(f, "Not ready yet: {}", one_line(&error.with_causes()))
            }
            Self::ServerReady { after } => {
                write!(f, "Server ready in {:.1}s.", after.as_secs_f64())
            }
            Self::LoadingEngine { name } => write!(f, "Loading the engine {name}..."),
            Self::EngineLoaded { facts } => {
                let took = Duration::from_nanos(facts.load_ns).as_secs_f64();
                let EngineFacts { name, version, weights, .. } = facts;
                let dummy = if *weights == Weights::Dummy { " with dummy weights" } else { "" };
                write!(f, "The engine {name} {version} is loaded{dummy} after {took:.1}s.")
            }
            Self::EngineLost { why } => write!(f, "{why}"),
            Self::AskingForModel => f.write_str("Asking the server which model it serves."),
            Self::ModelFound { name, .. } => write!(f, "The server serves {}.", printable(name)),
            Self::Fewer { dataset, asked, drawn } => write!(
                f,
                "warning: {asked} requests or conversations were asked for, and the data set {dataset} \
                 has {drawn} that can be sent"
            ),
            Self::LookingUp { what, place } => write!(f, "Looking up {what} on {place}."),
            Self::Drawn { summary, skipped, notices } => {
                write_summary(f, summary, *skipped, notices)
            }
            Self::NotAligned { url, model, error } => not_aligned(f, url, model, error),
            Self::Aligning { counted, expected } => write!(
                f,
                "WARNING: tokenizer mismatch (server={counted}, expected={expected}), re-aligning \
                 prompts."
            ),
            Self::Prepared => f.write_str("Everything is prepared."),
            Self::Recording { .. } => Ok(()),
            Self::Starting => f.write_str("Starting main benchmark run..."),
            Self::TryingFirst { patience } => {
                let seconds = patience.as_secs_f64();
                write!(f, "Trying the first request for up to {seconds}s...")
            }
            Self::NotReadyYet { error } => write!(f, "Endpoint is not ready. Error='{error}'"),
            Self::FirstAnswered => f.write_str("Initial test run completed."),
            Self::WarmingUp { requests } => {
                write!(f, "Starting warmup with {requests} sequences...")
            }
            Self::WarmedUp { requests, failed: 0 } => {
                write!(
                    f,
                    "Warmup completed with {requests} sequences. Starting main benchmark run..."
                )
            }
            Self::WarmedUp { requests, failed } => write!(
                f,
                "{failed} of {requests} warmup sequences failed. Starting main benchmark run..."
            ),
            Self::FillingCache { share, tokens } => write!(
                f,
                "Warming up cache with {:.1}% hit rate ({tokens} tokens per request)",
                share * 100.0
            ),
            Self::CacheFilled => f.write_str("Cache warmup completed"),
            Self::AuditingCache { prompts } => {
                write!(
                    f,
                    "Auditing the server's prefix cache with {prompts} prompts, twice each..."
                )
            }
            Self::CacheFlushed => f.write_str("The server's prefix cache is empty."),
            Self::Profiler(profiler) => profiler.fmt(f),
            Self::Replaying { dataset, sessions, slowdown } => {
                replaying(f, dataset, *sessions, *slowdown)
            }
            Self::Measuring { requests, shards: NonZeroUsize::MIN } => {
                write!(f, "Measuring {requests} requests.")
            }
            Self::Measuring { requests, shards } => {
                write!(f, "Measuring {requests} requests on {shards} threads.")
            }
            Self::ShardLost { shard } => write!(
                f,
                "Thread {shard} of those that send died: what it had in flight or still to send \
                 is not in the report."
            ),
            Self::Measured => f.write_str("Measured."),
            Self::KnownEnough { stop } => write!(
                f,
                "Every figure of --until is known after {} requests (look {}), so nothing more was sent.",
                stop.requests, stop.look
            ),
            Self::Stopping { level: Stop::Now, in_flight, .. } => {
                write!(f, "Giving up {in_flight} requests in flight.")
            }
            Self::Stopping { cause, grace: Some(grace), in_flight, .. } => write!(
                f,
                "Stopping: {cause}; nothing more is sent, {in_flight} requests in flight have {}s \
                 to finish (--grace).",
                grace.as_secs_f64()
            ),
            Self::Stopping { in_flight, .. } => write!(
                f,
                "Stopping: nothing more is sent, {in_flight} requests in flight are waited for. \
                 Ctrl-C again gives them up."
            ),
            Self::Strained { warning } => f.write_str(warning),
            Self::Point { number, of, name, is_done } => {
                let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
                let how = if *is_done { " was measured already" } else { "" };
                write!(f, "Point {number}{of}{how}: {name}")
            }
            Self::Testing { what } => write!(f, "Measuring the {what}..."),
            Self::Missed { what, reason } => write!(f, "Could not {what}: {reason}"),
        }
    }
}

/// Writes vLLM's messages for a failed tokenize request.
fn not_aligned(
    f: &mut fmt::Formatter<'_>,
    url: &str,
    model: &str,
    error: &ClientError,
) -> fmt::Result {
    let why = match error.kind() {
        ClientErrorKind::Connect => {
            return write!(f, "WARNING: {url} unreachable ({error}), skipping alignment.");
        }
        ClientErrorKind::Status(404) => format!(
            "404 Not Found: either this server has no /tokenize route, or it does not serve a \
             model named `{model}` (its served names are listed by GET /v1/models)"
        ),
        ClientErrorKind::Status(code) => format!("HTTP {code}"),
        _ => return write!(f, "WARNING: /tokenize probe failed ({error}), skipping alignment."),
    };
    write!(f, "WARNING: /tokenize unavailable ({why}), skipping alignment.")
}

fn write_summary(
    f: &mut fmt::Formatter<'_>,
    summary: &Summary,
    skipped: Option<&SkippedLines>,
    notices: &[String],
) -> fmt::Result {
    write!(f, "{}", summary.to_string().trim_end())?;
    skipped.map_or(Ok(()), |skipped| write!(f, "\nwarning: {}", one_line(skipped)))?;
    notices.iter().try_for_each(|notice| write!(f, "\n{}", printable(notice)))
}

/// Writes SGLang's messages about the replay of a trace. For Mooncake's trace, SGLang counts the
/// rows and gives the number of rounds of each row separately.
fn replaying(
    f: &mut fmt::Formatter<'_>,
    dataset: &DatasetSpec,
    sessions: usize,
    slowdown: f64,
) -> fmt::Result {
    let DatasetSpec::Mooncake(MooncakeSpec { rounds, .. }) = dataset else {
        let name = dataset.name();
        return write!(
            f,
            "Using the timestamps of {name}, ignoring --request-rate.\n\
             Starting trace replay. Sessions: {sessions}. Slowdown factor: {slowdown:?}"
        );
    };
    let rows = sessions / rounds.get() as usize;
    write!(
        f,
        "Using time-based Mooncake request scheduler, ignoring --request-rate.\n\
         Starting Mooncake trace replay. Sessions: {rows}, Rounds per session: {rounds}. \
         Slowdown factor: {slowdown:?}"
    )
}
