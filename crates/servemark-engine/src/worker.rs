//! A real engine in a process of its own Python.
//!
//! The process is a supervisor of a few lines that has started the worker with the engine. It
//! adopts whatever the engine leaves behind, and kills all of it when the worker ends, when it is
//! told to, and when this program is gone: nothing of an engine outlives its run.

mod log;
mod process;
mod protocol;

use std::sync::Arc;

use serde_json::Value;
use servemark_core::{Clock, EngineFacts, MonotonicClock};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::desk::Desk;
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
    /// Starts the process, which loads the engine and says what it is.
    pub(crate) fn start(
        spec: &WorkerSpec,
        submission: Submission,
        desk: Arc<Desk>,
        clock: MonotonicClock,
    ) -> Result<(Self, oneshot::Receiver<Result<EngineFacts, EngineError>>), EngineError> {
        let expected = Arc::new(Expected::default());
        let told = expected.loaded();
        let name = spec.engine.as_str();
        let listener = Listener::new(name, desk, Arc::clone(&expected), clock);
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

    /// Asks the engine for something other than answers.
    pub(crate) fn control(
        &self,
        control: &EngineControl,
    ) -> oneshot::Receiver<Result<Value, String>> {
        let told = self.expected.told();
        self.process.write(&Order::of(control));
        told
    }

    /// Lets the engine end in its own way, for a while.
    pub(crate) async fn shut_down(&self, clock: MonotonicClock) {
        let ended = self.process.end();
        self.process.write(&Order::ShutDown);
        let deadline = Instant::from_std(clock.instant(clock.now() + protocol::FAREWELL));
        if timeout_at(deadline, ended).await.is_err() {
            self.process.kill();
        }
    }

    /// How it ended.
    pub(crate) fn ended(&self) -> EngineError {
        EngineError::Died(self.process.death())
    }

    /// What it has printed last so far.
    pub(crate) fn printed(&self) -> LastWords {
        self.process.printed()
    }

    /// Ends it by force.
    pub(crate) fn kill(&self) {
        self.process.kill();
    }
}
