//! The signals that end a run early, and in order: Ctrl-C, SIGTERM and SIGHUP.

use std::process::exit;
use std::sync::OnceLock;
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock};
use servemark_runner::Stop;
use servemark_signals::Signals;
pub use servemark_signals::StopCause;
use tokio::time::{Instant, sleep_until};

use crate::audience::Activity;
use crate::execute::on_this_thread;
use crate::{ExecuteError, News, RunContext};

/// Lets signals stop the run. The first one sends no more requests and waits for those in flight, the
/// second one gives them up, the third one ends the program at once. After SIGTERM and SIGHUP requests
/// in flight have [`RunContext::grace`] to finish; after Ctrl-C they have as long as they take.
///
/// Samples that are being drawn are left behind at the first signal, and the results of the runs before
/// that one are written. Where nothing is drawn or measured and no result is being written, there is
/// nothing to report, and the second signal ends the program.
///
/// Signals are received on a thread of its own, from the moment at which this returns, without a gap
/// between one signal and the next.
pub fn stop_on_signals(context: RunContext) -> Result<(), ExecuteError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ExecuteError::Machine)?;
    let signals = {
        let _entered = runtime.enter();
        Signals::listen().map_err(ExecuteError::Machine)?
    };
    let listener = Listener { context, signals, received: 0 };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(listener.run()))
        .map(drop)
        .map_err(ExecuteError::Machine)
}

/// The first signal that asked this process to end, if one did. It is the process's and not a run's:
/// the exit code tells it.
pub fn stopped_by() -> Option<StopCause> {
    FIRST.get().copied()
}

/// Waits for a signal. If one stopped the run already, there is nothing to wait for.
pub fn stay_until_stopped(context: &RunContext) -> Result<(), ExecuteError> {
    let stop = context.stop.signal();
    on_this_thread(async {
        stop.reached(Stop::Drain).await;
        Ok(())
    })
}

/// Turns signals into levels of a run's stop.
struct Listener {
    context: RunContext,
    signals: Signals,
    /// How many signals came so far.
    received: u32,
}

impl Listener {
    async fn run(mut self) {
        let first = self.signals.next().await;
        let grace = (!first.is_interactive()).then(|| self.context.grace.get());
        let _ = FIRST.set(first);
        self.heed(first, grace);
        if let Some(grace) = grace {
            let clock = MonotonicClock::start();
            let over = sleep_until(Instant::from_std(clock.instant(clock.now() + grace)));
            tokio::select! {
                next = self.signals.next() => self.heed(next, None),
                () = over => self.give_up(),
            }
        }
        loop {
            let next = self.signals.next().await;
            self.heed(next, None);
        }
    }

    /// Stops the run by one level more.
    fn heed(&mut self, cause: StopCause, grace: Option<Duration>) {
        self.received += 1;
        let RunContext { live, stop, .. } = &self.context;
        let is_worth_waiting = live.activity() != Activity::Preparing;
        if self.received > 2 || (self.received == 2 && !is_worth_waiting) {
            quit();
        }
        let level = stop.escalate();
        self.context.tell(&News::Stopping { level, cause, grace, in_flight: live.in_flight() });
    }

    /// The grace is over: what is in flight is abandoned.
    fn give_up(&self) {
        let RunContext { live, stop, .. } = &self.context;
        let level = stop.escalate();
        if live.activity() == Activity::Measuring {
            let (cause, in_flight) = (StopCause::Terminate, live.in_flight());
            self.context.tell(&News::Stopping { level, cause, grace: None, in_flight });
        }
    }
}

#[expect(clippy::exit, reason = "the program was told to end, and all that is finished is on disk")]
fn quit() {
    let cause = stopped_by().unwrap_or(StopCause::Interrupt);
    exit(cause.exit_code().into());
}

static FIRST: OnceLock<StopCause> = OnceLock::new();
