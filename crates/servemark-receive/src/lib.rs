//! Reads a socket, and asks the kernel when it received what was read.
//!
//! Linux stamps every packet at its arrival, before any queue of ours, and hands the stamp of the
//! last byte of a read out with it. Elsewhere there is no stamp. The client stamps answers by it
//! and the ground-truth server requests, so that neither counts the wait for a busy reader.
//!
//! It also asks what the kernel has counted on a connection, [`facts()`], and, of a socket that asked
//! for it, when what was written left: [`departed`].
//!
//! This crate waits for nothing: a socket that has nothing is an error of kind `WouldBlock`.
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

mod departure;
mod facts;

use std::time::Duration;

use servemark_core::unix_now;

pub use departure::{Departed, ask_for_send_stamps, departed};
pub use facts::facts;

/// What one read brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Received {
    /// How many bytes; none at the end of the stream.
    pub length: usize,
    /// When the last of them arrived, by the wall clock, if the kernel says so.
    pub stamped: Option<Duration>,
}

impl Received {
    /// For how long the last byte has been there, if the kernel says when it came.
    ///
    /// The kernel stamps by the wall clock. Only the difference to the wall clock's time now is
    /// used, so the wall clock may be wrong; it must not jump between the two. Whoever takes this
    /// off another clock reads that one afterwards: what comes between the two readings then makes
    /// an arrival late by as much, as it does without a stamp, and never too early.
    pub fn lag(&self) -> Option<Duration> {
        self.stamped.map(since)
    }
}

/// How long ago the kernel's wall clock said `stamped`.
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

    /// Asks for stamps. The sockets that a listener accepts take it over.
    ///
    /// # Errors
    ///
    /// The kernel refuses; reads then come without stamps.
    pub fn ask_for_stamps(socket: &impl AsFd) -> io::Result<()> {
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        Ok(setsockopt(socket, sockopt::Timestamping, &flags)?)
    }

    /// Reads what has arrived.
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

    /// What the kernel says beside the bytes, aligned as its headers are.
    #[repr(align(8))]
    pub(crate) struct Control(pub(crate) [u8; CONTROL]);

    impl Control {
        pub(crate) fn new() -> Self {
            Self([0; CONTROL])
        }
    }

    /// A header and three stamps are 64 bytes; what is said of a departure beside them is 64 at
    /// most.
    const CONTROL: usize = 128;
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::io;
    use std::os::fd::AsFd;

    use rustix::net::{RecvFlags, recv};

    use super::Received;

    /// There are none to ask for.
    ///
    /// # Errors
    ///
    /// None.
    pub fn ask_for_stamps(_socket: &impl AsFd) -> io::Result<()> {
        Ok(())
    }

    /// Reads what has arrived.
    pub fn receive(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
        let (_, length) = recv(socket, buffer, RecvFlags::DONTWAIT)?;
        Ok(Received { length, stamped: None })
    }
}

pub use machine::{ask_for_stamps, receive};

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
