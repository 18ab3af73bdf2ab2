//! What this program and a worker say to each other: JSON lines.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    Clock, EngineFacts, ErrorKind, JsonObject, MonotonicClock, RequestError, Stamp, Usage,
};
use tokio::sync::oneshot;

use crate::desk::{Desk, Output, Piece, Reply};
use crate::shared_clock::SharedClock;
use crate::{EngineControl, EngineError, EngineRequest, RequestId, Submission, WorkerSpec};

/// What a worker is told.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Order<'a> {
    Load {
        engine: &'static str,
        args: &'a JsonObject,
        argv: &'a [String],
        call: &'a JsonObject,
        streaming: bool,
    },
    Generate {
        requests: &'a [EngineRequest],
    },
    Cancel {
        id: RequestId,
    },
    Info,
    StartProfile {
        args: &'a JsonObject,
    },
    StopProfile,
    ShutDown,
}

impl<'a> Order<'a> {
    pub(super) fn load(spec: &'a WorkerSpec, submission: Submission) -> Self {
        Self::Load {
            engine: spec.engine.as_str(),
            args: &spec.args,
            argv: &spec.argv,
            call: &spec.call,
            streaming: submission == Submission::OneByOne,
        }
    }

    pub(super) fn of(control: &'a EngineControl) -> Self {
        match control {
            EngineControl::Info => Self::Info,
            EngineControl::StartProfile(args) => Self::StartProfile { args },
            EngineControl::StopProfile => Self::StopProfile,
        }
    }
}

/// What a worker, or its supervisor, says. Times are nanoseconds of the machine's monotonic clock.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Word {
    /// It is there.
    Hello { at: u64 },
    /// Its engine is loaded.
    Loaded { facts: EngineFacts },
    /// The engine was given these requests.
    Taken { at: u64, ids: Vec<RequestId> },
    /// Pieces of output: whose, when, how many tokens, which text.
    Pieces { of: Vec<(RequestId, u64, u32, String)> },
    /// These are done.
    Finished { of: Vec<(RequestId, u64, String, Usage)> },
    /// These came to nothing.
    Failed { ids: Vec<RequestId>, why: String },
    /// It did as it was told.
    Told { value: Value },
    /// It could not.
    Refused { why: String },
    /// All of it has ended.
    Ended { code: Option<i32>, signal: Option<i32> },
}

/// What somebody waits for besides answers.
#[derive(Debug, Default)]
pub(super) struct Expected {
    loaded: Mutex<Option<oneshot::Sender<Result<EngineFacts, EngineError>>>>,
    told: Mutex<Option<oneshot::Sender<Result<Value, String>>>>,
}

impl Expected {
    /// What the engine is, once it is loaded.
    pub(super) fn loaded(&self) -> oneshot::Receiver<Result<EngineFacts, EngineError>> {
        expect(&self.loaded)
    }

    /// What the worker says to a control. There is one at a time.
    pub(super) fn told(&self) -> oneshot::Receiver<Result<Value, String>> {
        expect(&self.told)
    }

    /// Nobody says anything more.
    pub(super) fn give_up(&self) {
        drop((taken(&self.loaded), taken(&self.told)));
    }
}

/// Understands what a worker says, line by line.
#[derive(Debug)]
pub(super) struct Listener {
    name: &'static str,
    desk: Arc<Desk>,
    expected: Arc<Expected>,
    clock: MonotonicClock,
    shared: SharedClock,
    started: Stamp,
}

impl Listener {
    pub(super) fn new(
        name: &'static str,
        desk: Arc<Desk>,
        expected: Arc<Expected>,
        clock: MonotonicClock,
    ) -> Self {
        let shared = SharedClock::of(&clock);
        Self { name, desk, expected, clock, shared, started: clock.now() }
    }

    /// One line. Says how all of it ended, if it is the last.
    pub(super) fn line(&self, line: &str) -> Option<String> {
        self.desk.hear(self.clock.now());
        match serde_json::from_str(line) {
            Ok(Word::Ended { code, signal }) => return Some(how(code, signal)),
            Ok(word) => self.word(word),
            Err(_) => self.not_loaded(EngineError::Protocol { line: line.to_owned() }),
        }
        None
    }

    /// All of it has ended: nobody has to wait any more.
    pub(super) fn close(&self, why: &str) {
        self.desk.close(ErrorKind::Truncated, why);
        self.expected.give_up();
    }

    fn word(&self, word: Word) {
        match word {
            Word::Hello { at } => self.hello(at),
            Word::Loaded { facts } => tell(&self.expected.loaded, Ok(facts)),
            Word::Taken { at, ids } => {
                for id in ids {
                    self.desk.reply(id, Reply::Taken(self.shared.stamp(at)));
                }
            }
            Word::Pieces { of } => of.into_iter().for_each(|piece| self.piece(piece)),
            Word::Finished { of } => {
                for (id, at, reason, usage) in of {
                    let at = self.shared.stamp(at);
                    self.desk.reply(id, Reply::Finished { at, usage, reason });
                }
            }
            Word::Failed { ids, why } => {
                for id in ids {
                    let error = RequestError::new(ErrorKind::InStream, &*why);
                    self.desk.reply(id, Reply::Failed(error));
                }
            }
            Word::Told { value } => tell(&self.expected.told, Ok(value)),
            Word::Refused { why } => self.refused(why),
            Word::Ended { .. } => {}
        }
    }

    fn hello(&self, at: u64) {
        if !self.shared.is_within(at, self.started, self.clock) {
            self.not_loaded(EngineError::OtherClock);
        }
    }

    fn piece(&self, (id, at, tokens, text): (RequestId, u64, u32, String)) {
        let (at, output) = (self.shared.stamp(at), Output::Text { tokens, text });
        self.desk.reply(id, Reply::Piece(Piece { at, output }));
    }

    /// To whatever it was told last.
    fn refused(&self, why: String) {
        match taken(&self.expected.told) {
            Some(told) => drop(told.send(Err(why))),
            None => self.not_loaded(unloaded(self.name, why)),
        }
    }

    fn not_loaded(&self, error: EngineError) {
        tell(&self.expected.loaded, Err(error));
    }
}

fn unloaded(name: &str, reason: String) -> EngineError {
    let name = name.to_owned();
    if reason.starts_with("ModuleNotFoundError") {
        return EngineError::Absent { name, reason };
    }
    EngineError::Load { name, reason }
}

fn expect<T>(slot: &Mutex<Option<oneshot::Sender<T>>>) -> oneshot::Receiver<T> {
    let (sender, receiver) = oneshot::channel();
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    receiver
}

fn taken<T>(slot: &Mutex<Option<oneshot::Sender<T>>>) -> Option<oneshot::Sender<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Whoever stopped waiting is not told.
fn tell<T>(slot: &Mutex<Option<oneshot::Sender<T>>>, word: T) {
    if let Some(sender) = taken(slot) {
        let _ = sender.send(word);
    }
}

/// How a process ended, in words.
fn how(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (_, Some(KILL)) => "signal 9; a machine that is out of memory does that".to_owned(),
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => "it was told to".to_owned(),
    }
}

const KILL: i32 = 9;

/// How long an engine may take to end in its own way.
pub(super) const FAREWELL: Duration = Duration::from_secs(60);
