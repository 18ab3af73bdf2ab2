//! Writes to a socket for which the kernel creates transmit stamps.
//!
//! The stamps wait in the socket's error queue, and while one waits there `epoll` reports an error.
//! Tokio takes that for a closed write side and keeps the socket marked as writable forever: a
//! write that has to wait would be retried in a busy loop. When a write finds the socket not
//! writable although Tokio says it is, the socket is therefore registered again under a new
//! descriptor. Each stamp can cause that once, and each successful write produces one stamp.

use rustix::fd::AsFd;
use std::io::{self, IoSlice};
use std::net;
use std::task::{Context, Poll, ready};

use servemark_receive::{TransmitReport, transmit_report};
use tokio::net::TcpStream;

/// Writes as much as the socket's buffer takes, or waits until it takes something.
pub(crate) fn poll_write(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    pieces: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    let mut is_reported_writable = false;
    loop {
        match stream.try_write_vectored(pieces) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            written => return Poll::Ready(written),
        }
        if is_reported_writable {
            watch_anew(stream)?;
        }
        ready!(stream.poll_write_ready(cx))?;
        is_reported_writable = true;
    }
}

/// Returns the transmit stamp of the byte at `position`, the last of a write. Stamps of earlier
/// bytes are dropped.
pub(crate) fn stamp_of(position: u32, stream: &TcpStream) -> Option<TransmitReport> {
    std::iter::from_fn(|| transmit_report(stream)).find(|report| report.last_byte == position)
}

/// Registers the socket again under a new descriptor. A task that waits to read must poll again
/// afterwards.
fn watch_anew(stream: &mut TcpStream) -> io::Result<()> {
    std::iter::from_fn(|| transmit_report(stream)).for_each(drop);
    let same = net::TcpStream::from(stream.as_fd().try_clone_to_owned()?);
    *stream = TcpStream::from_std(same)?;
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::time::Duration;

    use servemark_core::{Clock, MonotonicClock};
    use tokio::io::{AsyncReadExt, AsyncWrite};
    use tokio::net::{TcpListener, TcpStream};

    use crate::stamp_io::StampIo;

    async fn pair(clock: MonotonicClock) -> (TcpStream, StampIo) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut io = StampIo::new(client, clock);
        io.enable_transmit_stamps();
        (listener.accept().await.unwrap().0, io)
    }

    /// Number of times that a write of the whole data was polled, and number of successful writes.
    #[derive(Debug, Default)]
    struct Writes {
        polls: usize,
        successes: usize,
    }

    async fn write(io: &mut StampIo, mut bytes: &[u8]) -> Writes {
        let mut writes = Writes::default();
        while !bytes.is_empty() {
            let written = poll_fn(|cx| {
                writes.polls += 1;
                Pin::new(&mut *io).poll_write(cx, bytes)
            });
            bytes = &bytes[written.await.unwrap()..];
            writes.successes += 1;
        }
        writes
    }

    #[tokio::test]
    async fn every_request_of_a_connection_leaves_after_it_was_sent() {
        let clock = MonotonicClock::start();
        let (mut server, mut io) = pair(clock).await;
        for length in [3, 100_000, 5] {
            io.wire().arm();
            write(&mut io, &vec![b'x'; length]).await;
            server.read_exact(&mut vec![0; length]).await.unwrap();
            let left = io.transmit_time().expect("all of it has arrived, so it has left");
            assert!(left >= io.wire().first_write().unwrap() && left <= clock.now());
            assert_eq!(io.transmit_time(), None, "a transmit stamp is returned once");
        }
    }

    /// The stamp of a small request makes Tokio treat the socket as writable forever.
    #[tokio::test]
    async fn a_slow_reader_is_waited_for_and_not_asked_again_and_again() {
        let clock = MonotonicClock::start();
        let (mut server, mut io) = pair(clock).await;
        write(&mut io, b"small").await;
        let large = vec![0; 64 << 20];
        let mut read = vec![0; large.len() + 5];
        let reader = tokio::spawn(async move {
            // Long enough for thousands of attempts; the test does not depend on the length.
            let later = clock.now() + Duration::from_millis(100);
            tokio::time::sleep_until(clock.instant(later).into()).await;
            server.read_exact(&mut read).await.unwrap();
        });
        let writes = write(&mut io, &large).await;
        reader.await.unwrap();
        // There is at most one wait per success, plus a few accidental wake-ups.
        assert!(writes.polls < 20 + 3 * writes.successes, "{writes:?}");
    }
}
