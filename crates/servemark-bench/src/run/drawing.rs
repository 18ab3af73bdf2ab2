//! Draws samples on a separate thread, which is abandoned when the run is stopped.
//!
//! The code of data sets, tokenizers and chat templates cannot be interrupted. Its result is not
//! needed once the run is stopped, so the run ends at once and the thread finishes in the
//! background.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use servemark_core::{Progress, RequestRecord};
use tokio::sync::oneshot;

use crate::observer::{Activity, RunEvent, RunObserver};
use crate::{ExecuteError, RunContext};

/// Runs `work` on a separate thread and returns its result, or [`ExecuteError::Interrupted`] as
/// soon as the user stops the run. From then on, the context passed to `work` forwards no events.
pub(crate) async fn drawing<T: Send + 'static>(
    context: &RunContext,
    work: impl FnOnce(&RunContext) -> Result<T, ExecuteError> + Send + 'static,
) -> Result<T, ExecuteError> {
    let listener = Arc::new(Listener::new(Arc::clone(&context.observer)));
    let mut own = context.clone();
    own.observer = Arc::clone(&listener) as Arc<dyn RunObserver>;
    let (result, mut arrived) = oneshot::channel();
    context.live.turn_to(Activity::Drawing);
    let thread = thread::Builder::new()
        .name("drawing".to_owned())
        .stack_size(STACK_BYTES)
        // Sending fails if the run was stopped, because the receiver is dropped.
        .spawn(move || drop(result.send(work(&own))))
        .map_err(ExecuteError::Machine)?;
    let drawn = context.unless_stopped(async { Ok((&mut arrived).await) }).await;
    match drawn {
        Ok(Ok(done)) => {
            context.live.turn_to(Activity::Preparing);
            done
        }
        // The thread panicked; resume its panic on this thread.
        Ok(Err(_)) => match thread.join() {
            Err(reason) => panic::resume_unwind(reason),
            Ok(()) => Err(ExecuteError::Interrupted),
        },
        Err(stopped) => {
            listener.leave();
            Err(stopped)
        }
    }
}

/// Forwards the events of the drawing thread until the thread is abandoned.
struct Listener {
    observer: Arc<dyn RunObserver>,
    /// Whether the drawing thread was abandoned. Locked while an event is forwarded, so that none
    /// is forwarded after [`Listener::leave`].
    is_left: Mutex<bool>,
    /// Whether a progress display was begun and has not ended.
    is_working: AtomicBool,
}

impl Listener {
    fn new(observer: Arc<dyn RunObserver>) -> Self {
        Self { observer, is_left: Mutex::new(false), is_working: AtomicBool::new(false) }
    }

    /// Ends the progress display, if any, and stops the forwarding.
    fn leave(&self) {
        *self.lock() = true;
        if self.is_working.swap(false, Relaxed) {
            self.observer.end();
        }
    }

    fn pass(&self, on: impl FnOnce(&dyn RunObserver)) {
        let is_left = self.lock();
        if !*is_left {
            on(self.observer.as_ref());
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Listener {
    fn begin(&self, work: &str, total: u64) {
        self.pass(|observer| {
            self.is_working.store(true, Relaxed);
            observer.begin(work, total);
        });
    }

    fn begin_bytes(&self, work: &str, total: u64) {
        self.pass(|observer| {
            self.is_working.store(true, Relaxed);
            observer.begin_bytes(work, total);
        });
    }

    fn advance(&self, steps: u64) {
        self.pass(|observer| observer.advance(steps));
    }

    fn end(&self) {
        self.pass(|observer| {
            self.is_working.store(false, Relaxed);
            observer.end();
        });
    }
}

impl RunObserver for Listener {
    fn on_event(&self, event: &RunEvent<'_>) {
        self.pass(|observer| observer.on_event(event));
    }

    fn on_record(&self, record: &RequestRecord) {
        self.pass(|observer| observer.on_record(record));
    }
}

/// Usual stack size of a program's main thread.
const STACK_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use servemark_core::NoProgress;

    use super::*;
    use crate::runtime::on_this_thread;

    fn run_drawing<T: Send + 'static>(
        context: &RunContext,
        work: impl FnOnce(&RunContext) -> Result<T, ExecuteError> + Send + 'static,
    ) -> Result<T, ExecuteError> {
        on_this_thread(drawing(context, work))
    }

    #[test]
    fn a_run_that_is_stopped_leaves_its_drawing_behind() {
        let context = RunContext::new(Arc::new(NoProgress));
        let (over, stays) = mpsc::channel::<()>();
        let stop = context.stop.clone();
        let result = run_drawing(&context, move |own| {
            own.observer.begin("drawing", 1);
            stop.escalate();
            // `recv` returns when the sender is dropped, after the run has ended.
            let _ = stays.recv();
            Ok(())
        });
        assert!(matches!(result, Err(ExecuteError::Interrupted)));
        assert_eq!(context.live.activity(), Activity::Reporting);
        drop(over);
    }

    #[test]
    fn what_is_drawn_comes_back_and_so_does_a_failure() {
        let context = RunContext::new(Arc::new(NoProgress));
        assert!(matches!(run_drawing(&context, |_| Ok(7)), Ok(7)));
        assert_eq!(context.live.activity(), Activity::Preparing);
        let failed =
            run_drawing(&context, |_| Err::<(), _>(ExecuteError::NoModel { url: String::new() }));
        assert!(matches!(failed, Err(ExecuteError::NoModel { .. })));
    }

    #[test]
    #[should_panic(expected = "a data set that panics")]
    fn a_panic_of_a_data_set_is_not_lost() {
        let context = RunContext::new(Arc::new(NoProgress));
        let _ = run_drawing::<()>(&context, |_| panic!("a data set that panics"));
    }
}
