//! Engines in this program, driven step by step on a thread of their own.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::Builder;

use servemark_core::{Clock, EngineFacts, ErrorKind, MonotonicClock, RequestError, Stamp, Usage};
use tokio::sync::oneshot;

use crate::reply_router::{Output, Piece, Reply, ReplyRouter};
use crate::{EngineError, EngineRequest, RequestId};

/// An engine in this program. It is created, driven and dropped on one thread of its own, so it
/// need not be [`Send`].
///
/// Requests are [admitted](Self::admit) in the order of arrival while the engine [has
/// room](Self::has_room); then it takes one [step](Self::step) for all admitted requests, and this
/// repeats. The result is continuous batching if a step can start some requests and continue
/// others; an engine that can only start requests together reports no room until all of them are
/// done.
pub trait StepEngine {
    /// Returns the engine's name, version and configuration. The caller fills in the load time.
    fn facts(&self) -> EngineFacts;

    /// Whether the engine can admit another request before its next step.
    fn has_room(&self) -> bool;

    /// Whether the engine has no requests.
    fn is_idle(&self) -> bool;

    /// Admits a request, or returns why it can never be answered.
    fn admit(&mut self, request: EngineRequest) -> Result<(), RequestError>;

    /// Drops a request whose answer is no longer needed.
    fn cancel(&mut self, id: RequestId);

    /// Takes one step, usually one token for each request. Every emission is stamped when the
    /// engine passes it to `out`. A failure ends the engine.
    fn step(&mut self, out: &mut dyn FnMut(Emission)) -> Result<(), EngineError>;
}

/// An event of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Emission {
    /// A token of a request's output.
    Token {
        /// The number of the request.
        id: RequestId,
        /// The id of the token.
        token: u32,
    },
    /// The output of a request is complete.
    Finished {
        /// The number of the request.
        id: RequestId,
        /// The finish reason, `length` or `stop`.
        reason: &'static str,
        /// The engine's token counts.
        usage: Usage,
    },
    /// A request failed; the others continue.
    Failed {
        /// The number of the request.
        id: RequestId,
        /// Why the request failed.
        error: RequestError,
    },
}

/// Creates an engine, on the thread that then drives it.
pub(crate) type Load = Box<dyn FnOnce() -> Result<Box<dyn StepEngine>, EngineError> + Send>;

/// The thread that drives an engine. It ends after its current step once this is dropped.
#[derive(Debug)]
pub(crate) struct StepThread {
    orders: Sender<Order>,
}

/// A command to the thread.
#[derive(Debug)]
enum Order {
    Generate(Vec<EngineRequest>),
    Cancel(RequestId),
}

impl StepThread {
    /// Starts the thread, which loads the engine and then sends its description.
    pub(crate) fn start(
        load: Load,
        router: Arc<ReplyRouter>,
        clock: MonotonicClock,
    ) -> Result<(Self, oneshot::Receiver<Result<EngineFacts, EngineError>>), EngineError> {
        let ((orders, inbox), (result_sender, result)) = (channel(), oneshot::channel());
        let work = move || {
            let engine = match load() {
                Ok(engine) => engine,
                Err(error) => return drop(result_sender.send(Err(error))),
            };
            // If the receiver is gone, so is the sender of orders, which ends the thread.
            let _ = result_sender.send(Ok(engine.facts()));
            let drive = Drive { engine, router: &router, clock, waiting: VecDeque::new() };
            let why = drive.drive(&inbox);
            router.close(ErrorKind::Truncated, &why);
        };
        Builder::new().name("engine".to_owned()).spawn(work)?;
        Ok((Self { orders }, result))
    }

    /// Submits requests. If the thread has ended, its router is closed, and they fail for that
    /// reason.
    pub(crate) fn generate(&self, requests: Vec<EngineRequest>) {
        let _ = self.orders.send(Order::Generate(requests));
    }

    /// Cancels a request whose answer is no longer needed.
    pub(crate) fn cancel(&self, id: RequestId) {
        let _ = self.orders.send(Order::Cancel(id));
    }
}

/// The state of the thread while it drives the engine.
struct Drive<'a> {
    engine: Box<dyn StepEngine>,
    router: &'a ReplyRouter,
    clock: MonotonicClock,
    waiting: VecDeque<EngineRequest>,
}

impl Drive<'_> {
    /// Drives the engine until the sender of orders is dropped or the engine fails. Returns how it
    /// ended.
    fn drive(mut self, inbox: &Receiver<Order>) -> String {
        match catch_unwind(AssertUnwindSafe(|| self.run(inbox))) {
            Ok(Ok(())) => "the engine was shut down".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the engine panicked".to_owned(),
        }
    }

    fn run(&mut self, inbox: &Receiver<Order>) -> Result<(), EngineError> {
        while self.listen(inbox) {
            self.admit();
            let (router, clock) = (self.router, self.clock);
            self.engine.step(&mut |emission| pass_on(emission, router, clock.now()))?;
        }
        Ok(())
    }

    /// Handles all pending orders, and waits for one if there is nothing to do. Returns whether
    /// more may come.
    fn listen(&mut self, inbox: &Receiver<Order>) -> bool {
        loop {
            let order = if self.engine.is_idle() && self.waiting.is_empty() {
                inbox.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                inbox.try_recv()
            };
            match order {
                Ok(order) => self.apply_order(order),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn apply_order(&mut self, order: Order) {
        match order {
            Order::Generate(requests) => {
                let now = self.clock.now();
                self.router.record_activity(now);
                for request in &requests {
                    self.router.reply(request.id, Reply::Taken(now));
                }
                self.waiting.extend(requests);
            }
            Order::Cancel(id) => {
                self.waiting.retain(|request| request.id != id);
                self.engine.cancel(id);
            }
        }
    }

    fn admit(&mut self) {
        while self.engine.has_room()
            && let Some(request) = self.waiting.pop_front()
        {
            let id = request.id;
            if let Err(error) = self.engine.admit(request) {
                self.router.reply(id, Reply::Failed(error));
            }
        }
    }
}

fn pass_on(emission: Emission, router: &ReplyRouter, at: Stamp) {
    router.record_activity(at);
    let (id, reply) = match emission {
        Emission::Token { id, token } => {
            (id, Reply::Piece(Piece { at, output: Output::Token(token) }))
        }
        Emission::Finished { id, reason, usage } => {
            (id, Reply::Finished { at, usage, reason: reason.to_owned() })
        }
        Emission::Failed { id, error } => (id, Reply::Failed(error)),
    };
    router.reply(id, reply);
}
