//! One connection: a request, its answer, the next request. Nothing here waits.

use std::io::{self, Write};
use std::mem;
use std::num::NonZeroU32;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use mio::event::{Event, Source};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use servemark_core::Stamp;
use servemark_receive::receive;

use super::delivery::Delivery;
use crate::http::{End, Parsed, Refusal, Request, RequestParser};
use crate::reception::Reception;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: TcpStream,
    parser: RequestParser,
    pub(super) stage: Stage,
    /// Of the bytes that were read last.
    reception: Reception,
    /// What the socket did not take yet.
    backlog: BytesMut,
    /// Whether there may be something to read. Events are edges: each is told once.
    is_readable: bool,
    peer_has_finished: bool,
    /// How long after the answer under way the connection ends, where that is a fault.
    pub(super) close_after: Option<Duration>,
    /// When it ends if nothing happens before.
    pub(super) ends_at: Option<Stamp>,
}

/// What a connection is at. Closed: these are the parts of its life.
#[derive(Debug)]
pub(super) enum Stage {
    /// An answer is under way, and in the queue of what is due.
    Answering(Box<Delivery>),
    /// Another thread writes the answer down.
    Elsewhere,
    /// All of an answer was written, though the socket may not have taken all of it.
    Ending(End),
    /// An answer is under way, but not in the queue: the socket takes no more of it.
    Held(Box<Delivery>),
    /// The next request is waited for.
    Idle,
    /// The connection ends before another request is read.
    Parting,
}

/// What a connection has for the server.
#[derive(Debug)]
pub(super) enum Incoming {
    /// The peer has closed it.
    End,
    Nothing,
    Request(Result<Request, Refusal>, Reception),
}

impl Connection {
    pub(super) fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            parser: RequestParser::default(),
            stage: Stage::Idle,
            reception: Reception::default(),
            backlog: BytesMut::new(),
            is_readable: true,
            peer_has_finished: false,
            close_after: None,
            ends_at: None,
        }
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.socket.register(registry, token, Interest::READABLE | Interest::WRITABLE)
    }

    pub(super) fn notice(&mut self, event: &Event) {
        self.peer_has_finished |= event.is_read_closed() || event.is_error();
        self.is_readable |= event.is_readable() || self.peer_has_finished;
    }

    /// The next request, as far as it has come. `buffer` is only used meanwhile.
    pub(super) fn next_request(&mut self, buffer: &mut [u8]) -> io::Result<Incoming> {
        loop {
            match self.parser.next() {
                Ok(Parsed::Request(request)) => {
                    return Ok(Incoming::Request(Ok(request), self.reception));
                }
                Ok(Parsed::Continue) => self.send(b"HTTP/1.1 100 Continue\r\n\r\n")?,
                Ok(Parsed::More) => {}
                Err(refusal) => return Ok(Incoming::Request(Err(refusal), self.reception)),
            }
            match self.read(buffer)? {
                None => return Ok(Incoming::Nothing),
                Some(0) => return Ok(Incoming::End),
                Some(length) => self.parser.feed(&buffer[..length]),
            }
        }
    }

    /// Reads on without looking. Says whether the peer has closed the connection.
    pub(super) fn is_left(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        loop {
            match self.read(buffer)? {
                None => return Ok(false),
                Some(0) => return Ok(true),
                Some(_) => {}
            }
        }
    }

    /// Sends what of its answer is due by `now`, with so many pieces in the write. Says when the
    /// next step is due if the answer goes on and the socket takes more of it.
    ///
    /// # Errors
    ///
    /// The connection is broken.
    pub(super) fn deliver(
        &mut self,
        now: Stamp,
        most: NonZeroU32,
        bytes: &mut Vec<u8>,
    ) -> io::Result<Option<Stamp>> {
        let Stage::Answering(mut delivery) = mem::replace(&mut self.stage, Stage::Idle) else {
            return Ok(None);
        };
        bytes.clear();
        let end = delivery.write_down(now, most, bytes);
        match delivery.split() {
            None => self.send(bytes)?,
            Some(size) => bytes.chunks(size.get()).try_for_each(|piece| self.send(piece))?,
        }
        let due = delivery.due();
        let (stage, due) = match end {
            Some(end) => (Stage::Ending(end), None),
            None if self.is_blocked() => (Stage::Held(delivery), None),
            None => (Stage::Answering(delivery), Some(due)),
        };
        self.stage = stage;
        Ok(due)
    }

    /// Goes on with an answer that was held. Says when its next step is due.
    pub(super) fn resume(&mut self) -> Option<Stamp> {
        let Stage::Held(delivery) = mem::replace(&mut self.stage, Stage::Idle) else { return None };
        let due = delivery.due();
        self.stage = Stage::Answering(delivery);
        Some(due)
    }

    /// Writes what the socket takes and keeps the rest.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = if self.is_blocked() { 0 } else { write(&self.socket, bytes)? };
        if taken < bytes.len() {
            self.backlog.extend_from_slice(&bytes[taken..]);
        }
        Ok(())
    }

    /// Writes on what the socket did not take.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        if self.is_blocked() {
            let taken = write(&self.socket, &self.backlog)?;
            self.backlog.advance(taken);
        }
        Ok(())
    }

    pub(super) fn is_blocked(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Reads what there is; nothing at the end of the stream, and none if it is not known yet. A
    /// short read has emptied the socket, but does not tell whether the stream ends there.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if !self.is_readable {
            return Ok(None);
        }
        match receive(&self.socket, buffer) {
            Ok(received) => {
                self.is_readable = received.length == buffer.len() || self.peer_has_finished;
                if received.length > 0 {
                    self.reception = Reception::of(&received);
                }
                Ok(Some(received.length))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_readable = false;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// How many bytes the socket takes now.
fn write(mut socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match socket.write(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        done => done,
    }
}
