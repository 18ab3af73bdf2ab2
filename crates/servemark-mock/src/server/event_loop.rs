//! One thread of the server: waits, reads what has arrived, sends what is due, and waits again.
//!
//! It shares nothing with other threads but the [`ServerState`]. A late iteration sends everything
//! that has become due and does not move later due times.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::Builder;
use std::time::Duration;

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Poll, Token};
use servemark_core::{Clock, Stamp};
use servemark_pacer::{MachineClock, thread_cpu_time};

use super::acceptor::Acceptor;
use super::alarm::Alarm;
use super::connection::{Connection, ConnectionState, Incoming};
use super::connections::Connections;
use super::mailbox::{Command, Mailbox};
use super::queue::Queue;
use super::reply::{Reply, truth_document};
use super::state::ServerState;
use crate::http::{End, KeepAlive};

/// An event loop, which serves its connections on one thread.
#[derive(Debug)]
pub(super) struct EventLoop {
    state: Arc<ServerState>,
    poll: Poll,
    alarm: Alarm,
    /// The listener, which only the first thread has.
    acceptor: Option<Acceptor>,
    mailbox: Mailbox,
    inbox: Receiver<Command>,
    connections: Connections,
    /// The connections with unfinished answers, by the due time of the next step.
    queue: Queue,
    /// The connections that end unless something happens, by that time. An entry is stale if the
    /// connection's own `ends_at` has changed since.
    ends: Queue,
    last_pass: Stamp,
    /// Buffers for reading and for sending, kept to reuse their memory.
    read: Vec<u8>,
    sent: Vec<u8>,
    is_stopped: bool,
}

impl EventLoop {
    pub(super) fn new(state: Arc<ServerState>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let (mailbox, inbox) = Mailbox::new(poll.registry(), MAIL)?;
        Ok(Self {
            state,
            alarm: Alarm::new(poll.registry(), ALARM, mailbox.waker())?,
            poll,
            acceptor: None,
            mailbox,
            inbox,
            connections: Connections::default(),
            queue: Queue::default(),
            ends: Queue::default(),
            last_pass: Stamp::ZERO,
            read: vec![0; READ_AT_MOST],
            sent: Vec::new(),
            is_stopped: false,
        })
    }

    /// Gives the loop the listener.
    pub(super) fn open(&mut self, mut acceptor: Acceptor) -> io::Result<()> {
        acceptor.register(self.poll.registry(), ACCEPTOR)?;
        self.acceptor = Some(acceptor);
        Ok(())
    }

    pub(super) fn mailbox(&self) -> Mailbox {
        self.mailbox.clone()
    }

