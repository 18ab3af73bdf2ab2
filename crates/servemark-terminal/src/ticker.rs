//! Draws the progress of a measurement from a thread of its own.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use indicatif::ProgressBar;
use servemark::Live;

/// What a [`Ticker`] draws.
pub(crate) trait Draw: fmt::Debug + Send + 'static {
    /// Draws the present state.
    fn draw(&mut self);

    /// Ends the drawing.
    fn end(&mut self);
}

/// Draws at a fixed interval until it is dropped.
#[derive(Debug)]
pub(crate) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts to draw, after a first pause. Without a thread nothing is drawn: an error of the
    /// display must not fail the run.
    pub(crate) fn start(mut what: impl Draw, pause: Duration) -> Self {
        let (stop, stopped) = channel();
        let work = move || {
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                what.draw();
            }
            what.end();
        };
        let thread = Builder::new().name("display".to_owned()).spawn(work).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error of the display must not fail the run.
            let _ = thread.join();
        }
    }
}

/// A bar that counts a run's requests.
#[derive(Debug)]
pub(crate) struct RequestBar {
    pub(crate) bar: ProgressBar,
    pub(crate) live: Arc<Live>,
}

impl RequestBar {
    /// Time between two drawings.
    pub(crate) const PAUSE: Duration = Duration::from_millis(100);
}

impl Draw for RequestBar {
    fn draw(&mut self) {
        let Self { bar, live } = self;
        bar.set_position(live.finished());
        bar.set_message(format!("{} in flight, {} failed", live.in_flight(), live.failed()));
    }

    fn end(&mut self) {
        self.draw();
        // `finish` would draw a full bar, but the run may have been stopped.
        self.bar.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_of_a_run_that_was_stopped_ends_at_what_is_done() {
        let bar = ProgressBar::hidden();
        bar.set_length(4000);
        let of_requests = RequestBar { bar: bar.clone(), live: Arc::default() };
        drop(Ticker::start(of_requests, RequestBar::PAUSE));
        assert!(bar.is_finished());
        assert_eq!(bar.position(), 0);
    }
}
