//! Observers of a run and the events that they receive.

mod words;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_client::ClientError;
use servemark_core::{EarlyStop, EngineFacts, Phase, Progress, RequestError, RequestRecord};
use servemark_datasets::{DatasetSpec, SkippedLines, Summary};
use servemark_plan::WorkerSpec;
use servemark_runner::Stop;
use servemark_signals::StopCause;

/// Observes a run: receives [`RunEvent`] events and the progress of long preparations, and may read
/// the [`Live`] counters at any time. An observer does not affect the measured path.
pub trait RunObserver: Progress {
    /// Handles an event.
    fn on_event(&self, event: &RunEvent<'_>);

    /// Handles the record of a completed request, in the order in which requests end. The thread
    /// that writes the run log calls it, so it does not delay requests, but a slow observer delays
    /// the log.
    fn on_record(&self, record: &RequestRecord) {
        let _ = record;
    }
}

/// Ignores all events.
impl RunObserver for servemark_core::NoProgress {
    fn on_event(&self, _event: &RunEvent<'_>) {}
}

/// An event of a run outside its requests. [`Display`](std::fmt::Display) writes it as a line for
/// a person, in SGLang's wording if SGLang has one for it.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The target is the bundled simulator.
    Simulating {
        /// URL of the simulator.
        url: &'a str,
    },
    /// The server's TLS certificate will not be verified.
    Unverified {
        /// URL of the server.
        url: &'a str,
    },
    /// The server closes connections after answers that announce keep-alive, so connections are
    /// not reused.
    ReuseEnded,
    /// The server is being polled until it is ready.
    WaitingForServer {
        /// URL of the server.
        url: &'a str,
        /// Maximum time to wait.
        patience: Duration,
    },
    /// The server is not ready yet for a reason that was not reported before; it is polled again.
    ServerNotReady {
        /// Error of the last try.
        error: &'a ClientError,
    },
    /// The server is ready.
    ServerReady {
        /// Time that the server took to become ready.
        after: Duration,
    },
    /// An engine is being loaded.
    LoadingEngine {
        /// Name of the engine.
        name: &'a str,
    },
    /// The engine is loaded.
    EngineLoaded {
        /// Name, version and properties of the engine.
        facts: &'a EngineFacts,
    },
    /// The engine ended before the run did.
    EngineLost {
        /// How the engine ended and its last output.
        why: &'a str,
    },
    /// The plan names no model, so the server is asked for one.
    AskingForModel,
    /// The server named its model.
    ModelFound {
        /// Name of the model.
        name: &'a str,
        /// Path or name from which the server loaded the model; the model's name if the server
        /// does not report it.
        root: &'a str,
    },
    /// A tokenizer, model or data set that was given by name is looked up, and downloaded if it
    /// is not cached.
    LookingUp {
        /// Description of what is looked up.
        what: &'a str,
        /// Place where it is published, such as `the hub` or `GitHub`.
        place: &'a str,
    },
    /// The samples were drawn.
    Drawn {
        /// Summary of the samples.
        summary: &'a Summary,
        /// Lines of the file that were skipped.
        skipped: Option<&'a SkippedLines>,
        /// Additional notices of the data set for the user.
        notices: &'a [String],
    },
    /// The data set yielded fewer sessions than requested.
    Fewer {
        /// Name of the data set.
        dataset: &'a str,
        /// Number of sessions requested.
        asked: usize,
        /// Number of sessions that can be sent.
        drawn: usize,
    },
    /// The server could not count the tokens of a prompt, so prompts keep their drawn lengths.
    NotAligned {
        /// URL of the server.
        url: &'a str,
        /// Name of the model in the tokenize request.
        model: &'a str,
        /// Error of the tokenize request.
        error: &'a ClientError,
    },
    /// The server's token count differs from the planned length; prompts that are too long by the
    /// server's count are cut.
    Aligning {
        /// Number of tokens that the server counts in the first prompt that differs.
        counted: usize,
        /// Planned number of tokens of that prompt.
        expected: usize,
    },
    /// All preparations without the server are complete.
    Prepared,
    /// The run log was opened. This event has no text.
    Recording {
        /// Path of the file, which may be a numbered one.
        run_log: &'a Path,
    },
    /// The first request is being retried until it succeeds.
    TryingFirst {
        /// Maximum time to retry.
        patience: Duration,
    },
    /// An attempt of the first request failed.
    NotReadyYet {
        /// Error of the attempt.
        error: &'a RequestError,
    },
    /// The first request succeeded.
    FirstAnswered,
    /// The warm-up begins.
    WarmingUp {
        /// Number of warm-up requests.
        requests: usize,
    },
    /// The warm-up is over; the measurement is next.
    WarmedUp {
        /// Number of warm-up requests.
        requests: usize,
        /// Number of warm-up requests that failed.
        failed: usize,
    },
    /// The server's prefix cache was emptied.
    CacheFlushed,
    /// The measurement is over, and the server's prefix cache is audited.
    AuditingCache {
        /// Number of prompts, each of which is sent twice.
        prompts: usize,
    },
    /// The server's prefix cache is being filled with the beginning of every prompt.
    FillingCache {
        /// Share of each prompt that is put into the cache, 0 to 1.
        share: f64,
        /// Number of tokens of that share.
        tokens: usize,
    },
    /// The server's prefix cache was filled.
    CacheFilled,
    /// A profiler is turned on or off.
    Profiler(Profiler<'a>),
    /// Requests will be sent at the times of a trace.
    Replaying {
        /// Data set that contains the trace.
        dataset: &'a DatasetSpec,
        /// Number of sessions in the trace.
        sessions: usize,
        /// Factor by which the times of the trace are stretched.
        slowdown: f64,
    },
    /// The warm-up is over; profilers are started next, and then requests.
    Starting,
    /// The measurement begins.
    Measuring {
        /// Number of requests to measure.
        requests: usize,
        /// Number of client threads that send and read requests.
        shards: NonZeroUsize,
    },
    /// A client thread died.
    ShardLost {
        /// Zero-based index of the thread.
        shard: usize,
    },
    /// The measurement is over.
    Measured,
    /// Every targeted figure is known precisely enough, so no more requests are sent.
    KnownEnough {
        /// Interim analysis at which the run was stopped.
        stop: EarlyStop,
    },
    /// The user asked the run to stop.
    Stopping {
        /// Whether requests in flight may finish or are aborted.
        level: Stop,
        /// Signal that stopped the run.
        cause: StopCause,
        /// Time that requests in flight have to finish, if it is limited.
        grace: Option<Duration>,
        /// Number of requests in flight.
        in_flight: u64,
    },
    /// The plan needs nearly all of this machine's capacity, or more than it has.
    Strained {
        /// Estimated load and advice, as text.
        warning: &'a str,
    },
    /// A sweep begins its next point.
    Point {
        /// One-based index of the point.
        number: usize,
        /// Total number of points, if it is known.
        of: Option<usize>,
        /// Name of the point.
        name: &'a str,
        /// Whether the point's run log already exists.
        is_done: bool,
    },
    /// A self-test begins its next load.
    Testing {
        /// Description of what is measured.
        what: &'a str,
    },
    /// An optional step of the run failed.
    Missed {
        /// Description of the step, as it follows "Could not".
        what: &'static str,
        /// Reason of the failure.
        reason: String,
    },
}

/// An event of a profiler of the server or of a worker behind it.
#[derive(Debug)]
pub enum Profiler<'a> {
    /// A profiler was requested, but no worker URLs are configured.
    NoWorker,
    /// A profiler is about to be turned on or off.
    Turning(Switch),
    /// A profiler was turned on or off.
    Turned(Switch, Option<&'a WorkerSpec>),
    /// A profiler could not be turned on or off.
    Failed(Switch, Option<&'a WorkerSpec>, ClientError),
}

/// Whether a profiler is turned on or off.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Switch {
    /// Turns the profiler on.
    Start,
    /// Turns the profiler off.
    Stop,
}

/// Counters of a run in progress.
#[derive(Debug, Default)]
pub struct Live {
    activity: Mutex<Activity>,
    started: AtomicU64,
    finished: AtomicU64,
    failed: AtomicU64,
    sessions: AtomicU64,
    /// Nanoseconds from the start to the end of each completed request, summed up.
    busy_ns: AtomicU64,
    /// Counts of the other processes that share the run.
    elsewhere: Mutex<LiveCounts>,
}

/// Counts of the requests of a measurement in progress.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct LiveCounts {
    /// Number of started requests.
    pub started: u64,
    /// Number of completed requests.
    pub finished: u64,
    /// Number of failed requests.
    pub failed: u64,
    /// Number of completed sessions.
    pub sessions: u64,
    /// Nanoseconds in flight of all completed requests together.
    pub busy_ns: u64,
}

impl std::ops::Add for LiveCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            started: self.started + other.started,
            finished: self.finished + other.finished,
            failed: self.failed + other.failed,
            sessions: self.sessions + other.sessions,
            busy_ns: self.busy_ns + other.busy_ns,
        }
    }
}

