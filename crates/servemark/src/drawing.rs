//! Drawing samples on a thread of its own, which is left behind when the run is stopped.
//!
//! Data sets, tokenizers and chat templates are code that cannot be interrupted. Nothing depends on
//! their work once the run is stopped, so the run ends at once and the thread comes to its end unseen.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use servemark_core::Progress;
use tokio::sync::oneshot;

use crate::audience::{Activity, Audience, News};
use crate::{ExecuteError, RunContext};

/// Runs `work` on a thread of its own and returns its result, or [`ExecuteError::Interrupted`] as soon
/// as the user stops the run. The context that `work` gets is silent from then on.
pub(crate) async fn drawing<T: Send + 'static>(
    context: &RunContext,
    work: impl FnOnce(&RunContext) -> Result<T, ExecuteError> + Send + 'static,
) -> Result<T, ExecuteError> {
    let listener = Arc::new(Listener::new(Arc::clone(&context.audience)));
    let mut own = context.clone();
    own.audience = Arc::clone(&listener) as Arc<dyn Audience>;
    let (result, mut arrived) = oneshot::channel();
    context.live.turn_to(Activity::Drawing);
    let thread = thread::Builder::new()
        .name("drawing".to_owned())
        .stack_size(STACK_BYTES)
        // The receiver is gone where the run was stopped.
        .spawn(move || drop(result.send(work(&own))))
        .map_err(ExecuteError::Machine)?;
    let drawn = context.unless_stopped(async { Ok((&mut arrived).await) }).await;
    match drawn {
        Ok(Ok(done)) => {
            context.live.turn_to(Activity::Preparing);
            done
        }
        // The thread panicked, and this one does so in its place.
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

/// Passes on what the drawing thread says until that thread is left behind.
struct Listener {
    audience: Arc<dyn Audience>,
    /// Whether the drawing thread was left behind. Locked while something is passed on, so that
    /// nothing is said after [`Listener::leave`].
    is_left: Mutex<bool>,
    /// Whether the audience was told of work that has not ended yet.
    is_working: AtomicBool,
}

impl Listener {
    fn new(audience: Arc<dyn Audience>) -> Self {
        Self { audience, is_left: Mutex::new(false), is_working: AtomicBool::new(false) }
    }

    /// Ends the work that the audience was told of, and passes on nothing more.
    fn leave(&self) {
        *self.lock() = true;
        if self.is_working.swap(false, Relaxed) {
            self.audience.end();
        }
    }

    fn pass(&self, on: impl FnOnce(&dyn Audience)) {
        let is_left = self.lock();
        if !*is_left {
            on(self.audience.as_ref());
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Listener {
    fn begin(&self, work: &str, total: u64) {
        self.pass(|audience| {
            self.is_working.store(true, Relaxed);
            audience.begin(work, total);
        });
    }

    fn begin_bytes(&self, work: &str, total: u64) {
        self.pass(|audience| {
            self.is_working.store(true, Relaxed);
            audience.begin_bytes(work, total);
        });
    }

    fn advance(&self, steps: u64) {
        self.pass(|audience| audience.advance(steps));
    }

    fn end(&self) {
        self.pass(|audience| {
            self.is_working.store(false, Relaxed);
            audience.end();
        });
    }
}

impl Audience for Listener {
    fn tell(&self, news: &News<'_>) {
        self.pass(|audience| audience.tell(news));
    }
}

/// The stack that a program's first thread usually has.
const STACK_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use servemark_core::NoProgress;

    use super::*;
    use crate::execute::on_this_thread;

    fn drawn<T: Send + 'static>(
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
        let result = drawn(&context, move |own| {
            own.audience.begin("drawing", 1);
            stop.escalate();
            // This ends when the sender is dropped, which is after the run ended.
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
        assert!(matches!(drawn(&context, |_| Ok(7)), Ok(7)));
        assert_eq!(context.live.activity(), Activity::Preparing);
        let failed =
            drawn(&context, |_| Err::<(), _>(ExecuteError::NoModel { url: String::new() }));
        assert!(matches!(failed, Err(ExecuteError::NoModel { .. })));
    }

    #[test]
    #[should_panic(expected = "a data set that panics")]
    fn a_panic_of_a_data_set_is_not_lost() {
        let context = RunContext::new(Arc::new(NoProgress));
        let _ = drawn::<()>(&context, |_| panic!("a data set that panics"));
    }
}
