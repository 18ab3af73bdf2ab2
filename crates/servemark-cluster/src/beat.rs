//! When a rank publishes its state.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::thread::Shared;

/// Decides when a rank publishes its state: once a second, more often while the ranks hand places to
/// each other, and at once when the state was announced.
#[derive(Debug)]
pub(crate) struct Beat {
    next: Instant,
}

impl Beat {
    pub(crate) fn start() -> Self {
        Self { next: Instant::now() + BEAT }
    }

    /// Waits until the state has to be published; returns whether a full beat is over. If `is_fast`,
    /// that is at most a [`TICK`] away.
    pub(crate) async fn due<S>(&mut self, state: &Shared<S>, is_fast: bool) -> bool {
        let tick = is_fast.then(|| Instant::now() + TICK);
        let wake = tick.map_or(self.next, |tick| tick.min(self.next));
        tokio::select! {
            () = sleep_until(wake) => {}
            () = state.announced() => return false,
        }
        let is_beat = wake == self.next;
        if is_beat {
            self.next = Instant::now() + BEAT;
        }
        is_beat
    }
}

/// Time between two publications of the same state.
pub(crate) const BEAT: Duration = Duration::from_secs(1);

/// Time after which places of the concurrency limit are handed on.
const TICK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    async fn after(beat: &mut Beat, state: &Shared<()>, is_fast: bool) -> (bool, Duration) {
        let before = Instant::now();
        (beat.due(state, is_fast).await, before.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_is_published_each_second_and_when_it_is_announced() {
        let (state, mut beat) = (Shared::new(()), Beat::start());
        assert_eq!(after(&mut beat, &state, false).await, (true, BEAT));
        state.announce(|()| ());
        assert_eq!(after(&mut beat, &state, false).await, (false, Duration::ZERO));
        assert_eq!(after(&mut beat, &state, true).await, (false, TICK));
        let (is_beat, waited) = after(&mut beat, &state, false).await;
        assert_eq!((is_beat, waited + TICK), (true, BEAT));
    }
}
