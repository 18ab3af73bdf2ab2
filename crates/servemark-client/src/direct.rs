//! Our own HTTP/1.1: one connection, driven by the task that waits for its answer.
//!
//! There is no task and no channel between the socket and the decoder. One read goes into a buffer
//! that all connections of a thread share, is stamped, and is parsed in place, so a chunk needs no
//! allocation and an idle connection no buffer. `servemark-http1` interprets the bytes.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::uri::PathAndQuery;
use http::{Method, Request};
use servemark_core::{SocketFacts, Stamp};
use servemark_http1::{Body, Framing, Head, Piece};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::failure::ConnectionLoss;
use crate::stream::Stream;

/// An encoded request. Clones share its bytes.
#[derive(Clone)]
pub(crate) struct Encoded {
    head: Bytes,
    body: Bytes,
    asks_for: AsksFor,
}

/// The part of an answer that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AsksFor {
    Body,
    HeadAlone,
}

/// A connection that carries one request at a time.
#[derive(Debug)]
pub(crate) struct Direct {
    stream: Stream,
    /// Bytes that were read and not parsed yet: an incomplete head, or what followed a head.
    kept: Vec<u8>,
    body: Body,
    /// Whether another request may follow after the body.
    keeps_alive: bool,
}

/// Whether a body has more to read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Progress {
    More,
    End,
}

