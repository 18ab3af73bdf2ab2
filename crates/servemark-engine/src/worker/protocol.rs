//! The protocol between this program and a worker: JSON lines.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    Clock, EngineFacts, ErrorKind, JsonObject, MonotonicClock, RequestError, Stamp, Usage,
};
use tokio::sync::oneshot;

use crate::reply_router::{Output, Piece, Reply, ReplyRouter};
use crate::shared_clock::SharedClock;
use crate::{EngineControl, EngineError, EngineRequest, RequestId, Submission, WorkerSpec};

/// A message to a worker.
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

/// A message from a worker or its supervisor. Times are nanoseconds on the machine's monotonic
/// clock.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Word {
    /// The worker has started.
    Hello { at: u64 },
    /// The engine is loaded.
    Loaded { facts: EngineFacts },
    /// The engine has received these requests.
    Taken { at: u64, ids: Vec<RequestId> },
    /// Pieces of output: request, time, number of tokens, text.
    Pieces { of: Vec<(RequestId, u64, u32, String)> },
    /// Completed answers: request, time, finish reason, counts.
    Finished { of: Vec<(RequestId, u64, String, Usage)> },
    /// These requests failed.
    Failed { ids: Vec<RequestId>, why: String },
    /// A control command succeeded.
    #[serde(rename = "told")]
    Answered { value: Value },
    /// The load or a control command failed.
    Refused { why: String },
    /// All processes have ended.
    Ended { code: Option<i32>, signal: Option<i32> },
}

/// The pending results of the load and of a control command.
#[derive(Debug, Default)]
pub(super) struct Expected {
    loaded: Mutex<Option<oneshot::Sender<Result<EngineFacts, EngineError>>>>,
    told: Mutex<Option<oneshot::Sender<Result<Value, String>>>>,
}

impl Expected {
    /// Returns the receiver of the engine's description, sent once it is loaded.
    pub(super) fn loaded(&self) -> oneshot::Receiver<Result<EngineFacts, EngineError>> {
        expect(&self.loaded)
    }

    /// Returns the receiver of the answer to a control command. There is one command at a time.
    pub(super) fn control_answer(&self) -> oneshot::Receiver<Result<Value, String>> {
        expect(&self.told)
    }

    /// Drops the senders, so that the receivers fail.
    pub(super) fn give_up(&self) {
        drop((take_sender(&self.loaded), take_sender(&self.told)));
    }
}

/// Handles the lines that a worker writes.
#[derive(Debug)]
pub(super) struct Listener {
    name: &'static str,
    router: Arc<ReplyRouter>,
    expected: Arc<Expected>,
    clock: MonotonicClock,
    shared: SharedClock,
    started: Stamp,
}

impl Listener {
    pub(super) fn new(
        name: &'static str,
        router: Arc<ReplyRouter>,
        expected: Arc<Expected>,
        clock: MonotonicClock,
    ) -> Self {
        let shared = SharedClock::of(&clock);
        Self { name, router, expected, clock, shared, started: clock.now() }
    }

    /// Handles one line. Returns how the processes ended, if it is the last line.
    pub(super) fn line(&self, line: &str) -> Option<String> {
        self.router.record_activity(self.clock.now());
        match serde_json::from_str(line) {
            Ok(Word::Ended { code, signal }) => return Some(how(code, signal)),
            Ok(word) => self.word(word),
            Err(_) => self.not_loaded(EngineError::Protocol { line: line.to_owned() }),
        }
        None
    }

    /// Fails everything that still waits, as all processes have ended.
    pub(super) fn close(&self, why: &str) {
        self.router.close(ErrorKind::Truncated, why);
        self.expected.give_up();
    }

    fn word(&self, word: Word) {
        match word {
            Word::Hello { at } => self.hello(at),
            Word::Loaded { facts } => send_once(&self.expected.loaded, Ok(facts)),
            Word::Taken { at, ids } => {
                for id in ids {
                    self.router.reply(id, Reply::Taken(self.shared.stamp(at)));
                }
            }
            Word::Pieces { of } => of.into_iter().for_each(|piece| self.piece(piece)),
            Word::Finished { of } => {
                for (id, at, reason, usage) in of {
                    let at = self.shared.stamp(at);
                    self.router.reply(id, Reply::Finished { at, usage, reason });
                }
            }
            Word::Failed { ids, why } => {
                for id in ids {
                    let error = RequestError::new(ErrorKind::InStream, &*why);
                    self.router.reply(id, Reply::Failed(error));
                }
            }
            Word::Answered { value } => send_once(&self.expected.told, Ok(value)),
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
        self.router.reply(id, Reply::Piece(Piece { at, output }));
    }

    /// Passes a failure on to the pending control command, or else to the load.
    fn refused(&self, why: String) {
        match take_sender(&self.expected.told) {
            Some(told) => drop(told.send(Err(why))),
            None => self.not_loaded(unloaded(self.name, why)),
        }
    }

    fn not_loaded(&self, error: EngineError) {
        send_once(&self.expected.loaded, Err(error));
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

fn take_sender<T>(slot: &Mutex<Option<oneshot::Sender<T>>>) -> Option<oneshot::Sender<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Sends a result unless its receiver is gone or already served.
fn send_once<T>(slot: &Mutex<Option<oneshot::Sender<T>>>, word: T) {
    if let Some(sender) = take_sender(slot) {
        let _ = sender.send(word);
    }
}

/// Describes in words how a process ended.
fn how(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (_, Some(KILL)) => "signal 9, as when a machine runs out of memory".to_owned(),
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => "as requested".to_owned(),
    }
}

const KILL: i32 = 9;

/// How long an engine may take to shut down gracefully.
pub(super) const FAREWELL: Duration = Duration::from_secs(60);
