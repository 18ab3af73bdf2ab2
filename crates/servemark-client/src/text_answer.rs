//! The answer of a route of text, as it is received.

use std::io;
use std::ops::Range;

use http::StatusCode;
use servemark_http1::{Body, Framing, HeadSummary, Piece};

use crate::control::{LONGEST_TEXT, too_long};
use crate::error::ClientError;
use crate::failure::ConnectionLoss;
use crate::status::status_error;
use crate::target::Target;
use crate::text::{Memory, Text};

/// A whole answer.
pub(crate) struct TextAnswer {
    pub(crate) status: StatusCode,
    text: Text,
    /// Whether another request may follow on the connection.
    pub(crate) keeps_alive: bool,
}

impl TextAnswer {
    /// Returns the text, or the error of another status than 200.
    pub(crate) fn text(self, target: &Target, route: &str) -> Result<Text, ClientError> {
        if self.status == StatusCode::OK {
            return Ok(self.text);
        }
        Err(status_error(target, self.status, route, self.text.as_bytes()))
    }
}

/// Why an answer was not read.
#[derive(Debug)]
pub(crate) struct Failure {
    reason: Reason,
    /// The first byte of the answer, if any was received.
    first_byte: Option<u8>,
}

#[derive(Debug)]
enum Reason {
    NoHead(ConnectionLoss),
    NoEnd(ConnectionLoss),
    TooLong,
}

impl Failure {
    /// Creates the failure of a request that could not be written.
    pub(crate) fn of_write(error: io::Error) -> Self {
        Self { reason: Reason::NoHead(error.into()), first_byte: None }
    }

    /// Returns whether a kept connection was closed before it carried the request to the server.
    pub(crate) fn is_unprocessed(&self) -> bool {
        match &self.reason {
            Reason::NoHead(loss) => self.first_byte.is_none() && loss.unprocessed(true).is_some(),
            Reason::NoEnd(_) | Reason::TooLong => false,
        }
    }

    pub(crate) fn error(self, target: &Target) -> ClientError {
        let is_tls = matches!(self.first_byte, Some(0x15 | 0x16));
        match self.reason {
            Reason::NoHead(loss) if is_tls => loss.in_tls(target.base_url()),
            Reason::NoHead(loss) => loss.before_head(target.base_url()),
            Reason::NoEnd(loss) => loss.in_body(),
            Reason::TooLong => too_long(),
        }
    }
}

/// An answer as it is received.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// The received bytes, and room for more.
    memory: Memory,
    /// Positions of the text so far.
    text: Range<usize>,
    received: usize,
    /// Number of bytes that were parsed.
    parsed: usize,
    /// The head, once it was received.
    head: Option<AnswerHead>,
}

/// What is known once the head of an answer was received.
#[derive(Debug)]
struct AnswerHead {
    status: StatusCode,
    /// Whether another request may follow on the connection.
    keeps_alive: bool,
    body: Body,
}

impl Incoming {
    pub(crate) fn into(memory: Memory) -> Self {
        Self { memory, text: 0..0, received: 0, parsed: 0, head: None }
    }

