//! Sends what is due when it is due.
//!
//! One queue, ordered by due time, for all connections, and one timer, armed to its head. A late
//! pass sends all that has become due; it moves nothing that is not.

use std::cell::RefCell;
use std::io;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use servemark_core::Clock;
use servemark_pacer::{MachineClock, Timer};

use crate::answer::Answer;
use crate::http::{End, Wire};
use crate::truth::OpenTruth;

mod queue;

use queue::Queue;

/// Sends what is due when it is due.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Boxed, because a heap moves its items about.
    queue: RefCell<Queue<Box<Delivery>>>,
    timer: Timer,
    /// The bytes of the step that is being taken; kept for its memory.
    bytes: RefCell<Vec<u8>>,
}

impl Pacer {
    pub(crate) fn new() -> io::Result<Self> {
        let timer = Timer::new()?;
        Ok(Self { queue: RefCell::default(), timer, bytes: RefCell::default() })
    }

    /// Takes an answer over. What is due of it is sent at once.
    pub(crate) fn deliver(&self, answer: Answer, wire: Rc<Wire>, truth: OpenTruth) {
        let due = answer.due();
        self.queue.borrow_mut().push(due, Box::new(Delivery { answer, wire, truth }));
        self.send_due();
    }

    /// Sends until the runtime, and with it the timer, is gone.
    pub(crate) async fn run(&self) {
        while self.timer.fired().await.is_ok() {
            self.send_due();
        }
    }

    /// One pass. What becomes due during it waits for the next one, so that requests are read
    /// in between however late the pacer is.
    fn send_due(&self) {
        let (mut queue, mut bytes) = (self.queue.borrow_mut(), self.bytes.borrow_mut());
        let now = MachineClock.now();
        while let Some(mut delivery) = queue.pop_due(now) {
            if delivery.step(&mut bytes).is_continue() {
                queue.push(delivery.answer.due(), delivery);
            }
        }
        if let Some(due) = queue.next_due() {
            self.timer.arm(due.max(now + BETWEEN_PASSES));
        }
    }
}

/// An answer on its way to its connection.
#[derive(Debug)]
struct Delivery {
    answer: Answer,
    wire: Rc<Wire>,
    truth: OpenTruth,
}

impl Delivery {
    /// Takes the answer's next step. A connection that takes no more bytes ends the answer.
    fn step(&mut self, bytes: &mut Vec<u8>) -> ControlFlow<()> {
        bytes.clear();
        let step = self.answer.step(bytes);
        self.truth.sent(MachineClock.now(), step.pieces);
        if step.end.is_some() {
            self.truth.close();
        }
        let end = if self.send(bytes).is_ok() { step.end } else { Some(End::Close) };
        match end {
            None => ControlFlow::Continue(()),
            Some(end) => {
                self.wire.finish(end);
                ControlFlow::Break(())
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        match self.answer.split() {
            None => self.wire.send(bytes),
            Some(size) => self.wire.send_in_pieces(bytes, size),
        }
    }
}

/// How soon after a pass the next one may be. Below some twenty thousand pieces a second hardly
/// anything is due so soon; above, a wake-up serves several pieces. At fifty thousand it saves a
/// sixth of the thread's CPU time (`examples/cost.rs`).
const BETWEEN_PASSES: Duration = Duration::from_micros(50);
