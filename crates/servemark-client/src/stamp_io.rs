//! The stamping IO: the one place where arrivals and departures get their time.
//!
//! [`StampIo`] sits on the TCP stream, under TLS if there is any. Every socket read brings the
//! kernel's stamp of its last byte, where there is one, and is followed by one reading of the
//! clocks before anybody looks at the bytes. What was seen lies in a [`Wire`], which the reader of
//! the body asks when it takes a piece.
//!
//! On a current-thread runtime the answer is exact for HTTP/1.1: the socket is read again only
//! after what was read is taken. On HTTP/2, where streams share a connection, and on a runtime with
//! several threads, it is an upper bound.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use servemark_core::{Arrival, Clock, MonotonicClock, SocketFacts, Stamp};
use servemark_receive::{Received, ask_for_send_stamps, facts};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::departure;
use crate::receive::{Unread, ask_for_stamps, poll_receive};

/// What was seen on one connection. Relaxed atomics suffice: on the runtime it is made for, writer
/// and reader are one thread.
#[derive(Debug)]
pub(crate) struct Wire {
    arrived: AtomicU64,
    seen: AtomicU64,
    stamped: AtomicBool,
    first_write: AtomicU64,
    /// The first byte of an answer since the last [`arm`](Self::arm), or [`UNANSWERED`].
    first_byte: AtomicU16,
}

impl Wire {
    fn new(now: Stamp) -> Self {
        Self {
            arrived: AtomicU64::new(now.as_nanos()),
            seen: AtomicU64::new(now.as_nanos()),
            stamped: AtomicBool::new(false),
            first_write: AtomicU64::new(UNWRITTEN),
            first_byte: AtomicU16::new(UNANSWERED),
        }
    }

    /// Forgets the last request's departure: the next write is a new one's.
    pub(crate) fn arm(&self) {
        self.first_write.store(UNWRITTEN, Ordering::Relaxed);
        self.first_byte.store(UNANSWERED, Ordering::Relaxed);
    }

    /// Bytes of an answer were read; under TLS, decrypted ones. Only the first are looked at.
    pub(crate) fn answer_read(&self, bytes: &[u8]) {
        if !self.is_answered()
            && let Some(first) = bytes.first()
        {
            self.first_byte.store(u16::from(*first), Ordering::Relaxed);
        }
    }

    /// Whether any byte of an answer was read since the last [`arm`](Self::arm).
    pub(crate) fn is_answered(&self) -> bool {
        self.first_byte.load(Ordering::Relaxed) != UNANSWERED
    }

    /// Whether the answer begins as a TLS alert or handshake does, which no HTTP does.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self.first_byte.load(Ordering::Relaxed), 0x15 | 0x16)
    }

    /// When the first write since [`arm`](Self::arm) was handed to the kernel.
    pub(crate) fn first_write(&self) -> Option<Stamp> {
        let nanos = self.first_write.load(Ordering::Relaxed);
        (nanos != UNWRITTEN).then(|| Stamp::from_nanos(nanos))
    }

    /// When what was read last arrived, and when it was read.
    pub(crate) fn last_read(&self) -> Arrival {
        let stamp = |nanos: &AtomicU64| Stamp::from_nanos(nanos.load(Ordering::Relaxed));
        Arrival::new(stamp(&self.arrived), stamp(&self.seen))
    }

    /// Whether the kernel stamped what was read last.
    pub(crate) fn is_stamped(&self) -> bool {
        self.stamped.load(Ordering::Relaxed)
    }

    /// A read returned at `seen`; by the kernel its bytes had arrived `lag` before.
    fn read_at(&self, seen: Stamp, lag: Option<Duration>) {
        let previous = Stamp::from_nanos(self.arrived.load(Ordering::Relaxed));
        let arrived = arrived(seen, lag.unwrap_or_default(), previous);
        self.arrived.store(arrived.as_nanos(), Ordering::Relaxed);
        self.seen.store(seen.as_nanos(), Ordering::Relaxed);
        self.stamped.store(lag.is_some(), Ordering::Relaxed);
    }

    fn is_armed(&self) -> bool {
        self.first_write.load(Ordering::Relaxed) == UNWRITTEN
    }

    /// The first write since [`arm`](Self::arm) was handed to the kernel at `at`.
    pub(crate) fn written_at(&self, at: Stamp) {
        self.first_write.store(at.as_nanos(), Ordering::Relaxed);
    }
}

