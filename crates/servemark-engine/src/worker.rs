//! A real engine in a process of its own Python.
//!
//! The process is a small supervisor that has started the worker with the engine. It adopts every
//! process that the engine leaves behind, and kills all of them when the worker ends, when it is
//! told to, and when this program is gone: nothing of an engine outlives its run.

mod log;
mod process;
mod protocol;

use std::sync::Arc;

use serde_json::Value;
use servemark_core::{Clock, EngineFacts, MonotonicClock};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::reply_router::ReplyRouter;
use crate::{
    EngineControl, EngineError, EngineRequest, LastWords, RequestId, Submission, WorkerSpec,
};
use process::Process;
use protocol::{Expected, Listener, Order};

/// A real engine in a process of its own.
#[derive(Debug)]
pub(crate) struct Worker {
    process: Process,
    expected: Arc<Expected>,
}

impl Worker {
    /// Starts the process, which loads the engine and then sends its description.
    pub(crate) fn start(
        spec: &WorkerSpec,
        submission: Submission,
        router: Arc<ReplyRouter>,
        clock: MonotonicClock,
    ) -> Result<(Self, oneshot::Receiver<Result<EngineFacts, EngineError>>), EngineError> {
        let expected = Arc::new(Expected::default());
        let told = expected.loaded();
        let name = spec.engine.as_str();
        let listener = Listener::new(name, router, Arc::clone(&expected), clock);
        let process = Process::start(spec, listener)?;
        process.write(&Order::load(spec, submission));
        Ok((Self { process, expected }, told))
    }

    pub(crate) fn generate(&self, requests: &[EngineRequest]) {
        self.process.write(&Order::Generate { requests });
    }

    pub(crate) fn cancel(&self, id: RequestId) {
        self.process.write(&Order::Cancel { id });
    }

    /// Sends a control command and returns the receiver of the answer.
    pub(crate) fn control(
        &self,
        control: &EngineControl,
    ) -> oneshot::Receiver<Result<Value, String>> {
        let told = self.expected.control_answer();
        self.process.write(&Order::of(control));
        told
    }

    /// Lets the engine end gracefully for a limited time, then kills it.
    pub(crate) async fn shut_down(&self, clock: MonotonicClock) {
        let ended = self.process.end();
        self.process.write(&Order::ShutDown);
        let deadline = Instant::from_std(clock.instant(clock.now() + protocol::FAREWELL));
        if timeout_at(deadline, ended).await.is_err() {
            self.process.kill();
        }
    }

    /// Returns how the process ended.
    pub(crate) fn end_error(&self) -> EngineError {
        EngineError::Died(self.process.death())
    }

    /// Returns the last lines that the process has printed so far.
    pub(crate) fn printed(&self) -> LastWords {
        self.process.printed()
    }

    /// Kills the process and all of its descendants.
    pub(crate) fn kill(&self) {
        self.process.kill();
    }
}
