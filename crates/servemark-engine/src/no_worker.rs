//! A system without process groups, on which no worker can be started.

use std::future::Ready;
use std::sync::Arc;

use serde_json::Value;
use servemark_core::{EngineFacts, MonotonicClock};
use tokio::sync::oneshot;

use crate::reply_router::ReplyRouter;
use crate::{
    EngineControl, EngineError, EngineRequest, LastLines, RequestId, Submission, WorkerSpec,
};

/// A real engine in a process of its own, of which there is none.
#[derive(Debug)]
pub(crate) enum Worker {}

impl Worker {
    /// Always fails: what an engine leaves behind could not be ended with it.
    pub(crate) fn start(
        spec: &WorkerSpec,
        _submission: Submission,
        _router: Arc<ReplyRouter>,
        _clock: MonotonicClock,
    ) -> Result<(Self, oneshot::Receiver<Result<EngineFacts, EngineError>>), EngineError> {
        Err(EngineError::Unsupported { name: spec.engine.as_str() })
    }

    pub(crate) fn generate(&self, _requests: &[EngineRequest]) {
        match *self {}
    }

    pub(crate) fn cancel(&self, _id: RequestId) {
        match *self {}
    }

    pub(crate) fn control(
        &self,
        _control: &EngineControl,
    ) -> oneshot::Receiver<Result<Value, String>> {
        match *self {}
    }

    pub(crate) fn shut_down(&self, _clock: MonotonicClock) -> Ready<()> {
        match *self {}
    }

    pub(crate) fn end_error(&self) -> EngineError {
        match *self {}
    }

    pub(crate) fn printed(&self) -> LastLines {
        match *self {}
    }

    pub(crate) fn kill(&self) {
        match *self {}
    }
}
