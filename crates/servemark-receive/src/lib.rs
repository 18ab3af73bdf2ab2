//! Reads a socket together with the kernel's receive stamp.
//!
//! Linux stamps every packet at its arrival, before it waits in any queue of this program, and
//! returns the stamp of a read's last byte with the read. Other systems have no stamp. The client
//! stamps answers with it, and the ground-truth server requests, so neither counts the wait for a
//! busy reader.
//!
//! The crate also reads the kernel's counts of a connection ([`facts()`]) and, for a socket that
//! asked for them, transmit stamps ([`transmit_report`]).
//!
//! The crate never waits: reading a socket without bytes returns an error of kind `WouldBlock`.
//!
//! ```
//! use std::io::Write;
//! use std::net::{TcpListener, TcpStream};
//! use servemark_receive::{ask_for_stamps, receive};
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let mut sender = TcpStream::connect(listener.local_addr()?)?;
//! let (reader, _) = listener.accept()?;
//! ask_for_stamps(&reader)?;
//! sender.write_all(b"hello")?;
//! reader.peek(&mut [0])?; // waits
//! let received = receive(&reader, &mut [0; 64])?;
//! assert_eq!(received.length, 5);
//! # std::io::Result::Ok(())
//! ```

mod facts;
mod transmit_stamp;

use std::io;
use std::time::Duration;

use rustix::fd::AsFd;
use rustix::net::{RecvFlags, recv};
use servemark_core::unix_now;

pub use facts::facts;
pub use transmit_stamp::{TransmitReport, ask_for_send_stamps, transmit_report};

/// The result of one read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Received {
    /// Number of bytes; zero at the end of the stream.
    pub length: usize,
    /// When the last byte arrived, as wall-clock time since the Unix epoch; `None` without a stamp.
    pub stamped: Option<Duration>,
}

impl Received {
    /// Returns the time since the last byte arrived; `None` without a stamp.
    ///
    /// The kernel stamps with the wall clock. Only the difference to the current wall-clock time is
    /// used, so the wall clock may be wrong; it must not jump between the two. A caller that
    /// subtracts the lag from another clock must read that clock afterwards: a delay between the
    /// two readings then makes an arrival late by the same amount, as it would be without a stamp,
    /// and never too early.
    pub fn lag(&self) -> Option<Duration> {
        self.stamped.map(since)
    }
}

/// Returns the time since the wall clock showed `stamped`.
fn since(stamped: Duration) -> Duration {
    unix_now().saturating_sub(stamped)
}

#[cfg(target_os = "linux")]
mod machine {
    use std::io::{self, IoSliceMut};
    use std::os::fd::{AsFd, AsRawFd};
    use std::time::Duration;

    use nix::sys::socket::{
        ControlMessageOwned, MsgFlags, RecvMsg, TimestampingFlag, recvmsg, setsockopt, sockopt,
    };

    use super::Received;

    /// Asks for receive stamps. Sockets that a listener accepts inherit the setting.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel refuses; reads then have no stamps.
    pub fn ask_for_stamps(socket: &impl AsFd) -> io::Result<()> {
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        Ok(setsockopt(socket, sockopt::Timestamping, &flags)?)
    }

    /// Reads the received bytes.
    pub fn receive(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
        let mut control = Control::new();
        let mut pieces = [IoSliceMut::new(buffer)];
        let (socket, flags) = (socket.as_fd().as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let message = recvmsg::<()>(socket, &mut pieces, Some(&mut control.0), flags)?;
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

    /// Buffer for the control messages of a read, aligned as their headers are.
    #[repr(align(8))]
    pub(crate) struct Control(pub(crate) [u8; CONTROL]);

    impl Control {
        pub(crate) fn new() -> Self {
            Self([0; CONTROL])
        }
    }

    /// Size of the buffer for control messages in bytes: a header and three stamps take 64, and the
    /// extra message of a transmit stamp takes at most 64.
    const CONTROL: usize = 128;
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use rustix::fd::AsFd;
    use std::io;

    use rustix::net::recv;

    use super::{NO_WAIT, Received};

    /// Does nothing: this system has no receive stamps.
    ///
    /// # Errors
    ///
    /// None.
    pub fn ask_for_stamps(_socket: &impl AsFd) -> io::Result<()> {
        Ok(())
    }

    /// Reads the received bytes. On Windows, the socket must be one that does not block.
    pub fn receive(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
        let (_, length) = recv(socket.as_fd(), buffer, NO_WAIT)?;
        Ok(Received { length, stamped: None })
    }
}

pub use machine::{ask_for_stamps, receive};

/// Returns how many bytes of a buffer the next read would fill, without reading; zero at the end of the
/// stream. On Windows, the socket must be one that does not block.
pub fn peek(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let (_, length) = recv(socket, buffer, RecvFlags::PEEK | NO_WAIT)?;
    Ok(length)
}

/// Makes a read return an error instead of waiting.
#[cfg(unix)]
const NO_WAIT: RecvFlags = RecvFlags::DONTWAIT;
#[cfg(not(unix))]
const NO_WAIT: RecvFlags = RecvFlags::empty();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_to_now_and_a_jump_of_the_clock_is_none() {
        let received = |stamped| Received { length: 1, stamped };
        let ago = unix_now().saturating_sub(Duration::from_secs(60));
        assert!(received(Some(ago)).lag().is_some_and(|lag| lag >= Duration::from_secs(60)));
        let ahead = unix_now() + Duration::from_secs(3600);
        assert_eq!(received(Some(ahead)).lag(), Some(Duration::ZERO));
        assert_eq!(received(None).lag(), None);
    }
}