/// The arrival of what was seen at `seen`. A stream keeps its order, so it is not before the
/// arrival of what was read before; that also bounds what a jump of the wall clock can do.
fn arrived(seen: Stamp, lag: Duration, previous: Stamp) -> Stamp {
    let lag = u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX);
    Stamp::from_nanos(seen.as_nanos().saturating_sub(lag)).max(previous).min(seen)
}

/// A stream that stamps what passes.
#[derive(Debug)]
pub(crate) struct StampIo {
    stream: TcpStream,
    wire: Arc<Wire>,
    clock: MonotonicClock,
    /// What the kernel had counted when it was last asked.
    counted: SocketFacts,
    /// How many bytes were written.
    written: u32,
    /// Whether the kernel stamps what leaves.
    stamps_departures: bool,
}

impl StampIo {
    pub(crate) fn new(stream: TcpStream, clock: MonotonicClock) -> Self {
        ask_for_stamps(&stream);
        let wire = Arc::new(Wire::new(clock.now()));
        let counted = SocketFacts::default();
        Self { stream, wire, clock, counted, written: 0, stamps_departures: false }
    }

    /// Has the kernel stamp what leaves, if it will. Nothing was written yet.
    pub(crate) fn stamp_departures(&mut self) {
        let asked = ask_for_send_stamps(&self.stream);
        self.stamps_departures = asked.is_ok();
        if let Err(error) = asked {
            tracing::debug!(%error, "the kernel does not stamp what it sends");
        }
    }

    /// When the last byte that was written left, if the kernel has said so since it was last asked.
    pub(crate) fn left(&self) -> Option<Stamp> {
        let sent = self.wire.first_write().filter(|_| self.stamps_departures)?;
        let ago = departure::departure_of(self.written.wrapping_sub(1), &self.stream)?.ago();
        Some(arrived(self.clock.now(), ago, sent))
    }

    pub(crate) fn wire(&self) -> Arc<Wire> {
        Arc::clone(&self.wire)
    }

    /// Bytes of an answer were read from what lies above this stream.
    pub(crate) fn answer_read(&self, bytes: &[u8]) {
        self.wire.answer_read(bytes);
    }

    /// What waits to be read, as far as the kernel knows.
    pub(crate) fn unread(&self) -> Unread {
        Unread::on(&self.stream)
    }

    /// The socket once more, for a write on another thread.
    pub(crate) fn socket(&self) -> io::Result<std::net::TcpStream> {
        Ok(self.stream.as_fd().try_clone_to_owned()?.into())
    }

    /// What the kernel has counted since it was last asked, where it says.
    pub(crate) fn facts(&mut self) -> Option<SocketFacts> {
        let now = facts(&self.stream)?;
        Some(now.since(std::mem::replace(&mut self.counted, now)))
    }

    /// A small request leaves while `write` is still running, so its departure is the instant
    /// before the call; a write that had to wait did not depart.
    fn departing(
        &mut self,
        write: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let before = self.wire.is_armed().then(|| self.clock.now());
        let written = ready!(write(Pin::new(&mut self.stream)))?;
        if let Some(before) = before.filter(|_| written > 0) {
            self.wire.written_at(before);
        }
        self.was_written(written);
        Poll::Ready(Ok(written))
    }

    /// So many bytes were written, here or on another thread. The kernel counts modulo 2^32, too.
    pub(crate) fn was_written(&mut self, bytes: usize) {
        self.written = self.written.wrapping_add(bytes as u32);
    }

