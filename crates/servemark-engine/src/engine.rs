//! A loaded engine of any kind.

use std::sync::Arc;

use serde_json::Value;
use servemark_core::{
    Clock, EngineFacts, ErrorKind, JsonObject, MonotonicClock, RequestError, Stamp,
};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::reply_router::{Reply, ReplyRouter};
use crate::step::{Load, StepThread};
use crate::worker::Worker;
use crate::{
    EngineError, EngineRequest, EngineRunSpec, EngineSpec, LastLines, RequestId, ScriptedEngine,
    StepEngine, Submission,
};

/// A loaded engine. Dropping the last clone shuts it down, with every process that it has started.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<EngineInner>,
    facts: EngineFacts,
}

/// A command to an engine that is not about requests, sent while it has none.
#[derive(Clone, Debug)]
pub enum EngineControl {
    /// Returns the engine's description of itself.
    Info,
    /// Starts the engine's profiler.
    StartProfile(JsonObject),
    /// Stops the engine's profiler.
    StopProfile,
}

#[derive(Debug)]
struct EngineInner {
    spec: EngineRunSpec,
    router: Arc<ReplyRouter>,
    driver: Driver,
    clock: MonotonicClock,
}

#[derive(Debug)]
enum Driver {
    Thread(StepThread),
    Worker(Worker),
}

impl Engine {
    /// Loads an engine. Dropping the future before it is ready kills the engine.
    pub async fn start(spec: &EngineRunSpec, clock: MonotonicClock) -> Result<Self, EngineError> {
        let (began, router) = (clock.now(), Arc::new(ReplyRouter::default()));
        let (driver, loaded) = Driver::start(spec, &router, clock)?;
        let inner = Arc::new(EngineInner { spec: spec.clone(), router, driver, clock });
        let deadline = Instant::from_std(clock.instant(began + spec.patience));
        let mut facts = match timeout_at(deadline, loaded).await {
            Ok(Ok(loaded)) => loaded?,
            Ok(Err(_)) => return Err(inner.end_error()),
            Err(_) => return Err(inner.unresponsive_error()),
        };
        facts.load_ns = u64::try_from(clock.now().since(began).as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { inner, facts })
    }

    /// Returns the engine's name, version and configuration.
    pub fn facts(&self) -> &EngineFacts {
        &self.facts
    }

    /// Sends a control command and returns the engine's answer. An engine in this program answers
    /// [`EngineControl::Info`] with null and refuses the other commands.
    pub async fn control(&self, control: EngineControl) -> Result<Value, EngineError> {
        let what = control.what();
        let Driver::Worker(worker) = &self.inner.driver else {
            return match control {
                EngineControl::Info => Ok(Value::Null),
                _ => Err(EngineError::Control { what, reason: "it has no profiler".to_owned() }),
            };
        };
        let deadline = self.inner.clock.now() + self.inner.spec.patience;
        let deadline = Instant::from_std(self.inner.clock.instant(deadline));
        match timeout_at(deadline, worker.control(&control)).await {
            Ok(Ok(loaded)) => loaded.map_err(|reason| EngineError::Control { what, reason }),
            Ok(Err(_)) => Err(self.inner.end_error()),
            Err(_) => Err(self.inner.unresponsive_error()),
        }
    }

    /// Why the engine no longer answers, if so.
    pub fn end_reason(&self) -> Option<String> {
        self.inner.router.closed()
    }

    /// Shuts an engine in a worker process down gracefully, then kills what is left of it. An
    /// engine in this program ends when its last clone is dropped.
    pub async fn shut_down(&self) {
        if let Driver::Worker(worker) = &self.inner.driver {
            worker.shut_down(self.inner.clock).await;
        }
    }

    pub(crate) fn submission(&self) -> Submission {
        self.inner.spec.submission
    }

    pub(crate) fn spec(&self) -> &EngineRunSpec {
        &self.inner.spec
    }

    pub(crate) fn clock(&self) -> MonotonicClock {
        self.inner.clock
    }

    /// Registers a request that is about to be submitted, and returns the receiver of its replies.
    pub(crate) fn open(&self, id: RequestId) -> Result<UnboundedReceiver<Reply>, RequestError> {
        self.inner.router.open(id)
    }

    pub(crate) fn generate(&self, requests: Vec<EngineRequest>) {
        self.inner.router.record_activity(self.inner.clock.now());
        match &self.inner.driver {
            Driver::Thread(thread) => thread.generate(requests),
            Driver::Worker(worker) => worker.generate(&requests),
        }
    }

    /// Cancels a request whose answer is no longer needed.
    pub(crate) fn cancel(&self, id: RequestId) {
        self.inner.router.forget(id);
        match &self.inner.driver {
            Driver::Thread(thread) => thread.cancel(id),
            Driver::Worker(worker) => worker.cancel(id),
        }
    }

    /// Returns when the engine will have been silent for too long.
    pub(crate) fn deadline(&self) -> Stamp {
        self.inner.router.last_activity() + self.inner.spec.patience
    }

    /// Kills an engine that was silent for too long.
    pub(crate) fn give_up(&self) {
        let _ = self.inner.unresponsive_error();
    }
}

impl EngineInner {
    fn end_error(&self) -> EngineError {
        match &self.driver {
            Driver::Thread(_) => EngineError::Load {
                name: "in this program".to_owned(),
                reason: "it panicked".to_owned(),
            },
            Driver::Worker(worker) => worker.end_error(),
        }
    }

    /// Kills an engine that was silent for too long. Waiting requests fail with that reason, not
    /// with the way in which the process then ended.
    fn unresponsive_error(&self) -> EngineError {
        let last_words = match &self.driver {
            Driver::Thread(_) => LastLines::default(),
            Driver::Worker(worker) => worker.printed(),
        };
        let error = EngineError::Hung { patience: self.spec.patience, last_lines: last_words };
        self.router.close(ErrorKind::Timeout, &error.to_string());
        if let Driver::Worker(worker) = &self.driver {
            worker.kill();
        }
        error
    }
}

impl Driver {
    fn start(
        spec: &EngineRunSpec,
        router: &Arc<ReplyRouter>,
        clock: MonotonicClock,
    ) -> Result<(Self, FactsReceiver), EngineError> {
        let router = Arc::clone(router);
        let load = match spec.engine.clone() {
            EngineSpec::Worker(worker) => {
                let (worker, loaded) = Worker::start(&worker, spec.submission, router, clock)?;
                return Ok((Self::Worker(worker), loaded));
            }
            #[cfg(feature = "candle")]
            EngineSpec::Candle(spec) => boxed(move || crate::CandleEngine::load(spec)),
            #[cfg(not(feature = "candle"))]
            EngineSpec::Candle(_) => return Err(EngineError::NotBuilt { feature: "candle" }),
            EngineSpec::Scripted(script) => boxed(move || ScriptedEngine::load(script)),
        };
        let (thread, loaded) = StepThread::start(load, router, clock)?;
        Ok((Self::Thread(thread), loaded))
    }
}

fn boxed<E: StepEngine + 'static>(
    load: impl FnOnce() -> Result<E, EngineError> + Send + 'static,
) -> Load {
    Box::new(|| Ok(Box::new(load()?)))
}

impl EngineControl {
    const fn what(&self) -> &'static str {
        match self {
            Self::Info => "describe itself",
            Self::StartProfile(_) => "start its profiler",
            Self::StopProfile => "stop its profiler",
        }
    }
}

/// Receives the description of an engine once it is loaded.
type FactsReceiver = oneshot::Receiver<Result<EngineFacts, EngineError>>;