/// Phase of the program, as far as it matters for termination.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Activity {
    /// Preparation that ends when the run is stopped, such as waiting for the server.
    #[default]
    Preparing,
    /// Loading tokenizers and drawing samples; if the run is stopped, this work is abandoned.
    Drawing,
    /// Sending the requests of the measurement and waiting for their answers.
    Measuring,
    /// Computing and writing the results of all measured runs, after the measurement ended or was
    /// stopped before it began.
    Reporting,
}

impl Live {
    /// Returns the current phase.
    pub fn activity(&self) -> Activity {
        *self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the current phase.
    pub(crate) fn turn_to(&self, activity: Activity) {
        *self.activity.lock().unwrap_or_else(PoisonError::into_inner) = activity;
    }

    /// Returns the counts of this process alone.
    pub fn own_counts(&self) -> LiveCounts {
        LiveCounts {
            started: self.started.load(Relaxed),
            finished: self.finished.load(Relaxed),
            failed: self.failed.load(Relaxed),
            sessions: self.sessions.load(Relaxed),
            busy_ns: self.busy_ns.load(Relaxed),
        }
    }

    /// Sets the counts of the other processes that share the run.
    pub fn set_elsewhere(&self, counts: LiveCounts) {
        *self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner) = counts;
    }

    /// Returns the counts of all processes that share the run.
    fn counts(&self) -> LiveCounts {
        self.own_counts() + *self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of completed requests of the measurement.
    pub fn finished(&self) -> u64 {
        self.counts().finished
    }

    /// Returns the number of failed requests of the measurement.
    pub fn failed(&self) -> u64 {
        self.counts().failed
    }

    /// Returns the number of completed sessions (conversations or single requests) of this
    /// measurement and earlier ones.
    pub fn sessions(&self) -> u64 {
        self.counts().sessions
    }

    /// Returns the number of requests of the measurement in flight.
    pub fn in_flight(&self) -> u64 {
        let LiveCounts { started, finished, .. } = self.counts();
        started.saturating_sub(finished)
    }

    /// Returns the time in flight of all completed requests of the measurement together.
    pub fn busy(&self) -> Duration {
        Duration::from_nanos(self.counts().busy_ns)
    }

    /// Marks the beginning of a measurement, which resets the request counters.
    pub(crate) fn begin_measurement(&self) {
        for counter in [&self.started, &self.finished, &self.failed, &self.busy_ns] {
            counter.store(0, Relaxed);
        }
        self.set_elsewhere(LiveCounts::default());
        self.turn_to(Activity::Measuring);
    }

    /// Marks the end of a measurement.
    pub(crate) fn end_measurement(&self) {
        self.turn_to(Activity::Reporting);
    }

    pub(crate) fn count_start(&self, phase: Phase) {
        if phase == Phase::Measure {
            self.started.fetch_add(1, Relaxed);
        }
    }

    /// Counts a request among the failed ones that was counted as completed before.
    pub(crate) fn count_late_failure(&self, phase: Phase) {
        if phase == Phase::Measure {
            self.failed.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn count_end(&self, record: &RequestRecord) {
        if record.phase == Phase::Measure {
            let failed = !record.is_success();
            let ends_session = failed || record.planned.follow_ups == 0;
            self.failed.fetch_add(failed.into(), Relaxed);
            self.sessions.fetch_add(ends_session.into(), Relaxed);
            let busy = record.ended.since(record.started()).as_nanos();
            self.busy_ns.fetch_add(u64::try_from(busy).unwrap_or(u64::MAX), Relaxed);
            self.finished.fetch_add(1, Relaxed);
        }
    }
}
