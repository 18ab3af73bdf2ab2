//! One connection: a request, its answer, the next request. Nothing in this module blocks.

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

/// A connection and its progress through requests and answers.
#[derive(Debug)]
pub(super) struct Connection {
    socket: TcpStream,
    parser: RequestParser,
    pub(super) stage: ConnectionState,
    /// The reception of the bytes that were read last.
    reception: Reception,
    /// Bytes that the socket has not accepted yet.
    backlog: BytesMut,
    /// Whether there may be something to read. Events are edge-triggered: each is reported once.
    is_readable: bool,
    peer_has_finished: bool,
    /// The time from the end of the current answer to the end of the connection, if a fault closes
    /// it.
    pub(super) close_after: Option<Duration>,
    /// When the connection ends unless something happens before.
    pub(super) ends_at: Option<Stamp>,
}

/// The state of a connection.
#[derive(Debug)]
pub(super) enum ConnectionState {
    /// An answer is being sent, and its next step is in the queue.
    Answering(Box<Delivery>),
    /// Another thread serialises the answer.
    Elsewhere,
    /// All of an answer was written, although the socket may not have accepted all of it.
    Ending(End),
    /// An answer is being sent, but it is not in the queue because the socket accepts no more
    /// bytes.
    Held(Box<Delivery>),
    /// The connection waits for the next request.
    Idle,
    /// The connection ends before it reads another request.
    Parting,
}

/// The result of reading from a connection.
#[derive(Debug)]
pub(super) enum Incoming {
    /// The peer has closed the connection.
    End,
    Nothing,
    Request(Result<Request, Refusal>, Reception),
}

impl Connection {
    pub(super) fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            parser: RequestParser::default(),
            stage: ConnectionState::Idle,
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

    /// Reads until a whole request has arrived or the socket is empty. `buffer` is scratch space.
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

    /// Reads and discards input. Returns whether the peer has closed the connection.
    pub(super) fn is_left(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        loop {
            match self.read(buffer)? {
                None => return Ok(false),
                Some(0) => return Ok(true),
                Some(_) => {}
            }
        }
    }

    /// Sends the steps of the answer that are due by `now`, with at most `most` pieces in the
    /// write. `bytes` is scratch space. Returns when the next step is due if the answer continues
    /// and the socket accepts more of it.
    ///
    /// # Errors
    ///
    /// Fails if the connection is broken.
    pub(super) fn deliver(
        &mut self,
        now: Stamp,
        most: NonZeroU32,
        bytes: &mut Vec<u8>,
    ) -> io::Result<Option<Stamp>> {
        let ConnectionState::Answering(mut delivery) =
            mem::replace(&mut self.stage, ConnectionState::Idle)
        else {
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
            Some(end) => (ConnectionState::Ending(end), None),
            None if self.is_blocked() => (ConnectionState::Held(delivery), None),
            None => (ConnectionState::Answering(delivery), Some(due)),
        };
        self.stage = stage;
        Ok(due)
    }

    /// Continues an answer that was held back. Returns when its next step is due.
    pub(super) fn resume(&mut self) -> Option<Stamp> {
        let ConnectionState::Held(delivery) = mem::replace(&mut self.stage, ConnectionState::Idle)
        else {
            return None;
        };
        let due = delivery.due();
        self.stage = ConnectionState::Answering(delivery);
        Some(due)
    }

    /// Writes the bytes that the socket accepts and keeps the others.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = if self.is_blocked() { 0 } else { write(&self.socket, bytes)? };
        if taken < bytes.len() {
            self.backlog.extend_from_slice(&bytes[taken..]);
        }
        Ok(())
    }

    /// Writes bytes that the socket did not accept before.
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

    /// Reads available bytes: zero at the end of the stream, `None` if nothing is available yet. A
    /// short read has emptied the socket but does not tell whether the stream ends there. On Windows a
    /// socket reports further bytes only after a read that found none.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if !self.is_readable {
            return Ok(None);
        }
        match self.socket.try_io(|| receive(&self.socket, buffer)) {
            Ok(received) => {
                self.is_readable =
                    received.length == buffer.len() || self.peer_has_finished || cfg!(windows);
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

/// Writes once and returns the number of bytes that the socket accepted.
fn write(mut socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match socket.write(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        done => done,
    }
}