    /// Returns memory for the next bytes. Few reads fill it, and after one that does not, the socket
    /// is known to be empty without another call.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let bytes = &mut self.memory.bytes;
        if bytes.len() - self.received < LEAST_ROOM {
            bytes.resize((bytes.len() * 2).max(2 * LEAST_ROOM), 0);
        }
        &mut bytes[self.received..]
    }

    /// Takes what a read into the room returned, and returns whether the answer is complete.
    pub(crate) fn take(&mut self, read: io::Result<usize>) -> Result<bool, Failure> {
        let is_over = match read {
            Ok(0) => self.end(),
            Ok(length) => self.add(length),
            Err(error) => Err(error.into()),
        };
        match is_over {
            // One read may have brought much more than the longest text, with its end.
            Ok(_) if self.is_too_long() => Err(self.failure(None)),
            Ok(is_over) => Ok(is_over),
            Err(loss) => Err(self.failure(Some(loss))),
        }
    }

    /// Takes the next bytes, and returns whether the answer is complete.
    fn add(&mut self, length: usize) -> Result<bool, ConnectionLoss> {
        self.received += length;
        if self.head.is_none() {
            self.take_head()?;
        }
        self.take_body()
    }

    /// Takes the end of the stream, and returns whether the answer is complete.
    fn end(&mut self) -> Result<bool, ConnectionLoss> {
        match &mut self.head {
            Some(head) if head.body.may_end_here() => {
                head.keeps_alive = false;
                Ok(true)
            }
            _ => Err(ConnectionLoss::closed()),
        }
    }

    /// Takes the head, once all of it was received. Interim heads are skipped.
    fn take_head(&mut self) -> Result<(), ConnectionLoss> {
        while self.parsed < self.received {
            let unparsed = &self.memory.bytes[self.parsed..self.received];
            let Some((head, length)) = HeadSummary::parse(unparsed)? else { break };
            self.parsed += length;
            if !head.is_interim() {
                let framing = head.framing()?;
                let keeps_alive = head.keeps_alive() && framing != Framing::UntilClose;
                let (status, body) = (head.status, Body::new(framing));
                self.head = Some(AnswerHead { status, keeps_alive, body });
                self.text = self.parsed..self.parsed;
                break;
            }
        }
        Ok(())
    }

    /// Removes the framing of what was received of the body.
    fn take_body(&mut self) -> Result<bool, ConnectionLoss> {
        let Some(head) = &mut self.head else { return Ok(false) };
        let bytes = &mut self.memory.bytes;
        loop {
            let mut rest = &bytes[self.parsed..self.received];
            let piece = head.body.next(&mut rest)?;
            let end = self.received - rest.len();
            self.parsed = end;
            match piece {
                Piece::Data(data) => {
                    let data = end - data.len()..end;
                    if self.text.start == self.text.end {
                        self.text = data;
                    } else {
                        let next = self.text.end + data.len();
                        if self.text.end != data.start {
                            bytes.copy_within(data, self.text.end);
                        }
                        self.text.end = next;
                    }
                }
                Piece::More => return Ok(false),
                Piece::End => {
                    // Bytes after an answer belong to no request.
                    head.keeps_alive &= end == self.received;
                    return Ok(true);
                }
            }
        }
    }

    fn is_too_long(&self) -> bool {
        self.text.len() >= LONGEST_TEXT
    }

    pub(crate) fn answer(self) -> TextAnswer {
        let head = self.head.expect("an answer is complete only after its head");
        let text = Text { memory: self.memory, text: self.text };
        TextAnswer { status: head.status, text, keeps_alive: head.keeps_alive }
    }

    /// Returns the failure of a connection that was lost; without a loss, of a text that is too
    /// long.
    fn failure(&self, loss: Option<ConnectionLoss>) -> Failure {
        let reason = match (loss, &self.head) {
            (None, _) => Reason::TooLong,
            (Some(loss), Some(_)) => Reason::NoEnd(loss),
            (Some(loss), None) => Reason::NoHead(loss),
        };
        let first_byte = self.memory.bytes[..self.received].first().copied();
        Failure { reason, first_byte }
    }
}

/// Least room for a read in bytes: that of the largest segment of a connection within a machine.
const LEAST_ROOM: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes an answer of this length at once.
    fn take(length: usize) -> Result<bool, Failure> {
        let mut incoming = Incoming::into(Memory::default());
        let mut bytes = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").into_bytes();
        bytes.resize(bytes.len() + length, b'x');
        let received = bytes.len();
        incoming.memory.bytes = bytes;
        incoming.take(Ok(received))
    }

    #[test]
    fn a_whole_answer_may_be_too_long() {
        assert!(take(LONGEST_TEXT - 1).unwrap());
        assert!(matches!(take(LONGEST_TEXT).unwrap_err().reason, Reason::TooLong));
    }
}
