//! Who watches a run, and what they are told.

mod words;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use servemark_client::ClientError;
use servemark_core::{EarlyStop, EngineFacts, Phase, Progress, RequestError, RequestRecord};
use servemark_datasets::{DatasetSpec, SkippedLines, Summary};
use servemark_plan::WorkerSpec;
use servemark_runner::Stop;
use servemark_signals::StopCause;

/// Watches a run: hears the [`News`], sees the progress of long preparations, and may look at the
/// [`Live`] counters whenever it likes. Nothing that it does touches the measured path.
pub trait Audience: Progress {
    /// Something happened.
    fn tell(&self, news: &News<'_>);
}

/// Nobody watches.
impl Audience for servemark_core::NoProgress {
    fn tell(&self, _news: &News<'_>) {}
}

/// What happens around the requests of a run. [`Display`](std::fmt::Display) gives a line for a person,
/// in SGLang's words where it has some.
#[derive(Debug)]
#[non_exhaustive]
pub enum News<'a> {
    /// The target is the bundled simulator.
    Simulating {
        /// Where it listens.
        url: &'a str,
    },
    /// The server's TLS certificate will not be checked.
    Unverified {
        /// Whose.
        url: &'a str,
    },
    /// The server closes connections after answers that announce keep-alive, so they are not reused.
    ReuseEnded,
    /// The server is asked until it is ready.
    WaitingForServer {
        /// What is asked.
        url: &'a str,
        /// How long at most.
        patience: Duration,
    },
    /// It is ready.
    ServerReady {
        /// After how long.
        after: Duration,
    },
    /// An engine is loaded, which takes its time.
    LoadingEngine {
        /// Which.
        name: &'a str,
    },
    /// It is loaded.
    EngineLoaded {
        /// What it is.
        facts: &'a EngineFacts,
    },
    /// It ended before the run did.
    EngineLost {
        /// How, and what it said last.
        why: &'a str,
    },
    /// The model was not named and the server is asked.
    AskingForModel,
    /// The server said it.
    ModelFound {
        /// Its name.
        name: &'a str,
        /// Where the server has it from; its name, if the server does not say.
        root: &'a str,
    },
    /// Something that was given by name is looked for, and downloaded if it is not here.
    LookingUp {
        /// What.
        what: &'a str,
        /// Where it is published, such as `the hub` or `GitHub`.
        place: &'a str,
    },
    /// The samples are drawn.
    Drawn {
        /// What they are.
        summary: &'a Summary,
        /// Lines of the file that were left out.
        skipped: Option<&'a SkippedLines>,
        /// What else a person should know of them.
        notices: &'a [String],
    },
    /// The data set gave fewer sessions than were asked for.
    Fewer {
        /// The data set.
        dataset: &'a str,
        /// The number that was asked for.
        asked: usize,
        /// The number that can be sent.
        drawn: usize,
    },
    /// The server does not count the tokens of a prompt, so that prompts stay as they were drawn.
    NotAligned {
        /// Who was asked.
        url: &'a str,
        /// About which model.
        model: &'a str,
        /// What came of it.
        error: &'a ClientError,
    },
    /// The server counts other tokens, and prompts that are too long by its count are cut.
    Aligning {
        /// How many it counts in the first prompt.
        counted: usize,
        /// How many there should be.
        expected: usize,
    },
    /// Everything is drawn, and the server's turn comes.
    Prepared,
    /// The first request is tried until it is answered.
    TryingFirst {
        /// For how long at most.
        patience: Duration,
    },
    /// A try of it failed.
    NotReadyYet {
        /// How.
        error: &'a RequestError,
    },
    /// It was answered well.
    FirstAnswered,
    /// The warm-up begins.
    WarmingUp {
        /// How many requests it has.
        requests: usize,
    },
    /// It is over, and the measurement is next.
    WarmedUp {
        /// How many requests it had.
        requests: usize,
        /// How many of them failed.
        failed: usize,
    },
    /// The server's prefix cache was emptied.
    CacheFlushed,
    /// The first part of every prompt is put into it.
    FillingCache {
        /// How much of each, 0 to 1.
        share: f64,
        /// How many tokens that is.
        tokens: usize,
    },
    /// It is there.
    CacheFilled,
    /// The profiler is turned on or off.
    Profiler(Profiler<'a>),
    /// Requests will be sent when a trace says.
    Replaying {
        /// Whose trace.
        dataset: &'a DatasetSpec,
        /// How many sessions it has.
        sessions: usize,
        /// By how much it is stretched.
        slowdown: f64,
    },
    /// The warm-up is over: profilers are started next, and then requests.
    Starting,
    /// The measurement begins.
    Measuring {
        /// How many requests it has.
        requests: usize,
        /// How many threads send and read them.
        shards: NonZeroUsize,
    },
    /// A thread that sent and read died.
    ShardLost {
        /// Which, from zero.
        shard: usize,
    },
    /// The measurement is over.
    Measured,
    /// Every figure that was to be known is known, so nothing more was sent.
    KnownEnough {
        /// The look that showed it.
        stop: EarlyStop,
    },
    /// The user asked the run to stop.
    Stopping {
        /// How far.
        level: Stop,
        /// The signal by which it was asked.
        cause: StopCause,
        /// How long requests in flight may take to finish, if there is a limit.
        grace: Option<Duration>,
        /// How many requests are on their way.
        in_flight: u64,
    },
    /// The plan asks for nearly as much as this machine can do, or for more.
    Strained {
        /// How much, and what to do.
        warning: &'a str,
    },
    /// A sweep goes on to its next point.
    Point {
        /// The how-manieth, from one.
        number: usize,
        /// Of how many, where that is known.
        of: Option<usize>,
        /// The point.
        name: &'a str,
        /// Whether its run log is there already.
        is_done: bool,
    },
    /// A self-test goes on to its next load.
    Testing {
        /// What is measured.
        what: &'a str,
    },
    /// Something that the run can do without did not work.
    Missed {
        /// What.
        what: &'static str,
        /// Why.
        reason: String,
    },
}

/// How a profiler is turned on or off: the server's, or a worker's behind it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Profiler<'a> {
    /// It was asked for, and there is no worker that could be told.
    Nobody,
    /// It is about to be told.
    Turning(Switch),
    /// It did as it was told.
    Turned(Switch, Option<&'a WorkerSpec>),
    /// It did not.
    Failed(Switch, Option<&'a WorkerSpec>, ClientError),
}

/// Which way. Closed: a switch has two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Switch {
    /// On.
    Start,
    /// Off.
    Stop,
}

/// Counters of a run while it happens, for whoever wants to look.
#[derive(Debug, Default)]
pub struct Live {
    activity: Mutex<Activity>,
    started: AtomicU64,
    finished: AtomicU64,
    failed: AtomicU64,
    sessions: AtomicU64,
}

/// What a program is doing, as far as it matters when it is told to end.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Activity {
    /// Something that ends when the run is stopped, such as waiting for the server.
    #[default]
    Preparing,
    /// Tokenizers are loaded and samples drawn; if the run is stopped, that is left behind.
    Drawing,
    /// Requests of the measurement are sent and waited for.
    Measuring,
    /// The measurement is over, or was stopped before it began, and the results of all runs that were
    /// measured are made and written.
    Reporting,
}

impl Live {
    /// What is being done now.
    pub fn activity(&self) -> Activity {
        *self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is being done now.
    pub(crate) fn turn_to(&self, activity: Activity) {
        *self.activity.lock().unwrap_or_else(PoisonError::into_inner) = activity;
    }

    /// Requests of the measurement that are over.
    pub fn finished(&self) -> u64 {
        self.finished.load(Relaxed)
    }

    /// Those of them that failed.
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Sessions of this measurement, and of those before it, that are over: conversations, or single
    /// requests.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Relaxed)
    }

    /// Requests of the measurement that are on their way.
    pub fn in_flight(&self) -> u64 {
        self.started.load(Relaxed).saturating_sub(self.finished())
    }

    /// A measurement begins, and counts from zero, or is over.
    pub(crate) fn measure(&self, measuring: bool) {
        if measuring {
            for counter in [&self.started, &self.finished, &self.failed] {
                counter.store(0, Relaxed);
            }
        }
        self.turn_to(if measuring { Activity::Measuring } else { Activity::Reporting });
    }

    pub(crate) fn count_start(&self, phase: Phase) {
        if phase == Phase::Measure {
            self.started.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn count_end(&self, record: &RequestRecord) {
        if record.phase == Phase::Measure {
            let failed = !record.is_success();
            let ends_session = failed || record.planned.follow_ups == 0;
            self.failed.fetch_add(failed.into(), Relaxed);
            self.sessions.fetch_add(ends_session.into(), Relaxed);
            self.finished.fetch_add(1, Relaxed);
        }
    }
}
