//! Progress and warnings of an exploration.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use servemark::core::{Progress, RequestRecord};
use servemark::{Live, RunEvent, RunObserver};

use crate::live::{Goal, LiveDisplay};
use crate::screen::{self, lock};

/// Displays the live figures of each load, and prints warnings.
#[derive(Debug)]
pub(super) struct ExploreProgress {
    display: Option<LiveDisplay>,
    /// Number of streams and duration of the load that is about to be measured.
    load: Mutex<Option<(usize, Duration)>>,
    /// Lines printed so far: each load warns of the same things.
    printed: Mutex<BTreeSet<String>>,
}

impl ExploreProgress {
    /// Creates the progress of an exploration; without a display if it is `quiet`.
    pub(super) fn new(live: Arc<Live>, quiet: bool) -> Self {
        let display = (!quiet).then(|| LiveDisplay::new(live));
        Self { display, load: Mutex::default(), printed: Mutex::default() }
    }

    /// Sets the load that is measured next.
    pub(super) fn expect(&self, streams: usize, lasts: Duration) {
        *lock(&self.load) = Some((streams, lasts));
    }

    fn begin(&self) {
        let load = lock(&self.load).take();
        if let (Some(display), Some((streams, lasts))) = (&self.display, load) {
            display.begin(Goal::Time { streams, lasts });
        }
    }

    fn print_once(&self, line: String) {
        if !lock(&self.printed).contains(&line) {
            screen::eprint_line(&line);
            lock(&self.printed).insert(line);
        }
    }
}

impl RunObserver for ExploreProgress {
    fn on_event(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Measuring { .. } => self.begin(),
            RunEvent::Measured => self.display.iter().for_each(LiveDisplay::end),
            RunEvent::Unverified { .. }
            | RunEvent::ReuseEnded
            | RunEvent::ShardLost { .. }
            | RunEvent::Stopping { .. }
            | RunEvent::Missed { .. } => self.print_once(event.to_string()),
            // The table of the loads shows the rest.
            _ => {}
        }
    }

    fn on_record(&self, record: &RequestRecord) {
        if let Some(display) = &self.display {
            display.add(record);
        }
    }
}

/// Preparations take no time worth displaying: nothing is downloaded.
impl Progress for ExploreProgress {
    fn begin(&self, _work: &str, _total: u64) {}

    fn advance(&self, _steps: u64) {}

    fn end(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_every_load_is_printed_once() {
        let progress = ExploreProgress::new(Arc::default(), false);
        for _ in 0..3 {
            progress.on_event(&RunEvent::ReuseEnded);
        }
        progress.on_event(&RunEvent::Unverified { url: "https://a" });
        assert_eq!(lock(&progress.printed).len(), 2);
    }
}
