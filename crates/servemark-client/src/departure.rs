//! Writes to a socket whose departures the kernel stamps.
//!
//! The stamps wait in the socket's error queue, and what waits there makes `epoll` report an error.
//! The runtime takes that for the end of writing and never forgets it: a write that has to wait
//! would be tried again and again. So who finds out that a socket is not writable though the
//! runtime says so has it watched anew, under another descriptor. Each stamp can bring that about
//! once, and each successful write brings one stamp.

use std::io::{self, IoSlice};
use std::net;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

use servemark_receive::{Departed, departed};
use tokio::net::TcpStream;

/// Writes as much as there is room for, or waits for room.
pub(crate) fn poll_write(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    pieces: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    let mut is_said_writable = false;
    loop {
        match stream.try_write_vectored(pieces) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            written => return Poll::Ready(written),
        }
        if is_said_writable {
            watch_anew(stream)?;
        }
        ready!(stream.poll_write_ready(cx))?;
        is_said_writable = true;
    }
}

/// What is known of the byte at `position`, the last of a write. What is known of earlier ones is
/// dropped.
pub(crate) fn departure_of(position: u32, stream: &TcpStream) -> Option<Departed> {
    std::iter::from_fn(|| departed(stream)).find(|departed| departed.last_byte == position)
}

/// Whoever waits to read must ask again.
fn watch_anew(stream: &mut TcpStream) -> io::Result<()> {
    std::iter::from_fn(|| departed(stream)).for_each(drop);
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
        io.stamp_departures();
        (listener.accept().await.unwrap().0, io)
    }

    /// How often a write of all of it was tried, and how often it brought something.
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
            let left = io.left().expect("all of it has arrived, so it has left");
            assert!(left >= io.wire().first_write().unwrap() && left <= clock.now());
            assert_eq!(io.left(), None, "a departure is told once");
        }
    }

    /// The stamp of a small request makes the runtime believe that the socket is writable for good.
    #[tokio::test]
    async fn a_slow_reader_is_waited_for_and_not_asked_again_and_again() {
        let clock = MonotonicClock::start();
        let (mut server, mut io) = pair(clock).await;
        write(&mut io, b"small").await;
        let large = vec![0; 64 << 20];
        let mut read = vec![0; large.len() + 5];
        let reader = tokio::spawn(async move {
            // Long enough for thousands of attempts; nothing depends on how long it is.
            let later = clock.now() + Duration::from_millis(100);
            tokio::time::sleep_until(clock.instant(later).into()).await;
            server.read_exact(&mut read).await.unwrap();
        });
        let writes = write(&mut io, &large).await;
        reader.await.unwrap();
        // Each success is waited for at most once, but for a wake-up or two by chance.
        assert!(writes.polls < 20 + 3 * writes.successes, "{writes:?}");
    }
}
