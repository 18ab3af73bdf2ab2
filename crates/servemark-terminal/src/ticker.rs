//! Updates the progress bar of a measurement from its own thread.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use indicatif::ProgressBar;
use servemark::Live;

/// Draws a run's counters at a fixed interval until it is dropped.
#[derive(Debug)]
pub(crate) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(bar: ProgressBar, live: Arc<Live>) -> Self {
        let (stop, stopped) = channel();
        let thread = spawn(move || {
            while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                draw(&bar, &live);
            }
            draw(&bar, &live);
            // `finish` would draw a full bar, but the run may have been stopped.
            bar.abandon();
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error of the progress bar must not fail the run.
            let _ = thread.join();
        }
    }
}

fn draw(bar: &ProgressBar, live: &Live) {
    bar.set_position(live.finished());
    bar.set_message(format!("{} in flight, {} failed", live.in_flight(), live.failed()));
}

const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_of_a_run_that_was_stopped_ends_at_what_is_done() {
        let bar = ProgressBar::hidden();
        bar.set_length(4000);
        drop(Ticker::start(bar.clone(), Arc::default()));
        assert!(bar.is_finished());
        assert_eq!(bar.position(), 0);
    }
}
