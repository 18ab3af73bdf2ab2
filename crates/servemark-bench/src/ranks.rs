//! A run that several processes, usually on several machines, share.
//!
//! Every process draws the whole load and sends its part: session `i` belongs to rank `i mod n`.
//! They only have to agree on the plan, on the load, on the start and on the end; a [`RankGroup`]
//! does that. Nothing is agreed on per request.

use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;

use servemark_core::{HostFacts, MonotonicClock, RankClock, RankMachine, RankStart};
use servemark_plan::BenchPlan;
use servemark_runner::{Share, SharedPlaces, StopHandle};

use crate::{ExitCode, Live, Run};

/// The processes that share runs, as one of them sees them.
///
/// [`execute`](crate::execute()) calls the methods in the order in which they stand here, once for
/// each run. The group of rank 0 hands its plan to the other ranks; each of them executes that plan
/// with a group of its own.
pub trait RankGroup: fmt::Debug + Send + Sync {
    /// Returns which of the processes this is.
    fn place(&self) -> RankPlace;

    /// Returns whether the ranks hand places of a concurrency limit to each other; otherwise each has
    /// its fixed share of the limit.
    fn shares_places(&self) -> bool {
        false
    }

    /// Begins a run and returns its name, which all ranks have in their logs. Rank 0 gives the plan
    /// to the other ranks.
    fn begin(&self, run: RankRun) -> RankFuture<'_, String>;

    /// Checks that every rank has drawn the same load.
    fn agree(&self, load: LoadDigest) -> RankFuture<'_, ()>;

    /// Waits until every rank is ready, and returns the common start.
    fn start(&self) -> RankFuture<'_, RankStart>;

    /// Waits until no rank has requests in flight any more; on other ranks than rank 0 it returns
    /// at once. Returns the clock of rank 0 after the measurement.
    fn drained(&self) -> RankFuture<'_, Option<RankClock>>;

    /// Gathers the results: on rank 0 it returns the merged run, on every other rank its own part.
    fn gather(&self, run: Run) -> RankFuture<'_, Run>;

    /// Tells the other ranks that this one cannot take part in the run, or not to its end.
    fn abandon(&self, reason: String) -> RankFuture<'_, ()>;
}

/// The result of a step of a group.
pub type RankFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, RankError>> + Send + 'a>>;

/// Which of the processes of a run this is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RankPlace {
    /// Zero-based rank.
    pub rank: usize,
    /// Number of processes.
    pub ranks: NonZeroUsize,
    /// The machine of the process.
    pub machine: RankMachine,
}

impl RankPlace {
    /// Returns the part of the sessions that belongs to this process.
    pub fn share(&self) -> Share {
        Share::of_rank(self.rank, self.ranks)
    }

    /// Returns whether this is the rank that has the plan and reports the results.
    pub fn leads(&self) -> bool {
        self.rank == 0
    }
}

/// Returns this machine, for the processes that share a run with this one.
pub fn rank_machine() -> RankMachine {
    // A run raises the soft limit of open files to the hard one.
    let (_, open_files) = servemark_client::open_files();
    RankMachine { host: host_name(), cores: HostFacts::of_this_machine().cores, open_files }
}

/// Returns the name of this machine.
pub fn host_name() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}

/// A run that begins.
#[derive(Clone, Debug)]
pub struct RankRun {
    /// Plan of the whole run.
    pub plan: BenchPlan,
    /// Clock of all stamps of this process.
    pub clock: MonotonicClock,
    /// Counters of this process.
    pub live: Arc<Live>,
    /// Handle by which the user stops this process's part of the run.
    pub stop: StopHandle,
    /// Places of the concurrency limit that the ranks hand to each other, if they do.
    pub places: Option<Arc<SharedPlaces>>,
}

/// What a process has drawn, in a form that can be compared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoadDigest {
    /// Number of sessions.
    pub sessions: usize,
    /// SHA-256 of the drawn requests, in hexadecimal digits.
    pub requests: String,
    /// SHA-256 of the due times, in hexadecimal digits.
    pub schedule: String,
}

/// Why the processes of a run cannot work together.
#[derive(Debug)]
pub struct RankError {
    /// What is wrong, and what to do.
    pub message: String,
    /// Exit code of the program.
    pub code: ExitCode,
}

impl RankError {
    /// Creates an error that ends the program with `code`.
    pub fn new(message: impl Into<String>, code: ExitCode) -> Self {
        Self { message: message.into(), code }
    }
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RankError {}
