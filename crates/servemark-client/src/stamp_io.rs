//! The stamping IO: the one place where arrivals and departures get their time.
//!
//! [`StampIo`] sits on the TCP stream, under TLS if there is any, and reads the clock once per
//! socket read, right after the read returned and before anybody looks at the bytes. What it saw
//! lies in a [`Wire`], which the reader of the body asks when it takes a frame.
//!
//! On a current-thread runtime the answer is exact for HTTP/1.1: hyper reads the socket again only
//! after the one frame it holds was taken, and its task cannot run between the taking and the
//! asking. On HTTP/2, where streams share a connection, and on a runtime with several threads, it
//! is an upper bound.
//!
//! This is also the seam for the kernel's receive stamps: [`StampIo::poll_read`] is where
//! `recvmsg` with a control buffer replaces the plain read, and nothing above notices.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use servemark_core::{Clock, MonotonicClock, Stamp};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What was seen on one connection. Relaxed atomics suffice: on the runtime it is made for, writer
/// and reader are one thread.
#[derive(Debug)]
pub(crate) struct Wire {
    last_read: AtomicU64,
    first_write: AtomicU64,
}

impl Wire {
    fn new(now: Stamp) -> Self {
        Self { last_read: AtomicU64::new(now.as_nanos()), first_write: AtomicU64::new(UNWRITTEN) }
    }

    /// Forgets the last request's departure: the next write is a new one's.
    pub(crate) fn arm(&self) {
        self.first_write.store(UNWRITTEN, Ordering::Relaxed);
    }

    /// When the first write since [`arm`](Self::arm) was handed to the kernel.
    pub(crate) fn first_write(&self) -> Option<Stamp> {
        let nanos = self.first_write.load(Ordering::Relaxed);
        (nanos != UNWRITTEN).then(|| Stamp::from_nanos(nanos))
    }

    /// When the last read returned.
    pub(crate) fn last_read(&self) -> Stamp {
        Stamp::from_nanos(self.last_read.load(Ordering::Relaxed))
    }

    fn read_at(&self, at: Stamp) {
        self.last_read.store(at.as_nanos(), Ordering::Relaxed);
    }

    fn is_armed(&self) -> bool {
        self.first_write.load(Ordering::Relaxed) == UNWRITTEN
    }

    fn written_at(&self, at: Stamp) {
        self.first_write.store(at.as_nanos(), Ordering::Relaxed);
    }
}

/// A stream that stamps what passes.
#[derive(Debug)]
pub(crate) struct StampIo<S> {
    stream: S,
    wire: Arc<Wire>,
    clock: MonotonicClock,
}

impl<S> StampIo<S> {
    pub(crate) fn new(stream: S, clock: MonotonicClock) -> Self {
        Self { stream, wire: Arc::new(Wire::new(clock.now())), clock }
    }

    pub(crate) fn wire(&self) -> Arc<Wire> {
        Arc::clone(&self.wire)
    }
}

impl<S: AsyncWrite + Unpin> StampIo<S> {
    /// A small request leaves while `write` is still running, so its departure is the instant
    /// before the call; a write that had to wait did not depart.
    fn departing(
        &mut self,
        write: impl FnOnce(Pin<&mut S>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if !self.wire.is_armed() {
            return write(Pin::new(&mut self.stream));
        }
        let before = self.clock.now();
        let outcome = write(Pin::new(&mut self.stream));
        if matches!(outcome, Poll::Ready(Ok(written)) if written > 0) {
            self.wire.written_at(before);
        }
        outcome
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StampIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        // The end of the stream brings no byte, so it must not move the last byte's stamp.
        if buffer.filled().len() > before {
            self.wire.read_at(self.clock.now());
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StampIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.departing(|stream| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.departing(|stream| stream.poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// No run lasts for 584 years.
const UNWRITTEN: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn every_read_moves_the_stamp_and_the_end_does_not() {
        let clock = MonotonicClock::start();
        let (mut server, client) = tokio::io::duplex(64);
        let mut io = StampIo::new(client, clock);
        let wire = io.wire();

        let before = clock.now();
        server.write_all(b"one").await.unwrap();
        io.read_exact(&mut [0; 3]).await.unwrap();
        let first = wire.last_read();
        assert!(first >= before && first <= clock.now());

        drop(server);
        assert_eq!(io.read(&mut [0; 3]).await.unwrap(), 0);
        assert_eq!(wire.last_read(), first);
    }

    #[tokio::test]
    async fn only_the_first_write_of_a_request_is_its_departure() {
        let clock = MonotonicClock::start();
        let (_server, client) = tokio::io::duplex(64);
        let mut io = StampIo::new(client, clock);
        let wire = io.wire();
        assert_eq!(wire.first_write(), None);

        io.write_all(b"head").await.unwrap();
        let first = wire.first_write().unwrap();
        io.write_all(b"body").await.unwrap();
        assert_eq!(wire.first_write(), Some(first));

        wire.arm();
        assert_eq!(wire.first_write(), None);
        io.write_all(b"next").await.unwrap();
        assert!(wire.first_write().unwrap() >= first);
    }
}
