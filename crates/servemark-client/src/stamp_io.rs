//! The stamping I/O: the only place where arrival and send times are taken.
//!
//! [`StampIo`] wraps the TCP stream, below TLS if there is any. Every socket read returns the
//! kernel's stamp of its last byte, if there is one, and is followed by one reading of the clocks
//! before the bytes are parsed. The times are kept in a [`Wire`], from which the reader of the body
//! gets them when it takes a piece.
//!
//! On a current-thread runtime the arrival is exact for HTTP/1.1: the socket is read again only
//! after all bytes of the last read were taken. On HTTP/2, where streams share a connection, and on
//! a runtime with several threads, it is an upper bound.

use rustix::fd::AsFd;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use servemark_core::{Arrival, Clock, MonotonicClock, SocketFacts, Stamp};
use servemark_receive::{Received, ask_for_send_stamps, facts};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::receive::{Unread, ask_for_stamps, poll_receive};
use crate::transmit_stamp;

/// The times observed on one connection. Relaxed atomics suffice: on a current-thread runtime the
/// writer and the reader are one thread.
#[derive(Debug)]
pub(crate) struct Wire {
    arrived: AtomicU64,
    read_at: AtomicU64,
    stamped: AtomicBool,
    first_write: AtomicU64,
    /// The first byte of an answer since the last [`arm`](Self::arm), or [`UNANSWERED`].
    first_byte: AtomicU16,
}

impl Wire {
    fn new(now: Stamp) -> Self {
        Self {
            arrived: AtomicU64::new(now.as_nanos()),
            read_at: AtomicU64::new(now.as_nanos()),
            stamped: AtomicBool::new(false),
            first_write: AtomicU64::new(UNWRITTEN),
            first_byte: AtomicU16::new(UNANSWERED),
        }
    }

    /// Forgets the last request's send time: the next write belongs to a new request.
    pub(crate) fn arm(&self) {
        self.first_write.store(UNWRITTEN, Ordering::Relaxed);
        self.first_byte.store(UNANSWERED, Ordering::Relaxed);
    }

    /// Records that bytes of an answer were read; under TLS, decrypted ones. Only the first one is
    /// kept.
    pub(crate) fn answer_read(&self, bytes: &[u8]) {
        if !self.is_answered()
            && let Some(first) = bytes.first()
        {
            self.first_byte.store(u16::from(*first), Ordering::Relaxed);
        }
    }

    /// Returns whether any byte of an answer was read since the last [`arm`](Self::arm).
    pub(crate) fn is_answered(&self) -> bool {
        self.first_byte.load(Ordering::Relaxed) != UNANSWERED
    }

    /// Returns whether the answer begins as a TLS alert or handshake does, which no HTTP answer
    /// does.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self.first_byte.load(Ordering::Relaxed), 0x15 | 0x16)
    }

    /// Returns when the first write since [`arm`](Self::arm) was passed to the kernel.
    pub(crate) fn first_write(&self) -> Option<Stamp> {
        let nanos = self.first_write.load(Ordering::Relaxed);
        (nanos != UNWRITTEN).then(|| Stamp::from_nanos(nanos))
    }

    /// Returns when the bytes of the last read arrived, and when they were read.
    pub(crate) fn last_read(&self) -> Arrival {
        let stamp = |nanos: &AtomicU64| Stamp::from_nanos(nanos.load(Ordering::Relaxed));
        Arrival::new(stamp(&self.arrived), stamp(&self.read_at))
    }

    /// Returns whether the kernel stamped the last read.
    pub(crate) fn is_stamped(&self) -> bool {
        self.stamped.load(Ordering::Relaxed)
    }

    /// Records a read that returned at `observed` and whose bytes had arrived `lag` earlier by the
    /// kernel's stamp.
    fn read_at(&self, observed: Stamp, lag: Option<Duration>) {
        let previous = Stamp::from_nanos(self.arrived.load(Ordering::Relaxed));
        let arrived = arrived(observed, lag.unwrap_or_default(), previous);
        self.arrived.store(arrived.as_nanos(), Ordering::Relaxed);
        self.read_at.store(observed.as_nanos(), Ordering::Relaxed);
        self.stamped.store(lag.is_some(), Ordering::Relaxed);
    }

    fn is_armed(&self) -> bool {
        self.first_write.load(Ordering::Relaxed) == UNWRITTEN
    }

    /// Records that the first write since [`arm`](Self::arm) was passed to the kernel at `at`.
    pub(crate) fn written_at(&self, at: Stamp) {
        self.first_write.store(at.as_nanos(), Ordering::Relaxed);
    }
}

