//! When the kernel handed to the device what was written.

use std::time::Duration;

use crate::since;

/// What the kernel says of one write: its last byte is on its way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Departed {
    /// Which byte that was, counted from zero from where stamps were asked for, modulo 2^32.
    pub last_byte: u32,
    /// When the device got it, by the wall clock.
    pub stamped: Duration,
}

impl Departed {
    /// How long ago that was; see [`Received::lag`](crate::Received::lag).
    pub fn ago(&self) -> Duration {
        since(self.stamped)
    }
}

#[cfg(target_os = "linux")]
mod machine {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};
    use std::time::Duration;

    use nix::libc::sock_extended_err;
    use nix::sys::socket::{
        ControlMessageOwned, MsgFlags, RecvMsg, TimestampingFlag, recvmsg, setsockopt, sockopt,
    };

    use super::Departed;
    use crate::machine::Control;

    /// Asks for stamps of what is written as well as of what is read. Nothing may have been
    /// written yet, or the bytes are counted from elsewhere.
    ///
    /// Stamps wait in the socket's error queue until [`departed`] takes them. An event loop sees
    /// that as an error of the socket, and some take one for good.
    ///
    /// # Errors
    ///
    /// The kernel refuses; there are then no stamps of what is written.
    pub fn ask_for_send_stamps(socket: &impl AsFd) -> io::Result<()> {
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        Ok(setsockopt(socket, sockopt::Timestamping, &flags)?)
    }

    /// The oldest stamp that nobody has taken, if there is one.
    pub fn departed(socket: &impl AsFd) -> Option<Departed> {
        let mut control = Control::new();
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message =
            recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut [], Some(&mut control.0), flags).ok()?;
        read(&message)
    }

    fn read(message: &RecvMsg<'_, '_, ()>) -> Option<Departed> {
        let (mut last_byte, mut stamped) = (None, None);
        for control in message.cmsgs().ok()? {
            match control {
                ControlMessageOwned::ScmTimestampsns(stamps) => {
                    stamped = Some(Duration::from(stamps.system));
                }
                ControlMessageOwned::Ipv4RecvErr(error, _)
                | ControlMessageOwned::Ipv6RecvErr(error, _) => last_byte = position(error),
                _ => {}
            }
        }
        Some(Departed { last_byte: last_byte?, stamped: stamped? })
    }

    fn position(error: sock_extended_err) -> Option<u32> {
        (error.ee_origin == nix::libc::SO_EE_ORIGIN_TIMESTAMPING).then_some(error.ee_data)
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::io;
    use std::os::fd::AsFd;

    use super::Departed;

    /// There are none to ask for.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn ask_for_send_stamps(_socket: &impl AsFd) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Nobody says.
    pub fn departed(_socket: &impl AsFd) -> Option<Departed> {
        None
    }
}

pub use machine::{ask_for_send_stamps, departed};
