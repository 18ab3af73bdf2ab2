//! Handles the signals that end a run early and in order: Ctrl-C (SIGINT), SIGTERM and SIGHUP.

use std::process::exit;
use std::sync::OnceLock;
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock};
use servemark_runner::Stop;
use servemark_signals::Signals;
pub use servemark_signals::StopCause;
use tokio::time::{Instant, sleep_until};

use crate::observer::Activity;
use crate::runtime::{block_on, of_a_thread, on_this_thread};
use crate::{ExecuteError, RunContext, RunEvent};

/// Lets signals stop the run. The first signal stops sending and waits for requests in flight,
/// the second aborts them, and the third ends the program at once. After SIGTERM and SIGHUP,
/// requests in flight have [`RunContext::grace`] to finish; after Ctrl-C their time is not
/// limited.
///
/// The first signal abandons the drawing of samples, and the results of earlier runs are written.
/// While the program is neither drawing, measuring nor writing results, there is nothing to
/// report, and the second signal ends the program.
///
/// Signals are received on a separate thread from the moment at which this function returns; none
/// is lost between two signals.
pub fn stop_on_signals(context: RunContext) -> Result<(), ExecuteError> {
    let runtime = of_a_thread().map_err(ExecuteError::Machine)?;
    let signals = {
        let _entered = runtime.enter();
        Signals::listen().map_err(ExecuteError::Machine)?
    };
    let listener = Listener { context, signals, received: 0 };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || block_on(&runtime, listener.run()))
        .map(drop)
        .map_err(ExecuteError::Machine)
}

/// Returns the first signal that asked this process to end, if any. It belongs to the process,
/// not to a run, and determines the exit code.
pub fn stopped_by() -> Option<StopCause> {
    FIRST.get().copied()
}

/// Waits until the run is stopped, by a signal or by the stop handle of `context`.
pub fn stay_until_stopped(context: &RunContext) -> Result<(), ExecuteError> {
    let stop = context.stop.signal();
    on_this_thread(async {
        stop.reached(Stop::Drain).await;
        Ok(())
    })
}

/// Translates signals to stop levels of the run.
struct Listener {
    context: RunContext,
    signals: Signals,
    /// Number of signals received.
    received: u32,
}

impl Listener {
    async fn run(mut self) {
        let first = self.signals.next().await;
        let grace = (!first.is_interactive()).then(|| self.context.grace.get());
        let _ = FIRST.set(first);
        self.handle(first, grace);
        if let Some(grace) = grace {
            let clock = MonotonicClock::start();
            let over = sleep_until(Instant::from_std(clock.instant(clock.now() + grace)));
            tokio::select! {
                next = self.signals.next() => self.handle(next, None),
                () = over => self.give_up(),
            }
        }
        loop {
            let next = self.signals.next().await;
            self.handle(next, None);
        }
    }

    /// Raises the stop level of the run by one, or ends the program.
    fn handle(&mut self, cause: StopCause, grace: Option<Duration>) {
        self.received += 1;
        let RunContext { live, stop, .. } = &self.context;
        let is_worth_waiting = live.activity() != Activity::Preparing;
        if self.received > 2 || (self.received == 2 && !is_worth_waiting) {
            exit_now();
        }
        let in_flight = live.in_flight();
        let level = stop.escalate();
        self.context.emit(&RunEvent::Stopping { level, cause, grace, in_flight });
    }

    /// Aborts requests in flight when the grace period is over.
    fn give_up(&self) {
        let RunContext { live, stop, .. } = &self.context;
        // Report first: once the requests are aborted, the run soon ends.
        if live.activity() == Activity::Measuring {
            let (level, cause) = (Stop::Now, StopCause::Terminate);
            let in_flight = live.in_flight();
            self.context.emit(&RunEvent::Stopping { level, cause, grace: None, in_flight });
        }
        stop.escalate();
    }
}

#[expect(clippy::exit, reason = "the program was told to end, and all that is finished is on disk")]
fn exit_now() {
    let cause = stopped_by().unwrap_or(StopCause::Interrupt);
    exit(cause.exit_code().into());
}

static FIRST: OnceLock<StopCause> = OnceLock::new();
