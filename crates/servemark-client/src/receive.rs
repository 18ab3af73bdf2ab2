//! Reads a socket, and asks the kernel when it received what was read.
//!
//! Linux stamps every packet at its arrival, before any queue of ours, and hands the stamp of the
//! last byte of a read out with it. Elsewhere there is no stamp.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::net::TcpStream;

/// What one read brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Received {
    /// How many bytes; none at the end of the stream.
    pub(crate) length: usize,
    /// When the last of them arrived, by the wall clock, if the kernel says so.
    pub(crate) stamped: Option<Duration>,
}

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

#[cfg(target_os = "linux")]
mod machine {
    use std::io::{self, IoSliceMut};
    use std::os::fd::{AsRawFd, RawFd};
    use std::time::Duration;

    use nix::sys::socket::{
        ControlMessageOwned, MsgFlags, RecvMsg, TimestampingFlag, recvmsg, setsockopt, sockopt,
    };
    use rustix::io::Errno;
    use rustix::net::RecvFlags;
    use tokio::io::Interest;
    use tokio::net::TcpStream;

    use super::Received;

    /// Asks for stamps. Where they are refused, reads come without.
    pub(crate) fn ask_for_stamps(stream: &TcpStream) {
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        if let Err(error) = setsockopt(stream, sockopt::Timestamping, &flags) {
            tracing::debug!(%error, "the kernel does not stamp what it receives");
        }
    }

    /// Whether the other side has closed. The kernel knows before the runtime does.
    pub(crate) fn is_closed(stream: &TcpStream) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(stream, &mut [0], flags) {
            Ok((_, received)) => received == 0,
            Err(error) => error != Errno::WOULDBLOCK,
        }
    }

    /// Reads what has arrived.
    ///
    /// A short read emptied the socket. Saying then that it would block makes the runtime wait for
    /// the next arrival, where another call would only be refused; it does the same for its own
    /// reads.
    pub(crate) fn try_receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<Received> {
        let mut received = None;
        let tried = stream.try_io(Interest::READABLE, || {
            let Received { length, .. } = *received.insert(receive(stream.as_raw_fd(), buffer)?);
            let emptied = length > 0 && length < buffer.len();
            if emptied { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        received.map_or_else(|| Err(tried.err().unwrap_or(io::ErrorKind::WouldBlock.into())), Ok)
    }

    fn receive(socket: RawFd, buffer: &mut [u8]) -> io::Result<Received> {
        let mut control = Control([0; CONTROL]);
        let mut pieces = [IoSliceMut::new(buffer)];
        let message =
            recvmsg::<()>(socket, &mut pieces, Some(&mut control.0), MsgFlags::MSG_DONTWAIT)?;
        Ok(Received { length: message.bytes, stamped: stamp(&message) })
    }

    fn stamp(message: &RecvMsg<'_, '_, ()>) -> Option<Duration> {
        message.cmsgs().ok()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampsns(stamps) => {
                Some(Duration::from(stamps.system)).filter(|stamp| !stamp.is_zero())
            }
            _ => None,
        })
    }

    /// What the kernel says beside the bytes, aligned as its headers are.
    #[repr(align(8))]
    struct Control([u8; CONTROL]);

    /// A header and three stamps are 64 bytes.
    const CONTROL: usize = 128;
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::io;

    use tokio::net::TcpStream;

    use super::Received;

    /// There are none to ask for.
    pub(crate) fn ask_for_stamps(_stream: &TcpStream) {}

    /// Nobody is asked: the runtime finds out when it reads.
    pub(crate) fn is_closed(_stream: &TcpStream) -> bool {
        false
    }

    /// Reads what has arrived.
    pub(crate) fn try_receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<Received> {
        stream.try_read(buffer).map(|length| Received { length, stamped: None })
    }
}

use machine::try_receive;
pub(crate) use machine::{ask_for_stamps, is_closed};
