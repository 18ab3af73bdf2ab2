//! One thread of the server: waits, reads what came, sends what is due, and waits again.
//!
//! Nothing in it is shared with another thread but the [`Site`]. A late turn sends all that has
//! become due; it moves nothing that is not.

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

use super::alarm::Alarm;
use super::connection::{Connection, Incoming, Stage};
use super::connections::Connections;
use super::delivery::Delivery;
use super::door::Door;
use super::mailbox::{Command, Mailbox};
use super::queue::Queue;
use super::reply::{Reply, truth_document};
use super::site::Site;
use crate::http::{End, KeepAlive};

/// One thread of the server.
#[derive(Debug)]
pub(super) struct EventLoop {
    site: Arc<Site>,
    poll: Poll,
    alarm: Alarm,
    /// The first thread's.
    door: Option<Door>,
    mailbox: Mailbox,
    inbox: Receiver<Command>,
    connections: Connections,
    /// The connections whose answers go on, by when they do.
    queue: Queue,
    /// The connections that end if nothing happens before, by when they do. One that something
    /// happened to since has another time of its own.
    ends: Queue,
    last_pass: Stamp,
    /// What is read into, and what is sent from; kept for their memory.
    read: Vec<u8>,
    sent: Vec<u8>,
    is_stopped: bool,
}

