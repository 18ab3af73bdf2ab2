//! Waits for what a socket receives, with the kernel's stamp of it.

use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

#[cfg(target_os = "linux")]
use rustix::{io::Errno, net::RecvFlags};
use servemark_receive::{Received, receive};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Reads what has arrived, or waits for it.
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

/// Reads what has arrived.
///
/// A short read emptied the socket. Saying then that it would block makes the runtime wait for
/// the next arrival, where another call would only be refused; it does the same for its own
/// reads.
fn try_receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<Received> {
    let mut received = None;
    let tried = stream.try_io(Interest::READABLE, || {
        let Received { length, .. } = *received.insert(receive(stream, buffer)?);
        let emptied = length > 0 && length < buffer.len();
        if emptied { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    received.map_or_else(|| Err(tried.err().unwrap_or(io::ErrorKind::WouldBlock.into())), Ok)
}

/// Asks for stamps. Where they are refused, reads come without.
pub(crate) fn ask_for_stamps(stream: &TcpStream) {
    if let Err(error) = servemark_receive::ask_for_stamps(stream) {
        tracing::debug!(%error, "the kernel does not stamp what it receives");
    }
}

/// What waits to be read on a socket. The kernel knows before the runtime does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unread {
    Nothing,
    Bytes,
    /// The other side has closed it, or it broke.
    End,
}

impl Unread {
    /// Looks at a socket without reading.
    #[cfg(target_os = "linux")]
    pub(crate) fn on(stream: impl AsFd) -> Self {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(stream, &mut [0], flags) {
            Ok((_, 0)) => Self::End,
            Ok(_) => Self::Bytes,
            Err(Errno::WOULDBLOCK) => Self::Nothing,
            Err(_) => Self::End,
        }
    }

    /// Not known here: the runtime finds out when it reads.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn on(_stream: impl AsFd) -> Self {
        Self::Nothing
    }
}
