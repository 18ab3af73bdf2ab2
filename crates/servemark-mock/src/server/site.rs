//! What all threads of a server share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use servemark_core::{Clock, Stamp, unix_now};
use servemark_pacer::MachineClock;

use super::Logs;
use super::places::Places;
use super::work::Work;
use crate::answer::{Scripts, Vectors};
use crate::{FaultKind, MockSpec};

/// What all threads of a server share.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) spec: MockSpec,
    pub(super) logs: Logs,
    /// When the model is said to have been made, in seconds since the Unix epoch.
    pub(super) created: u64,
    pub(super) ready_at: Stamp,
    pub(super) idle_limit: Option<IdleLimit>,
    pub(super) scripts: Scripts,
    pub(super) vectors: Vectors,
    answers: AtomicU64,
    places: Option<Mutex<Places>>,
    pub(super) work: Arc<Work>,
}

impl Site {
    pub(super) fn new(spec: MockSpec, logs: Logs) -> Self {
        Self {
            ready_at: MachineClock.now() + unready_time(&spec),
            places: spec.places.map(|places| Mutex::new(Places::new(places))),
            idle_limit: IdleLimit::of(&spec),
            spec,
            logs,
            created: unix_now().as_secs(),
            scripts: Scripts::default(),
            vectors: Vectors::default(),
            answers: AtomicU64::new(0),
            work: Arc::default(),
        }
    }

    /// The number of the next request for an answer, from one.
    pub(super) fn count_answer(&self) -> u64 {
        self.answers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// When it is the turn of a request that has come now and takes so long: at once, unless there
    /// are places and all are taken.
    pub(super) fn seat(&self, now: Stamp, lasts: Duration) -> Stamp {
        let Some(places) = &self.places else { return now };
        places.lock().unwrap_or_else(PoisonError::into_inner).take(now, lasts)
    }
}

/// What happens to a connection on which no request has come for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleLimit {
    pub(super) after: Duration,
    /// Whether a 408 precedes its end.
    pub(super) is_told: bool,
}

impl IdleLimit {
    /// The shortest limit among the faults, if there is any.
    pub(super) fn of(spec: &MockSpec) -> Option<Self> {
        let limits = spec.faults.iter().filter_map(|fault| match *fault.kind() {
            FaultKind::CloseIdle { limit } => Some(Self { after: limit, is_told: false }),
            FaultKind::Idle408 { limit } => Some(Self { after: limit, is_told: true }),
            _ => None,
        });
        limits.min_by_key(|limit| limit.after)
    }
}

fn unready_time(spec: &MockSpec) -> Duration {
    let times = spec.faults.iter().filter_map(|fault| match fault.kind() {
        FaultKind::NotReady { until } => Some(*until),
        _ => None,
    });
    times.max().unwrap_or_default()
}
