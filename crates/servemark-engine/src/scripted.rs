//! A scripted engine for tests.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{EngineFacts, ErrorKind, RequestError, Usage, Weights};

use crate::{
    Emission, EngineError, EnginePrompt, EngineRequest, LastLines, RequestId, StepEngine,
    WorkerExit,
};

/// The configuration of a scripted engine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedSpec {
    /// The largest number of requests that run at once.
    pub slots: NonZeroUsize,
    /// The fault to inject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl Default for ScriptedSpec {
    fn default() -> Self {
        const SLOTS: NonZeroUsize = NonZeroUsize::new(16).expect("it is not zero");
        Self { slots: SLOTS, fault: None }
    }
}

/// A fault of a scripted engine, for tests.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The engine ends once this number of requests is done.
    CrashAfter(usize),
    /// The engine produces no more output once this number of requests is done.
    HangAfter(usize),
    /// The engine cannot be loaded.
    NoLoad,
    /// The engine refuses prompts of more than this number of tokens.
    RefuseBeyond(usize),
}

/// An engine whose output is predictable: each token is the last token of the prompt or output plus
/// one, and each step makes one token for every running request.
#[derive(Debug)]
pub struct ScriptedEngine {
    spec: ScriptedSpec,
    running: Vec<Running>,
    done: usize,
}

#[derive(Debug)]
struct Running {
    id: RequestId,
    prompt_tokens: u32,
    next: u32,
    made: u32,
    most: u32,
}

impl ScriptedEngine {
    /// Loads the engine, or fails if its fault says so.
    pub fn load(spec: ScriptedSpec) -> Result<Self, EngineError> {
        if spec.fault == Some(Fault::NoLoad) {
            let reason = "its script says so".to_owned();
            return Err(EngineError::Load { name: NAME.to_owned(), reason });
        }
        Ok(Self { spec, running: Vec::new(), done: 0 })
    }

    /// Returns the fault if its condition is met.
    fn fault(&self) -> Option<Fault> {
        self.spec.fault.filter(|fault| match fault {
            Fault::CrashAfter(done) | Fault::HangAfter(done) => self.done >= *done,
            Fault::NoLoad | Fault::RefuseBeyond(_) => false,
        })
    }
}

impl StepEngine for ScriptedEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = EngineFacts::new(NAME, env!("CARGO_PKG_VERSION"));
        facts.weights = Weights::Dummy;
        "none".clone_into(&mut facts.device);
        "none".clone_into(&mut facts.dtype);
        facts.batch_policy = format!("continuous, {} at once", self.spec.slots);
        facts
    }

    fn has_room(&self) -> bool {
        self.running.len() < self.spec.slots.get()
    }

    fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    fn admit(&mut self, request: EngineRequest) -> Result<(), RequestError> {
        let EnginePrompt::Ids(ids) = request.prompt else {
            return Err(refusal("the scripted engine reads token ids"));
        };
        if let Some(Fault::RefuseBeyond(most)) = self.spec.fault
            && ids.len() > most
        {
            return Err(refusal("the prompt is too long"));
        }
        self.running.push(Running {
            id: request.id,
            prompt_tokens: u32::try_from(ids.len()).unwrap_or(u32::MAX),
            next: ids.last().map_or(0, |last| last + 1),
            made: 0,
            most: request.output_tokens,
        });
        Ok(())
    }

    fn cancel(&mut self, id: RequestId) {
        self.running.retain(|running| running.id != id);
    }

    fn step(&mut self, out: &mut dyn FnMut(Emission)) -> Result<(), EngineError> {
        match self.fault() {
            Some(Fault::CrashAfter(_)) => {
                return Err(EngineError::Died(WorkerExit::new(
                    "its script ends",
                    LastLines::default(),
                )));
            }
            Some(Fault::HangAfter(_)) => {
                idle_step();
                return Ok(());
            }
            _ => {}
        }
        let before = self.running.len();
        self.running.retain_mut(|running| running.step(out));
        self.done += before - self.running.len();
        Ok(())
    }
}

impl Running {
    /// Emits one token, and the end after the last one. Returns whether the request continues.
    fn step(&mut self, out: &mut dyn FnMut(Emission)) -> bool {
        if self.made < self.most {
            out(Emission::Token { id: self.id, token: self.next });
            self.made += 1;
            self.next += 1;
        }
        if self.made == self.most {
            let usage = Usage::new(Some(self.prompt_tokens), Some(self.made));
            out(Emission::Finished { id: self.id, reason: "length", usage });
        }
        self.made < self.most
    }
}

fn refusal(why: &str) -> RequestError {
    RequestError::new(ErrorKind::Status, why)
}

/// A step that takes one millisecond and produces nothing.
#[expect(clippy::disallowed_methods, reason = "no other work runs on this thread")]
fn idle_step() {
    std::thread::sleep(Duration::from_millis(1));
}

const NAME: &str = "scripted";
