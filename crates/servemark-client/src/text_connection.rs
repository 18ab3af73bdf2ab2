//! A connection over which texts are read without a runtime.
//!
//! A reading is one write and, as a rule, one read: the request is encoded once, the answer is
//! received into memory of an earlier one, and its framing is removed in place. Nothing else runs
//! between two readings, so little of what the measurement has in the processor's caches is lost.

use std::io::{self, Read, Write};
use std::net;
use std::task::Poll;

use http::StatusCode;
use mio::event::Source;
use mio::net::TcpStream;
use servemark_core::{Clock, MonotonicClock, Stamp};

use crate::direct::Encoded;
use crate::error::ClientError;
use crate::pool::MOST_IDLE;
use crate::target::Target;
use crate::text::{Text, TextPool};
use crate::text_answer::{Failure, Incoming};

/// An open connection that reads the text of one route again and again. A [`TextReader`] opens it.
///
/// It does not wait: its owner registers its [events](Self::events). When it is readable, the owner
/// calls [`receive`](Self::receive) if an answer is awaited, else [`look`](Self::look).
///
/// [`TextReader`]: crate::TextReader
#[derive(Debug)]
pub struct TextConnection {
    stream: TcpStream,
    request: Encoded,
    target: Target,
    route: String,
    pool: TextPool,
    clock: MonotonicClock,
    /// When the last answer ended.
    since: Stamp,
    /// Whether another request may follow on the connection.
    keeps_alive: bool,
    /// The answer, once its first bytes have arrived: until then other connections use the memory.
    incoming: Option<Incoming>,
}

/// Why a connection brought no text.
#[derive(Debug)]
pub enum TextLoss {
    /// The server closed the connection before it processed the request, which another connection
    /// may carry.
    Unprocessed,
    /// The reading failed.
    Failed(ClientError),
}

impl TextConnection {
    pub(crate) fn new(
        stream: net::TcpStream,
        request: Encoded,
        target: Target,
        route: String,
        pool: TextPool,
        clock: MonotonicClock,
    ) -> Self {
        let stream = TcpStream::from_std(stream);
        let since = clock.now();
        Self {
            stream,
            request,
            target,
            route,
            pool,
            clock,
            since,
            keeps_alive: true,
            incoming: None,
        }
    }

    /// Sends a request. Returns false if the connection cannot carry one any more.
    pub fn send(&mut self) -> bool {
        self.incoming = None;
        let is_young = self.clock.now().since(self.since) < MOST_IDLE;
        let request = self.request.head();
        // A request is far smaller than the memory of an idle socket.
        self.keeps_alive
            && is_young
            && self.stream.write(request).is_ok_and(|written| written == request.len())
    }

    /// Sends another request from now on. Errors name the route of the first one.
    pub(crate) fn set_request(&mut self, request: Encoded) {
        self.request = request;
    }

    /// Looks at the connection after an event that belongs to no answer: if the server closed it, or
    /// sent what was not asked for, it carries no other request.
    pub fn look(&mut self) {
        let read = self.stream.read(&mut [0]);
        self.keeps_alive &= read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
    }

    /// Receives what has arrived of the answer; pending if it is not complete.
    pub fn receive(&mut self) -> Poll<Result<Text, TextLoss>> {
        loop {
            let incoming = self.incoming.get_or_insert_with(|| Incoming::into(self.pool.take()));
            let read = match self.stream.read(incoming.room()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read,
            };
            match incoming.take(read) {
                Ok(false) => {}
                Ok(true) => return Poll::Ready(self.answer()),
                Err(failure) => return Poll::Ready(Err(self.lost(failure))),
            }
        }
    }

    /// Returns the source of the connection's events.
    pub fn events(&mut self) -> &mut impl Source {
        &mut self.stream
    }

    fn answer(&mut self) -> Result<Text, TextLoss> {
        let answer = self.incoming.take().expect("an answer was received").answer();
        self.keeps_alive = answer.keeps_alive;
        self.since = self.clock.now();
        if cfg!(windows) {
            // There, events go on only after a read that found nothing.
            self.look();
        }
        if answer.status == StatusCode::REQUEST_TIMEOUT {
            self.keeps_alive = false;
            return Err(TextLoss::Unprocessed);
        }
        answer.text(&self.target, &self.route).map_err(TextLoss::Failed)
    }

    fn lost(&mut self, failure: Failure) -> TextLoss {
        self.keeps_alive = false;
        if failure.is_unprocessed() {
            return TextLoss::Unprocessed;
        }
        TextLoss::Failed(failure.error(&self.target))
    }
}