/// Returns the arrival of bytes read at `read_at`. A stream keeps its order, so it is not before
/// the `previous` arrival; that also bounds the effect of a jump of the wall clock.
fn arrived(read_at: Stamp, lag: Duration, previous: Stamp) -> Stamp {
    let lag = u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX);
    Stamp::from_nanos(read_at.as_nanos().saturating_sub(lag)).max(previous).min(read_at)
}

/// A stream that stamps its reads and writes.
#[derive(Debug)]
pub(crate) struct StampIo {
    stream: TcpStream,
    wire: Arc<Wire>,
    clock: MonotonicClock,
    /// The kernel's counts at the last look-up.
    counted: SocketFacts,
    /// Number of bytes written, modulo 2^32.
    written: u32,
    /// Whether the kernel creates transmit stamps.
    has_transmit_stamps: bool,
}

impl StampIo {
    pub(crate) fn new(stream: TcpStream, clock: MonotonicClock) -> Self {
        ask_for_stamps(&stream);
        let wire = Arc::new(Wire::new(clock.now()));
        let counted = SocketFacts::default();
        Self { stream, wire, clock, counted, written: 0, has_transmit_stamps: false }
    }

    /// Asks the kernel for transmit stamps. Must be called before the first write.
    pub(crate) fn enable_transmit_stamps(&mut self) {
        let result = ask_for_send_stamps(&self.stream);
        self.has_transmit_stamps = result.is_ok();
        if let Err(error) = result {
            tracing::debug!(%error, "the kernel does not stamp what it sends");
        }
    }

    /// Returns when the last written byte left, if the kernel has reported it since the last
    /// look-up.
    pub(crate) fn transmit_time(&self) -> Option<Stamp> {
        let sent = self.wire.first_write().filter(|_| self.has_transmit_stamps)?;
        let ago = transmit_stamp::stamp_of(self.written.wrapping_sub(1), &self.stream)?.ago();
        Some(arrived(self.clock.now(), ago, sent))
    }

    pub(crate) fn wire(&self) -> Arc<Wire> {
        Arc::clone(&self.wire)
    }

    /// Records that bytes of an answer were read from the layer above this stream.
    pub(crate) fn answer_read(&self, bytes: &[u8]) {
        self.wire.answer_read(bytes);
    }

    /// Returns whether bytes wait to be read, as far as the kernel knows.
    pub(crate) fn unread(&self) -> Unread {
        Unread::on(&self.stream)
    }

    /// Returns a second handle of the socket, for a write on another thread.
    pub(crate) fn socket(&self) -> io::Result<std::net::TcpStream> {
        Ok(self.stream.as_fd().try_clone_to_owned()?.into())
    }

    /// Returns the kernel's counts since the last call, if it reports them.
    pub(crate) fn facts(&mut self) -> Option<SocketFacts> {
        let now = facts(&self.stream)?;
        Some(now.since(std::mem::replace(&mut self.counted, now)))
    }

    /// Calls `write` and records its send time. A small request leaves while `write` is still
    /// running, so its send time is the instant before the call; a write that had to wait has sent
    /// nothing.
    fn observe_send(
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

    /// Counts bytes written here or on another thread. The kernel counts modulo 2^32 as well.
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
        // The end of the stream has no bytes, so it must not change the last byte's stamp.
        if received.length > 0 {
            self.stamp(received);
            buffer.advance(received.length);
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns how many bytes of a buffer are read into. Uninitialised memory must be zeroed first, so
/// no more of it is used than answers usually need.
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
        let has_transmit_stamps = self.has_transmit_stamps;
        self.observe_send(|stream| {
            if has_transmit_stamps {
                transmit_stamp::poll_write(stream.get_mut(), cx, pieces)
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

/// Marks that nothing was written; no run lasts for 584 years.
const UNWRITTEN: u64 = u64::MAX;

/// Marks that no byte was read; it is larger than any byte.
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
        assert!(first.at() >= before && first.read_at() <= clock.now());

        drop(server);
        assert_eq!(io.read(&mut [0; 3]).await.unwrap(), 0);
        assert_eq!(wire.last_read(), first);
    }

    /// Bytes are stamped when they arrive, however late they are read.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_kernel_stamps_bytes_that_are_read_late() {
        let clock = MonotonicClock::start();
        let (mut server, mut io) = pair(clock).await;
        // The first socket that asks enables stamping on the machine, which takes a moment.
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
        // A delay between the two readings of the clocks makes an arrival late by the same amount.
        let soon = written + Duration::from_millis(10);
        assert!(read.at() < soon && read.read_at() >= later, "{read:?} {written:?}");
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
