//! An engine that is loaded, whichever kind it is.

use std::sync::Arc;

use serde_json::Value;
use servemark_core::{
    Clock, EngineFacts, ErrorKind, JsonObject, MonotonicClock, RequestError, Stamp,
};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::desk::{Desk, Reply};
use crate::step::{Load, StepThread};
use crate::worker::Worker;
use crate::{
    EngineError, EngineRequest, EngineRunSpec, EngineSpec, LastWords, RequestId, ScriptedEngine,
    StepEngine, Submission,
};

/// An engine that is loaded. Dropping the last copy of it ends it, with every process that it has
/// started.
#[derive(Clone, Debug)]
pub struct Engine {
    house: Arc<House>,
    facts: EngineFacts,
}

/// What is asked of an engine besides answers, while it has no requests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EngineControl {
    /// That it describes itself.
    Info,
    /// That its profiler starts.
    StartProfile(JsonObject),
    /// That its profiler stops.
    StopProfile,
}

#[derive(Debug)]
struct House {
    spec: EngineRunSpec,
    desk: Arc<Desk>,
    driver: Driver,
    clock: MonotonicClock,
}

#[derive(Debug)]
enum Driver {
    Thread(StepThread),
    Worker(Worker),
}

impl Engine {
    /// Loads an engine. Dropping the future ends it.
    pub async fn start(spec: &EngineRunSpec, clock: MonotonicClock) -> Result<Self, EngineError> {
        let (began, desk) = (clock.now(), Arc::new(Desk::default()));
        let (driver, told) = Driver::start(spec, &desk, clock)?;
        let house = Arc::new(House { spec: spec.clone(), desk, driver, clock });
        let deadline = Instant::from_std(clock.instant(began + spec.patience));
        let mut facts = match timeout_at(deadline, told).await {
            Ok(Ok(told)) => told?,
            Ok(Err(_)) => return Err(house.ended()),
            Err(_) => return Err(house.hung()),
        };
        facts.load_ns = u64::try_from(clock.now().since(began).as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { house, facts })
    }

    /// What it is.
    pub fn facts(&self) -> &EngineFacts {
        &self.facts
    }

    /// Asks it for something other than answers.
    pub async fn control(&self, control: EngineControl) -> Result<Value, EngineError> {
        let what = control.what();
        let Driver::Worker(worker) = &self.house.driver else {
            return match control {
                EngineControl::Info => Ok(Value::Null),
                _ => Err(EngineError::Control { what, reason: "it has no profiler".to_owned() }),
            };
        };
        let deadline = self.house.clock.now() + self.house.spec.patience;
        let deadline = Instant::from_std(self.house.clock.instant(deadline));
        match timeout_at(deadline, worker.control(&control)).await {
            Ok(Ok(told)) => told.map_err(|reason| EngineError::Control { what, reason }),
            Ok(Err(_)) => Err(self.house.ended()),
            Err(_) => Err(self.house.hung()),
        }
    }

    /// Why it answers no more, if so.
    pub fn ended(&self) -> Option<String> {
        self.house.desk.closed()
    }

    /// Ends it in its own way, and by force what is left of it then.
    pub async fn shut_down(&self) {
        if let Driver::Worker(worker) = &self.house.driver {
            worker.shut_down(self.house.clock).await;
        }
    }

    pub(crate) fn submission(&self) -> Submission {
        self.house.spec.submission
    }

    pub(crate) fn spec(&self) -> &EngineRunSpec {
        &self.house.spec
    }

    pub(crate) fn clock(&self) -> MonotonicClock {
        self.house.clock
    }

    /// The answers to a request that is about to be handed over.
    pub(crate) fn open(&self, id: RequestId) -> Result<UnboundedReceiver<Reply>, RequestError> {
        self.house.desk.open(id)
    }

    pub(crate) fn generate(&self, requests: Vec<EngineRequest>) {
        self.house.desk.hear(self.house.clock.now());
        match &self.house.driver {
            Driver::Thread(thread) => thread.generate(requests),
            Driver::Worker(worker) => worker.generate(&requests),
        }
    }

    /// Nobody waits for this request any more.
    pub(crate) fn cancel(&self, id: RequestId) {
        self.house.desk.forget(id);
        match &self.house.driver {
            Driver::Thread(thread) => thread.cancel(id),
            Driver::Worker(worker) => worker.cancel(id),
        }
    }

    /// When it will have been silent for too long.
    pub(crate) fn deadline(&self) -> Stamp {
        self.house.desk.heard() + self.house.spec.patience
    }

    /// It was silent for too long.
    pub(crate) fn give_up(&self) {
        let _ = self.house.hung();
    }
}

impl House {
    fn ended(&self) -> EngineError {
        match &self.driver {
            Driver::Thread(_) => EngineError::Load {
                name: "in this program".to_owned(),
                reason: "it panicked".to_owned(),
            },
            Driver::Worker(worker) => worker.ended(),
        }
    }

    /// Ends an engine that was silent for too long. Who waits for it hears that, not how it ended.
    fn hung(&self) -> EngineError {
        let last_words = match &self.driver {
            Driver::Thread(_) => LastWords::default(),
            Driver::Worker(worker) => worker.printed(),
        };
        let error = EngineError::Hung { patience: self.spec.patience, last_words };
        self.desk.close(ErrorKind::Timeout, &error.to_string());
        if let Driver::Worker(worker) = &self.driver {
            worker.kill();
        }
        error
    }
}

impl Driver {
    fn start(
        spec: &EngineRunSpec,
        desk: &Arc<Desk>,
        clock: MonotonicClock,
    ) -> Result<(Self, Told), EngineError> {
        let desk = Arc::clone(desk);
        let load = match spec.engine.clone() {
            EngineSpec::Worker(worker) => {
                let (worker, told) = Worker::start(&worker, spec.submission, desk, clock)?;
                return Ok((Self::Worker(worker), told));
            }
            #[cfg(feature = "candle")]
            EngineSpec::Candle(spec) => boxed(move || crate::CandleEngine::load(spec)),
            #[cfg(not(feature = "candle"))]
            EngineSpec::Candle(_) => return Err(EngineError::NotBuilt { feature: "candle" }),
            EngineSpec::Scripted(script) => boxed(move || ScriptedEngine::load(script)),
        };
        let (thread, told) = StepThread::start(load, desk, clock)?;
        Ok((Self::Thread(thread), told))
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

/// What an engine is, once it is loaded.
type Told = oneshot::Receiver<Result<EngineFacts, EngineError>>;