    /// Serves until it is stopped.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        while !self.is_stopped {
            let time_out = self.time_out();
            // An interrupted wait has no events, but something may still be due.
            if self.poll.poll(&mut events, time_out).is_err() {
                events.clear();
            }
            for event in &events {
                self.react(event);
            }
            self.send_due();
            self.end_due();
            self.readmit();
        }
    }

    /// Returns the time-out of the next wait; `None` if only the alarm or an event ends it.
    fn time_out(&mut self) -> Option<Duration> {
        if self.state.spec.spin {
            return Some(Duration::ZERO);
        }
        let dues = [self.queue.next_due(), self.ends.next_due()];
        let due = dues.into_iter().flatten().min()?;
        let now = MachineClock.now();
        if due <= now {
            return Some(Duration::ZERO);
        }
        self.alarm.set(due.max(self.last_pass + BETWEEN_PASSES));
        None
    }

    fn react(&mut self, event: &Event) {
        match event.token() {
            ALARM => {}
            ACCEPTOR => self.admit(),
            MAIL => self.open_mail(),
            Token(slot) => {
                if let Some(connection) = self.connections.get(slot) {
                    connection.notice(event);
                    self.go_on(slot);
                }
            }
        }
    }

    fn admit(&mut self) {
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.admit(&self.state.spec.faults);
        }
    }

    /// Tries again to accept connections after a failure; peers may have left meanwhile.
    fn readmit(&mut self) {
        if self.acceptor.as_ref().is_some_and(Acceptor::is_stuck) {
            self.admit();
        }
    }

    fn open_mail(&mut self) {
        while let Ok(command) = self.inbox.try_recv() {
            match command {
                // The answer is not needed if its receiver no longer exists.
                Command::CpuTime(reply) => drop(reply.send(thread_cpu_time())),
                Command::Send(slot, bytes, end) => match self.send(slot, &bytes, end) {
                    Ok(()) => self.go_on(slot),
                    Err(_) => self.connections.remove(slot),
                },
                Command::Serve(socket) => self.serve(socket),
                Command::Stop => self.is_stopped = true,
            }
        }
    }

    fn serve(&mut self, socket: TcpStream) {
        let (mut connection, slot) = (Connection::new(socket), self.connections.next());
        if connection.register(self.poll.registry(), Token(slot)).is_ok() {
            self.connections.insert(connection);
        }
    }

    /// Sends what is due now, in one pass. What becomes due during the pass waits for the next one,
    /// and so does the remainder of an answer that is behind, so that requests are read in between.
    fn send_due(&mut self) {
        let now = MachineClock.now();
        self.last_pass = now;
        let most = self.state.spec.pieces_per_write;
        while let Some(slot) = self.queue.pop_due(now) {
            let Some(connection) = self.connections.get(slot) else { continue };
            match connection.deliver(now, most, &mut self.sent) {
                Ok(Some(due)) => self.queue.push(due.max(after(now)), slot),
                Ok(None) => self.go_on(slot),
                Err(_) => self.connections.remove(slot),
            }
        }
    }

    /// Ends the connections whose idle time or `close-after` delay is over.
    fn end_due(&mut self) {
        let now = MachineClock.now();
        while let Some(slot) = self.ends.pop_due(now) {
            let Some(connection) = self.connections.get(slot) else { continue };
            if connection.ends_at.is_none_or(|ends_at| ends_at > now) {
                continue;
            }
            let is_reported = self.state.idle_limit.is_some_and(|limit| limit.is_reported);
            if matches!(connection.stage, ConnectionState::Idle) && is_reported {
                // A peer that has left does not read it, so an error does not matter.
                let _ = connection.send(REQUEST_TIMEOUT);
            }
            self.connections.remove(slot);
        }
    }

    /// Makes a connection wait for its next request, or for its end if a fault closes it.
    fn wait_idle(&mut self, slot: usize) {
        let Some(connection) = self.connections.get(slot) else { return };
        let parting = connection.close_after.take();
        connection.stage =
            if parting.is_some() { ConnectionState::Parting } else { ConnectionState::Idle };
        let limit = parting.or(self.state.idle_limit.map(|limit| limit.after));
        connection.ends_at = limit.map(|limit| MachineClock.now() + limit);
        if let Some(ends_at) = connection.ends_at {
            self.ends.push(ends_at, slot);
        }
    }

    /// Does all that a connection can do without blocking.
    fn go_on(&mut self, slot: usize) {
        loop {
            match self.advance(slot) {
                Ok(Next::Go) => {}
                Ok(Next::Wait) => return,
                // A broken connection affects no other connection.
                Ok(Next::Close) | Err(_) => return self.connections.remove(slot),
            }
        }
    }

    fn advance(&mut self, slot: usize) -> io::Result<Next> {
        let Some(connection) = self.connections.get(slot) else { return Ok(Next::Wait) };
        connection.drain()?;
        if connection.is_blocked() {
            return Ok(Next::Wait);
        }
        match connection.stage {
            ConnectionState::Answering(_)
            | ConnectionState::Elsewhere
            | ConnectionState::Parting => Ok(Next::Wait),
            ConnectionState::Ending(End::Close) => Ok(Next::Close),
            ConnectionState::Ending(End::Hang) => {
                let is_left = connection.is_left(&mut self.read)?;
                Ok(if is_left { Next::Close } else { Next::Wait })
            }
            ConnectionState::Ending(End::Whole) => {
                self.wait_idle(slot);
                Ok(Next::Go)
            }
            ConnectionState::Held(_) => {
                if let Some(due) = connection.resume() {
                    self.queue.push(due, slot);
                }
                Ok(Next::Wait)
            }
            ConnectionState::Idle => self.take_request(slot),
        }
    }

    fn take_request(&mut self, slot: usize) -> io::Result<Next> {
        let Some(connection) = self.connections.get(slot) else { return Ok(Next::Wait) };
        match connection.next_request(&mut self.read)? {
            Incoming::End => Ok(Next::Close),
            Incoming::Nothing => Ok(Next::Wait),
            Incoming::Request(request, reception) => {
                connection.ends_at = None;
                let reply = self.state.reply_to(request, reception);
                self.answer(slot, reply)?;
                Ok(Next::Go)
            }
        }
    }

    fn answer(&mut self, slot: usize, reply: Reply) -> io::Result<()> {
        match reply {
            Reply::Answer(delivery, close_after) => {
                if let Some(connection) = self.connections.get(slot) {
                    connection.close_after = close_after;
                }
                self.queue.push(delivery.due(), slot);
                self.enter(slot, ConnectionState::Answering(delivery));
                Ok(())
            }
            Reply::Now(bytes, end) => self.send(slot, &bytes, end),
            Reply::SimulatedTimes(keep_alive) => {
                self.enter(slot, ConnectionState::Elsewhere);
                self.write_truth(slot, keep_alive)
            }
        }
    }

    fn send(&mut self, slot: usize, bytes: &[u8], end: End) -> io::Result<()> {
        let Some(connection) = self.connections.get(slot) else { return Ok(()) };
        connection.stage = ConnectionState::Ending(end);
        connection.send(bytes)
    }

    fn enter(&mut self, slot: usize, stage: ConnectionState) {
        if let Some(connection) = self.connections.get(slot) {
            connection.stage = stage;
        }
    }

    /// Serialises the truth log on another thread, because a long log takes longer than the time
    /// between tokens.
    fn write_truth(&self, slot: usize, keep_alive: KeepAlive) -> io::Result<()> {
        let (log, mailbox) = (Arc::clone(&self.state.logs.truth), self.mailbox());
        let write = move || {
            let (bytes, end) = truth_document(&log, keep_alive);
            mailbox.post(Command::Send(slot, bytes, end));
        };
        Builder::new().name("servemark-truth".to_owned()).spawn(write).map(drop)
    }
}

/// What the event loop does next with a connection.
#[derive(Debug)]
enum Next {
    Close,
    Go,
    Wait,
}

/// Returns the first instant that a pass at `now` does not cover.
fn after(now: Stamp) -> Stamp {
    now + Duration::from_nanos(1)
}

/// The shortest time between two passes. Below about twenty thousand pieces per second, pieces are
/// rarely due so close together; above that, one wake-up serves several of them.
const BETWEEN_PASSES: Duration = Duration::from_micros(50);

/// The response to a client whose request the server no longer waits for.
const REQUEST_TIMEOUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// These tokens are the largest numbers because connections use the small ones.
const ALARM: Token = Token(usize::MAX);
const ACCEPTOR: Token = Token(usize::MAX - 1);
const MAIL: Token = Token(usize::MAX - 2);

const EVENTS_PER_TURN: usize = 1024;
const READ_AT_MOST: usize = 64 << 10;
