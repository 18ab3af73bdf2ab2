//! What a run shares with the thread of messages.

use std::sync::Arc;

use servemark::core::MonotonicClock;
use servemark::runner::{SharedPlaces, StopHandle};
use servemark::{Live, RankRun};

/// Clock, counters and handles of the run in progress.
#[derive(Clone, Debug)]
pub(crate) struct RunHandles {
    pub(crate) clock: MonotonicClock,
    pub(crate) live: Arc<Live>,
    pub(crate) stop: StopHandle,
    /// This rank's places of the concurrency limit, if the ranks hand places to each other.
    pub(crate) places: Option<Arc<SharedPlaces>>,
}

impl RunHandles {
    pub(crate) fn of(run: RankRun) -> Self {
        let RankRun { plan: _, clock, live, stop, places } = run;
        Self { clock, live, stop, places }
    }

    /// Returns whether the ranks hand places of the concurrency limit to each other in a run; they
    /// do not between runs.
    pub(crate) fn shares_places(run: Option<&Self>) -> bool {
        run.is_some_and(|run| run.places.is_some())
    }
}
