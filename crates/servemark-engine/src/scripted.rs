//! An engine that does as a test says.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{EngineFacts, ErrorKind, RequestError, Usage, Weights};

use crate::{
    Death, Emission, EngineError, EnginePrompt, EngineRequest, LastWords, RequestId, StepEngine,
};

/// What a scripted engine does.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScriptedSpec {
    /// How many requests it works on at once.
    pub slots: NonZeroUsize,
    /// What goes wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl Default for ScriptedSpec {
    fn default() -> Self {
        const SLOTS: NonZeroUsize = NonZeroUsize::new(16).expect("it is not zero");
        Self { slots: SLOTS, fault: None }
    }
}

/// What goes wrong with a scripted engine. Closed: it is for our tests.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It ends when so many requests are done.
    CrashAfter(usize),
    /// It says nothing more when so many requests are done.
    HangAfter(usize),
    /// It does not load.
    NoLoad,
    /// It refuses prompts of more than so many tokens.
    RefuseBeyond(usize),
}

/// An engine that does as a test says: the token after a prompt's last one is the next number, and
/// so on, one a step for each request.
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
    /// Loads it, unless it is not to load.
    pub fn load(spec: ScriptedSpec) -> Result<Self, EngineError> {
        if spec.fault == Some(Fault::NoLoad) {
            let reason = "its script says so".to_owned();
            return Err(EngineError::Load { name: NAME.to_owned(), reason });
        }
        Ok(Self { spec, running: Vec::new(), done: 0 })
    }

    /// Whether its fault has come over it.
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
                return Err(EngineError::Died(Death::new("its script ends", LastWords::default())));
            }
            Some(Fault::HangAfter(_)) => {
                loiter();
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
    /// One token, and the end behind the last. Says whether it goes on.
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

/// A step that takes its time and brings nothing.
#[expect(clippy::disallowed_methods, reason = "an engine that hangs is waited for by nobody")]
fn loiter() {
    std::thread::sleep(Duration::from_millis(1));
}

const NAME: &str = "scripted";