impl Encoded {
    /// Encodes a request with the length of its body.
    pub(crate) fn new(request: Request<Bytes>) -> Self {
        let (parts, body) = request.into_parts();
        let mut head = Vec::with_capacity(USUAL_HEAD);
        let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        put(&mut head, [parts.method.as_str(), " ", path, " HTTP/1.1\r\n"]);
        for (name, value) in &parts.headers {
            put(&mut head, [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
        }
        if !body.is_empty() && !parts.headers.contains_key(CONTENT_LENGTH) {
            put(&mut head, [CONTENT_LENGTH.as_str(), ": ", &body.len().to_string(), "\r\n"]);
        }
        put(&mut head, ["\r\n"]);
        let asks_for =
            if parts.method == Method::HEAD { AsksFor::HeadAlone } else { AsksFor::Body };
        Self { head: head.into(), body, asks_for }
    }

    /// Returns the request without its body.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns what is left of the request after the first `written` bytes.
    pub(crate) fn rest(&self, written: usize) -> [IoSlice<'_>; 2] {
        let of_head = self.head.len().min(written);
        let of_body = written - of_head;
        [IoSlice::new(&self.head[of_head..]), IoSlice::new(&self.body[of_body..])]
    }

    /// Writes what is left of the request after the first `written` bytes.
    fn poll_write(
        &self,
        written: &mut usize,
        stream: &mut Stream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while *written < self.head.len() + self.body.len() {
            let rest = self.rest(*written);
            match ready!(Pin::new(&mut *stream).poll_write_vectored(cx, &rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => *written += more,
            }
        }
        Pin::new(stream).poll_flush(cx)
    }
}

impl Direct {
    /// Creates a connection that has carried no request.
    pub(crate) fn new(mut stream: Stream) -> Self {
        // The counts of the handshake belong to no request.
        stream.facts();
        let body = Body::new(Framing::Length(0));
        Self { stream, kept: Vec::new(), body, keeps_alive: true }
    }

    /// Returns a second handle of the socket, for a write on another thread.
    pub(crate) fn socket(&self) -> io::Result<std::net::TcpStream> {
        self.stream.socket()
    }

    /// Sends a request of which `written` bytes are already written, and waits for the head of its
    /// answer.
    pub(crate) async fn ask(
        &mut self,
        request: &Encoded,
        mut written: usize,
    ) -> Result<Head, ConnectionLoss> {
        self.stream.was_written(written);
        let (mut writing, asks_for) = (true, request.asks_for);
        let outcome = std::future::poll_fn(|cx| {
            if writing {
                match request.poll_write(&mut written, &mut self.stream, cx) {
                    Poll::Pending => {}
                    Poll::Ready(Ok(())) => writing = false,
                    // A server may refuse a request before it has read it; its answer gives the
                    // reason.
                    Poll::Ready(Err(error)) => {
                        return self.poll_head(asks_for, cx).map_err(|_| error.into());
                    }
                }
            }
            self.poll_head(asks_for, cx)
        });
        let head = outcome.await?;
        self.keeps_alive &= !writing;
        Ok(head)
    }

    /// Reads from the connection and passes the bytes that belong to the body to `visit`.
    pub(crate) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        mut visit: impl FnMut(&[u8]),
    ) -> Poll<Result<Progress, ConnectionLoss>> {
        if self.body.is_over() {
            return Poll::Ready(Ok(Progress::End));
        }
        if !self.kept.is_empty() {
            let kept = std::mem::take(&mut self.kept);
            return Poll::Ready(self.take_apart(&kept, visit));
        }
        BUFFER.with_borrow_mut(|buffer| {
            let read = ready!(poll_read(&mut self.stream, cx, buffer))?;
            Poll::Ready(if read.is_empty() {
                self.closed()
            } else {
                self.take_apart(read, &mut visit)
            })
        })
    }

    /// Returns whether the answer is over and another request may follow.
    pub(crate) fn is_free(&self) -> bool {
        self.keeps_alive && self.body.is_over() && self.kept.is_empty()
    }

    /// Returns when the last byte of the request left, if the kernel reports it.
    pub(crate) fn transmit_time(&self) -> Option<Stamp> {
        self.stream.transmit_time()
    }

    /// Returns the kernel's counts since the last call, if it reports them.
    pub(crate) fn facts(&mut self) -> Option<SocketFacts> {
        self.stream.facts()
    }

    /// Returns whether the server has closed the connection or sent bytes without a request.
    pub(crate) fn is_closed(&mut self) -> bool {
        if self.stream.is_spent() {
            return true;
        }
        let mut unasked = [0];
        let mut cx = Context::from_waker(Waker::noop());
        self.keeps_alive &= poll_read(&mut self.stream, &mut cx, &mut unasked).is_pending();
        !self.keeps_alive
    }

    fn poll_head(
        &mut self,
        asks_for: AsksFor,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Head, ConnectionLoss>> {
        loop {
            if let Some(head) = self.head(asks_for)? {
                return Poll::Ready(Ok(head));
            }
            let read = BUFFER.with_borrow_mut(|buffer| {
                let read = ready!(poll_read(&mut self.stream, cx, buffer))?;
                self.kept.extend_from_slice(read);
                Poll::Ready(Ok::<_, io::Error>(read.len()))
            });
            if ready!(read)? == 0 {
                return Poll::Ready(Err(ConnectionLoss::closed()));
            }
        }
    }

    /// Returns the head, once all of it was read. Interim heads are skipped.
    fn head(&mut self, asks_for: AsksFor) -> Result<Option<Head>, ConnectionLoss> {
        while !self.kept.is_empty() {
            let Some((head, length)) = Head::parse(&self.kept)? else { break };
            self.kept.drain(..length);
            if !head.summary.is_interim() {
                self.body = Body::new(match asks_for {
                    AsksFor::Body => head.summary.framing()?,
                    AsksFor::HeadAlone => Framing::Length(0),
                });
                self.keeps_alive &= head.summary.keeps_alive();
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    fn take_apart(
        &mut self,
        mut input: &[u8],
        mut visit: impl FnMut(&[u8]),
    ) -> Result<Progress, ConnectionLoss> {
        loop {
            match self.body.next(&mut input)? {
                Piece::Data(data) => visit(data),
                Piece::More => return Ok(Progress::More),
                Piece::End => break,
            }
        }
        // Bytes after an answer belong to no request.
        self.keeps_alive &= input.is_empty();
        Ok(Progress::End)
    }

    fn closed(&mut self) -> Result<Progress, ConnectionLoss> {
        self.keeps_alive = false;
        if self.body.may_end_here() { Ok(Progress::End) } else { Err(ConnectionLoss::closed()) }
    }
}

/// Shows no headers, because they carry credentials.
impl std::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoded").field("body", &self.body.len()).finish_non_exhaustive()
    }
}

fn put<P: AsRef<[u8]>>(head: &mut Vec<u8>, parts: impl IntoIterator<Item = P>) {
    for part in parts {
        head.extend_from_slice(part.as_ref());
    }
}

/// Reads once into the buffer.
fn poll_read<'b>(
    stream: &mut Stream,
    cx: &mut Context<'_>,
    buffer: &'b mut [u8],
) -> Poll<io::Result<&'b [u8]>> {
    let mut read = ReadBuf::new(buffer);
    ready!(Pin::new(stream).poll_read(cx, &mut read))?;
    let length = read.filled().len();
    Poll::Ready(Ok(&buffer[..length]))
}

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ]);
}

/// Typical length of a request's head, with credentials and a few headers.
const USUAL_HEAD: usize = 512;

/// Size of the read buffer: several hundred events that a server sent faster than they were read.
const READ: usize = 64 << 10;
