//! Runs a plan beside asynchronous code.

use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

use servemark_plan::BenchPlan;
use servemark_runner::{Stop, StopHandle};
use tokio::sync::oneshot;

use super::execute::run;
use super::outcome::Run;
use super::until::relay;
use crate::runtime::on_this_thread;
use crate::{ExecuteError, Live, RunContext};

/// A run on threads of its own, as a future of its result.
///
/// The future is `Send` and needs no runtime. Dropping it stops the run: requests in flight are
/// abandoned, and nothing more is sent. Progress is reported to the observer of the run's
/// [`RunContext`], event by event and record by record.
#[derive(Debug)]
pub struct RunTask {
    result: oneshot::Receiver<Result<Run, ExecuteError>>,
    thread: Option<JoinHandle<()>>,
    stop: StopHandle,
    live: Arc<Live>,
}

/// Starts a plan on a thread of its own and returns at once. [`execute`](crate::execute()) does
/// the same and blocks.
///
/// The run also stops when the stop handle of `context` is raised.
pub fn start(plan: BenchPlan, mut context: RunContext) -> RunTask {
    let stop = StopHandle::new();
    let users = std::mem::replace(&mut context.stop, stop.clone()).signal();
    let (live, own) = (Arc::clone(&context.live), stop.clone());
    let (sender, result) = oneshot::channel();
    let work = move || {
        let run = on_this_thread(async {
            let relay = relay(users, own);
            let run = Box::pin(run(&plan, &context)).await;
            relay.abort();
            run
        });
        // Sending fails only if the task was dropped.
        drop(sender.send(run));
    };
    let thread = thread::Builder::new().name("run".to_owned()).spawn(work);
    match thread {
        Ok(thread) => RunTask { result, thread: Some(thread), stop, live },
        Err(error) => RunTask { result: failed(error), thread: None, stop, live },
    }
}

/// Returns the result of a run whose thread the operating system refused.
fn failed(error: std::io::Error) -> oneshot::Receiver<Result<Run, ExecuteError>> {
    let (sender, result) = oneshot::channel();
    drop(sender.send(Err(ExecuteError::Machine(error))));
    result
}

impl RunTask {
    /// Returns the handle that stops this run alone: first with the requests in flight completed,
    /// then at once.
    pub fn stop(&self) -> &StopHandle {
        &self.stop
    }

    /// Returns the counters of the run.
    pub fn live(&self) -> &Live {
        &self.live
    }
}

impl Future for RunTask {
    type Output = Result<Run, ExecuteError>;

    /// # Panics
    ///
    /// If the run panicked, with its panic.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Poll::Ready(result) = Pin::new(&mut self.result).poll(context) else {
            return Poll::Pending;
        };
        let ended = self.thread.take().map(JoinHandle::join);
        match (result, ended) {
            (Ok(run), _) => Poll::Ready(run),
            (Err(_), Some(Err(reason))) => panic::resume_unwind(reason),
            (Err(_), _) => Poll::Ready(Err(ExecuteError::Interrupted)),
        }
    }
}

impl Drop for RunTask {
    fn drop(&mut self) {
        self.stop.raise(Stop::Now);
    }
}