impl EventLoop {
    pub(super) fn new(site: Arc<Site>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let (mailbox, inbox) = Mailbox::new(poll.registry(), MAIL)?;
        Ok(Self {
            site,
            alarm: Alarm::new(poll.registry(), ALARM)?,
            poll,
            door: None,
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

    /// Gives it the door to look after.
    pub(super) fn open(&mut self, mut door: Door) -> io::Result<()> {
        door.register(self.poll.registry(), DOOR)?;
        self.door = Some(door);
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
            // An interrupted wait has no events; what is due is due all the same.
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

    /// How long the next wait may be; without an end if the alarm or an event ends it.
    fn time_out(&mut self) -> Option<Duration> {
        if self.site.spec.spin {
            return Some(Duration::ZERO);
        }
        let dues = [self.queue.next_due(), self.ends.next_due()];
        let due = dues.into_iter().flatten().min()?;
        let now = MachineClock.now();
        if due <= now {
            return Some(Duration::ZERO);
        }
        self.alarm.set(due.max(self.last_pass + BETWEEN_PASSES), now)
    }

    fn react(&mut self, event: &Event) {
        match event.token() {
            ALARM => {}
            DOOR => self.admit(),
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
        if let Some(door) = &mut self.door {
            door.admit(&self.site.spec.faults);
        }
    }

    /// Tries again what could not be admitted; some may have left.
    fn readmit(&mut self) {
        if self.door.as_ref().is_some_and(Door::is_stuck) {
            self.admit();
        }
    }

    fn open_mail(&mut self) {
        while let Ok(command) = self.inbox.try_recv() {
            match command {
                // Who does not wait for the answer does not need it.
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

    /// One pass over what is due. What becomes due during it waits for the next one, and so does
    /// more of an answer that is behind, so that requests are read in between.
    fn send_due(&mut self) {
        let now = MachineClock.now();
        self.last_pass = now;
        let most = self.site.spec.pieces_per_write;
        while let Some(slot) = self.queue.pop_due(now) {
            let Some(connection) = self.connections.get(slot) else { continue };
            match connection.deliver(now, most, &mut self.sent) {
                Ok(Some(due)) => self.queue.push(due.max(after(now)), slot),
                Ok(None) => self.go_on(slot),
                Err(_) => self.connections.remove(slot),
            }
        }
    }

    /// Ends the connections whose time is over.
    fn end_due(&mut self) {
        let now = MachineClock.now();
        while let Some(slot) = self.ends.pop_due(now) {
            let Some(connection) = self.connections.get(slot) else { continue };
            if connection.ends_at.is_none_or(|ends_at| ends_at > now) {
                continue;
            }
            let is_told = self.site.idle_limit.is_some_and(|limit| limit.is_told);
            if matches!(connection.stage, Stage::Idle) && is_told {
                // A peer that is gone does not read it.
                let _ = connection.send(REQUEST_TIMEOUT);
            }
            self.connections.remove(slot);
        }
    }

    /// From now on a connection waits for its next request, or for its end where that is a fault.
    fn wait_idle(&mut self, slot: usize) {
        let Some(connection) = self.connections.get(slot) else { return };
        let parting = connection.close_after.take();
        connection.stage = if parting.is_some() { Stage::Parting } else { Stage::Idle };
        let limit = parting.or(self.site.idle_limit.map(|limit| limit.after));
        connection.ends_at = limit.map(|limit| MachineClock.now() + limit);
        if let Some(ends_at) = connection.ends_at {
            self.ends.push(ends_at, slot);
        }
    }

    /// Does all that a connection can do without waiting.
    fn go_on(&mut self, slot: usize) {
        loop {
            match self.advance(slot) {
                Ok(Next::Go) => {}
                Ok(Next::Wait) => return,
                // A connection that breaks ends nothing but itself.
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
            Stage::Answering(_) | Stage::Elsewhere | Stage::Parting => Ok(Next::Wait),
            Stage::Ending(End::Close) => Ok(Next::Close),
            Stage::Ending(End::Hang) => {
                let is_left = connection.is_left(&mut self.read)?;
                Ok(if is_left { Next::Close } else { Next::Wait })
            }
            Stage::Ending(End::Whole) => {
                self.wait_idle(slot);
                Ok(Next::Go)
            }
            Stage::Held(_) => {
                if let Some(due) = connection.resume() {
                    self.queue.push(due, slot);
                }
                Ok(Next::Wait)
            }
            Stage::Idle => self.take_request(slot),
        }
    }

    fn take_request(&mut self, slot: usize) -> io::Result<Next> {
        let Some(connection) = self.connections.get(slot) else { return Ok(Next::Wait) };
        match connection.next_request(&mut self.read)? {
            Incoming::End => Ok(Next::Close),
            Incoming::Nothing => Ok(Next::Wait),
            Incoming::Request(request, reception) => {
                connection.ends_at = None;
                let reply = self.site.reply_to(request, reception);
                self.answer(slot, reply)?;
                Ok(Next::Go)
            }
        }
    }

    fn answer(&mut self, slot: usize, reply: Reply) -> io::Result<()> {
        match reply {
            Reply::Answer(answer, truth, work, close_after) => {
                if let Some(connection) = self.connections.get(slot) {
                    connection.close_after = close_after;
                }
                let delivery = Box::new(Delivery::new(answer, truth, work));
                self.queue.push(delivery.due(), slot);
                self.enter(slot, Stage::Answering(delivery));
                Ok(())
            }
            Reply::Now(bytes, end) => self.send(slot, &bytes, end),
            Reply::Truth(keep_alive) => {
                self.enter(slot, Stage::Elsewhere);
                self.write_truth(slot, keep_alive)
            }
        }
    }

    fn send(&mut self, slot: usize, bytes: &[u8], end: End) -> io::Result<()> {
        let Some(connection) = self.connections.get(slot) else { return Ok(()) };
        connection.stage = Stage::Ending(end);
        connection.send(bytes)
    }

    fn enter(&mut self, slot: usize, stage: Stage) {
        if let Some(connection) = self.connections.get(slot) {
            connection.stage = stage;
        }
    }

    /// On another thread: a long log takes longer to write down than a token to be due.
    fn write_truth(&self, slot: usize, keep_alive: KeepAlive) -> io::Result<()> {
        let (log, mailbox) = (Arc::clone(&self.site.logs.truth), self.mailbox());
        let write = move || {
            let (bytes, end) = truth_document(&log, keep_alive);
            mailbox.post(Command::Send(slot, bytes, end));
        };
        Builder::new().name("servemark-truth".to_owned()).spawn(write).map(drop)
    }
}

/// What a connection does next. Closed: there is nothing else to do.
#[derive(Debug)]
enum Next {
    Close,
    Go,
    Wait,
}

/// The first instant that a pass at `now` does not reach.
fn after(now: Stamp) -> Stamp {
    now + Duration::from_nanos(1)
}

/// How soon after a pass the loop wakes up for the next one. Below some twenty thousand pieces a
/// second hardly anything is due so soon; above, a wake-up serves several pieces.
const BETWEEN_PASSES: Duration = Duration::from_micros(50);

/// What a server says to a client whose request it no longer waits for.
const REQUEST_TIMEOUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Connections have the small numbers.
const ALARM: Token = Token(usize::MAX);
const DOOR: Token = Token(usize::MAX - 1);
const MAIL: Token = Token(usize::MAX - 2);

const EVENTS_PER_TURN: usize = 1024;
const READ_AT_MOST: usize = 64 << 10;
