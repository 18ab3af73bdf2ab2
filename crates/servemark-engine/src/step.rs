//! Engines in this program, driven step by step on a thread of their own.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::Builder;

use servemark_core::{Clock, EngineFacts, ErrorKind, MonotonicClock, RequestError, Stamp, Usage};
use tokio::sync::oneshot;

use crate::desk::{Desk, Output, Piece, Reply};
use crate::{EngineError, EngineRequest, RequestId};

/// An engine in this program. It is made, driven and dropped on one thread of its own, so it need
/// not be [`Send`].
///
/// Requests are [admitted](Self::admit) while it [has room](Self::has_room), in the order in which
/// they came; then it takes one [step](Self::step) for all that are admitted, and so on. Continuous
/// batching is what comes of it where a step may begin some requests and go on with others; an
/// engine that can only begin together says that it has no room until all are done.
pub trait StepEngine {
    /// What it is. How long it took to load is not its business.
    fn facts(&self) -> EngineFacts;

    /// Whether it takes another request before its next step.
    fn has_room(&self) -> bool;

    /// Whether it has nothing to do.
    fn is_idle(&self) -> bool;

    /// Takes a request, or says why it never will.
    fn admit(&mut self, request: EngineRequest) -> Result<(), RequestError>;

    /// Drops a request that nobody waits for any more.
    fn cancel(&mut self, id: RequestId);

    /// Goes one step: usually one token for each request. Everything that it tells `out` is stamped
    /// when it tells it. A failure ends the engine.
    fn step(&mut self, out: &mut dyn FnMut(Emission)) -> Result<(), EngineError>;
}

/// What a step brings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Emission {
    /// A token of a request's output.
    Token {
        /// Whose.
        id: RequestId,
        /// Which.
        token: u32,
    },
    /// A request's output is whole.
    Finished {
        /// Whose.
        id: RequestId,
        /// Why: `length`, `stop`.
        reason: &'static str,
        /// What the engine counted.
        usage: Usage,
    },
    /// A request came to nothing; the others go on.
    Failed {
        /// Whose.
        id: RequestId,
        /// Why.
        error: RequestError,
    },
}

/// Makes an engine, on the thread on which it then stays.
pub(crate) type Load = Box<dyn FnOnce() -> Result<Box<dyn StepEngine>, EngineError> + Send>;

/// The thread that drives an engine. It ends when this is dropped, after the step that it is at.
#[derive(Debug)]
pub(crate) struct StepThread {
    orders: Sender<Order>,
}

/// What the thread is told.
#[derive(Debug)]
enum Order {
    Generate(Vec<EngineRequest>),
    Cancel(RequestId),
}

impl StepThread {
    /// Starts the thread, which loads the engine and says what it is.
    pub(crate) fn start(
        load: Load,
        desk: Arc<Desk>,
        clock: MonotonicClock,
    ) -> Result<(Self, oneshot::Receiver<Result<EngineFacts, EngineError>>), EngineError> {
        let ((orders, inbox), (tell, told)) = (channel(), oneshot::channel());
        let work = move || {
            let engine = match load() {
                Ok(engine) => engine,
                Err(error) => return drop(tell.send(Err(error))),
            };
            // Whoever gave up waiting has dropped the orders too.
            let _ = tell.send(Ok(engine.facts()));
            let drive = Drive { engine, desk: &desk, clock, waiting: VecDeque::new() };
            let why = drive.drive(&inbox);
            desk.close(ErrorKind::Truncated, &why);
        };
        Builder::new().name("engine".to_owned()).spawn(work)?;
        Ok((Self { orders }, told))
    }

    /// Gives it requests. If the thread is gone its desk is closed, which is what they hear.
    pub(crate) fn generate(&self, requests: Vec<EngineRequest>) {
        let _ = self.orders.send(Order::Generate(requests));
    }

    /// Drops a request that nobody waits for any more.
    pub(crate) fn cancel(&self, id: RequestId) {
        let _ = self.orders.send(Order::Cancel(id));
    }
}

/// What the thread does.
struct Drive<'a> {
    engine: Box<dyn StepEngine>,
    desk: &'a Desk,
    clock: MonotonicClock,
    waiting: VecDeque<EngineRequest>,
}

impl Drive<'_> {
    /// Drives the engine until nobody gives orders any more, or it fails. Says how it ended.
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
            let (desk, clock) = (self.desk, self.clock);
            self.engine.step(&mut |emission| pass_on(emission, desk, clock.now()))?;
        }
        Ok(())
    }

    /// Takes all orders that are there, and waits for one if there is nothing to do. Says whether
    /// there may be more.
    fn listen(&mut self, inbox: &Receiver<Order>) -> bool {
        loop {
            let order = if self.engine.is_idle() && self.waiting.is_empty() {
                inbox.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                inbox.try_recv()
            };
            match order {
                Ok(order) => self.obey(order),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Generate(requests) => {
                let now = self.clock.now();
                self.desk.hear(now);
                for request in &requests {
                    self.desk.reply(request.id, Reply::Taken(now));
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
                self.desk.reply(id, Reply::Failed(error));
            }
        }
    }
}

fn pass_on(emission: Emission, desk: &Desk, at: Stamp) {
    desk.hear(at);
    let (id, reply) = match emission {
        Emission::Token { id, token } => {
            (id, Reply::Piece(Piece { at, output: Output::Token(token) }))
        }
        Emission::Finished { id, reason, usage } => {
            (id, Reply::Finished { at, usage, reason: reason.to_owned() })
        }
        Emission::Failed { id, error } => (id, Reply::Failed(error)),
    };
    desk.reply(id, reply);
}
