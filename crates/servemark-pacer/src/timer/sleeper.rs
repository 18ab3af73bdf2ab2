//! A thread that sleeps until a time.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;

use servemark_core::{Clock, Stamp};
use tokio::sync::Notify;

use crate::MachineClock;

/// A thread that calls a function when a time is reached.
#[derive(Debug)]
pub struct Sleeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    at: Option<Stamp>,
    has_fired: bool,
    is_over: bool,
}

impl Sleeper {
    /// Starts a thread that calls `wake` whenever a time is reached.
    pub fn start(wake: impl Fn() + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let sleeping = Arc::clone(&shared);
        let thread = Builder::new().name("timer".to_owned()).spawn(move || sleeping.run(&wake))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Sets the time, at which `wake` is called; at once if it has passed. Replaces an earlier
    /// setting.
    pub fn arm(&self, at: Stamp) {
        *self.shared.lock() = State { at: Some(at), ..State::default() };
        self.shared.changed.notify_one();
    }

    /// Returns whether the set time was reached, once for each setting.
    fn has_fired(&self) -> bool {
        std::mem::take(&mut self.shared.lock().has_fired)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It ends within a slice of its sleep. A panic was already printed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the timer")]
    fn run(&self, wake: &dyn Fn()) {
        let mut state = self.lock();
        while !state.is_over {
            let Some(at) = state.at else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = at.since(MachineClock.now());
            let (far, near) = (left.saturating_sub(FAR), left.saturating_sub(NEAR));
            if !far.is_zero() {
                let waited = self.changed.wait_timeout(state, far);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if left.is_zero() {
                (state.at, state.has_fired) = (None, true);
            }
            drop(state);
            if left.is_zero() {
                wake();
            } else if near.is_zero() {
                thread::yield_now();
            } else {
                thread::sleep(near.min(SLICE));
            }
            state = self.lock();
        }
    }
}

/// A timer that fires at an absolute time of the [`MachineClock`].
#[derive(Debug)]
pub struct Timer {
    sleeper: Sleeper,
    fired: Arc<Notify>,
}

impl Timer {
    /// Creates a timer that is not armed.
    pub fn new() -> io::Result<Self> {
        let fired = Arc::new(Notify::new());
        let notify = Arc::clone(&fired);
        Ok(Self { sleeper: Sleeper::start(move || notify.notify_one())?, fired })
    }

    /// Sets the timer to fire at `at`, at once if that has passed. Replaces an earlier setting.
    pub fn arm(&self, at: Stamp) {
        self.sleeper.arm(at);
    }

    /// Waits until the timer fires. It never returns an error.
    pub async fn fired(&self) -> io::Result<()> {
        while !self.sleeper.has_fired() {
            self.fired.notified().await;
        }
        Ok(())
    }
}

/// Time before which the thread waits for a new setting instead of sleeping. Windows counts such a
/// wait in ticks of 15.6 ms.
const FAR: Duration = Duration::from_millis(20);

/// Longest sleep, after which the setting is looked at again.
const SLICE: Duration = Duration::from_millis(1);

/// Time before the set one in which the thread yields. A sleep on Windows ends up to 0.5 ms late.
const NEAR: Duration = Duration::from_micros(if cfg!(windows) { 600 } else { 100 });

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_fires_once_for_each_setting_and_never_early() {
        let timer = Timer::new().unwrap();
        for after in [0, 50, 700, 3_000, 25_000].map(Duration::from_micros) {
            let at = MachineClock.now() + after;
            timer.arm(at);
            timer.fired().await.unwrap();
            assert!(MachineClock.now() >= at, "{after:?}");
            assert!(!timer.sleeper.has_fired(), "{after:?}");
        }
    }

    #[tokio::test]
    async fn a_new_setting_replaces_the_one_before() {
        let timer = Timer::new().unwrap();
        let now = MachineClock.now();
        timer.arm(now + Duration::from_secs(3600));
        let soon = now + Duration::from_micros(200);
        timer.arm(soon);
        timer.fired().await.unwrap();
        assert!(MachineClock.now() >= soon);
        // One that fired and was set again has not fired.
        timer.arm(MachineClock.now());
        while !timer.sleeper.shared.lock().has_fired {
            tokio::task::yield_now().await;
        }
        let later = MachineClock.now() + Duration::from_millis(2);
        timer.arm(later);
        timer.fired().await.unwrap();
        assert!(MachineClock.now() >= later);
    }
}
