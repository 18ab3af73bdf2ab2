//! Waits for received bytes, and returns them with the kernel's stamp.

use rustix::fd::AsFd;
use std::io;
use std::task::{Context, Poll, ready};

use servemark_receive::{Received, receive};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Reads received bytes, or waits for them.
pub(crate) fn poll_receive(
    stream: &TcpStream,
    cx: &mut Context<'_>,
    buffer: &mut [u8],
) -> Poll<io::Result<Received>> {
    loop {
        ready!(stream.poll_read_ready(cx))?;
        match try_receive(stream, buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => return Poll::Ready(received),
        }
    }
}

/// Reads received bytes.
///
/// A short read has emptied the socket. Reporting `WouldBlock` for it makes Tokio wait for the next
/// arrival, where another call would only be refused; Tokio does the same for its own reads.
fn try_receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<Received> {
    let mut received = None;
    let tried = stream.try_io(Interest::READABLE, || {
        let Received { length, .. } = *received.insert(receive(stream, buffer)?);
        let emptied = length > 0 && length < buffer.len();
        if emptied { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    received.map_or_else(|| Err(tried.err().unwrap_or(io::ErrorKind::WouldBlock.into())), Ok)
}

/// Asks for receive stamps. If the kernel refuses, reads have none.
pub(crate) fn ask_for_stamps(stream: &TcpStream) {
    if let Err(error) = servemark_receive::ask_for_stamps(stream) {
        tracing::debug!(%error, "the kernel does not stamp what it receives");
    }
}

/// Whether bytes wait on a socket. The kernel knows this before Tokio does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unread {
    Nothing,
    Bytes,
    /// The other side has closed the socket, or the connection broke.
    End,
}

impl Unread {
    /// Looks at a socket without reading.
    pub(crate) fn on(stream: impl AsFd) -> Self {
        match servemark_receive::peek(stream, &mut [0]) {
            Ok(0) => Self::End,
            Ok(_) => Self::Bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Self::Nothing,
            Err(_) => Self::End,
        }
    }
}