    fn stamp(&self, received: Received) {
        let lag = received.lag();
        self.wire.read_at(self.clock.now(), lag);
    }
}

impl AsyncRead for StampIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = usable(buffer);
        let room = buffer.initialize_unfilled_to(length);
        let received = ready!(poll_receive(&self.stream, cx, room))?;
        // The end of the stream brings no byte, so it must not move the last byte's stamp.
        if received.length > 0 {
            self.stamp(received);
            buffer.advance(received.length);
        }
        Poll::Ready(Ok(()))
    }
}

/// How much of a buffer is read into. Memory that nobody has written to must be zeroed before, so
/// no more of that is taken than answers usually need.
fn usable(buffer: &ReadBuf<'_>) -> usize {
    let clean = buffer.initialized().len() - buffer.filled().len();
    clean.max(buffer.remaining().min(MOST_ZEROED))
}

impl AsyncWrite for StampIo {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stamps_departures = self.stamps_departures;
        self.departing(|stream| {
            if stamps_departures {
                departure::poll_write(stream.get_mut(), cx, pieces)
            } else {
                stream.poll_write_vectored(cx, pieces)
            }
        })
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

/// No byte is as large.
const UNANSWERED: u16 = u16::MAX;

const MOST_ZEROED: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair(clock: MonotonicClock) -> (TcpStream, StampIo) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (listener.accept().await.unwrap().0, StampIo::new(client, clock))
    }

    #[tokio::test]
    async fn every_read_moves_the_stamp_and_the_end_does_not() {
        let clock = MonotonicClock::start();
        let (mut server, mut io) = pair(clock).await;
        let wire = io.wire();

        let before = clock.now();
        server.write_all(b"one").await.unwrap();
        io.read_exact(&mut [0; 3]).await.unwrap();
        let first = wire.last_read();
        assert!(first.at() >= before && first.seen() <= clock.now());

        drop(server);
        assert_eq!(io.read(&mut [0; 3]).await.unwrap(), 0);
        assert_eq!(wire.last_read(), first);
    }

    /// Bytes are stamped when they arrive, however late they are read.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_kernel_tells_when_bytes_came_that_nobody_read() {
        let clock = MonotonicClock::start();
        let (mut server, mut io) = pair(clock).await;
        // The first socket that asks switches stamping on for the machine, which takes a moment.
        while !io.wire().is_stamped() {
            server.write_all(b"x").await.unwrap();
            io.read_exact(&mut [0]).await.unwrap();
        }
        server.write_all(b"one").await.unwrap();
        let written = clock.now();
        let later = written + Duration::from_millis(20);
        tokio::time::sleep_until(clock.instant(later).into()).await;
        io.read_exact(&mut [0; 3]).await.unwrap();
        let read = io.wire().last_read();
        // What comes between the two readings of the clocks makes an arrival late by as much.
        let soon = written + Duration::from_millis(10);
        assert!(read.at() < soon && read.seen() >= later, "{read:?} {written:?}");
    }

    #[tokio::test]
    async fn only_the_first_write_of_a_request_is_its_departure() {
        let clock = MonotonicClock::start();
        let (_server, mut io) = pair(clock).await;
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

    #[test]
    fn an_arrival_is_between_the_one_before_and_now() {
        let at = Stamp::from_nanos;
        let lag = Duration::from_nanos;
        assert_eq!(arrived(at(100), lag(30), at(20)), at(70));
        assert_eq!(arrived(at(100), lag(30), at(90)), at(90));
        assert_eq!(arrived(at(100), lag(500), at(20)), at(20));
        assert_eq!(arrived(at(100), lag(0), at(20)), at(100));
    }

    #[test]
    fn memory_that_was_never_written_to_is_used_sparingly() {
        let mut fresh = [std::mem::MaybeUninit::uninit(); 16 << 10];
        assert_eq!(usable(&ReadBuf::uninit(&mut fresh)), MOST_ZEROED);
        assert_eq!(usable(&ReadBuf::new(&mut [0; 16 << 10])), 16 << 10);
    }
}
