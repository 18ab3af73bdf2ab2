//! One connection's sending half, shared by the pacer, which writes when something is due, and the
//! connection's task, which sends the rest when the socket takes more.

use std::cell::{Cell, RefCell};
use std::io;
use std::num::NonZeroUsize;

use bytes::{Buf, BytesMut};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::{KeepAlive, Parsed, Refusal, Request, RequestParser};

/// How an answer ends. Closed: these are the ways that the server knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// With the connection.
    Close,
    /// Not at all: the connection stays open and silent.
    Hang,
    /// And the next request may come.
    Whole,
}

impl From<KeepAlive> for End {
    fn from(keep_alive: KeepAlive) -> Self {
        match keep_alive {
            KeepAlive::No => Self::Close,
            KeepAlive::Yes => Self::Whole,
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: TcpStream,
    /// What the socket did not take yet.
    backlog: RefCell<BytesMut>,
    end: Cell<Option<End>>,
    /// Told when there is a backlog or an end.
    changed: Notify,
}

impl Wire {
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self { socket, backlog: RefCell::default(), end: Cell::new(None), changed: Notify::new() }
    }

    /// Writes what the socket takes and queues the rest. It never waits.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut backlog = self.backlog.borrow_mut();
        let taken = if backlog.is_empty() { try_write(&self.socket, bytes)? } else { 0 };
        if taken < bytes.len() {
            backlog.extend_from_slice(&bytes[taken..]);
            self.changed.notify_one();
        }
        Ok(())
    }

    /// The same in writes of so many bytes each.
    pub(crate) fn send_in_pieces(&self, bytes: &[u8], size: NonZeroUsize) -> io::Result<()> {
        bytes.chunks(size.get()).try_for_each(|piece| self.send(piece))
    }

    /// All of an answer was given to [`send`](Self::send).
    pub(crate) fn finish(&self, end: End) {
        self.end.set(Some(end));
        self.changed.notify_one();
    }

    /// Waits until an answer is finished and the socket has taken all of it. May be dropped at any
    /// await; nothing is lost.
    pub(crate) async fn settled(&self) -> io::Result<End> {
        loop {
            if !self.backlog.borrow().is_empty() {
                self.drain().await?;
            } else if let Some(end) = self.end.take() {
                return Ok(end);
            } else {
                self.changed.notified().await;
            }
        }
    }

    /// The next request; none if the peer has closed the connection. May be dropped at any await;
    /// what was read stays with the parser.
    pub(crate) async fn request(
        &self,
        parser: &mut RequestParser,
    ) -> io::Result<Option<Result<Request, Refusal>>> {
        loop {
            match parser.next() {
                Ok(Parsed::Request(request)) => return Ok(Some(Ok(request))),
                Ok(Parsed::Continue) => self.send(b"HTTP/1.1 100 Continue\r\n\r\n")?,
                Ok(Parsed::More) => {}
                Err(refusal) => return Ok(Some(Err(refusal))),
            }
            if self.read(parser.buffer()).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Waits until the peer closes the connection.
    pub(crate) async fn peer_gone(&self) {
        let mut ignored = BytesMut::with_capacity(64);
        while self.read(&mut ignored).await.is_ok_and(|count| count > 0) {
            ignored.clear();
        }
    }

    async fn read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        loop {
            self.socket.readable().await?;
            match self.socket.try_read_buf(buffer) {
                Err(error) if is_temporary(&error) => {}
                done => return done,
            }
        }
    }

    /// A backlog that cannot be sent is dropped: the next write then meets the error itself.
    async fn drain(&self) -> io::Result<()> {
        self.socket.writable().await?;
        let mut backlog = self.backlog.borrow_mut();
        match try_write(&self.socket, &backlog) {
            Ok(taken) => backlog.advance(taken),
            Err(error) => {
                backlog.clear();
                return Err(error);
            }
        }
        Ok(())
    }
}

/// How many bytes the socket takes now.
fn try_write(socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match socket.try_write(bytes) {
        Err(error) if is_temporary(&error) => Ok(0),
        done => done,
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}
