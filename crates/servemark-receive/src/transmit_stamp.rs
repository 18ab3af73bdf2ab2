//! Transmit stamps: when the kernel passed written bytes to the network device.

use std::time::Duration;

use crate::since;

/// The kernel's report that the last byte of a write was passed to the network device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TransmitReport {
    /// Zero-based position of the last byte of the write, modulo 2^32. Positions count from the
    /// byte at which stamps were enabled.
    pub last_byte: u32,
    /// When the kernel passed the byte to the device, as wall-clock time since the Unix epoch.
    pub stamped: Duration,
}

impl TransmitReport {
    /// Returns how long ago that was; see [`Received::lag`](crate::Received::lag).
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

    use super::TransmitReport;
    use crate::machine::Control;

    /// Asks for stamps of written bytes as well as of read bytes. Call it before anything is
    /// written, because the kernel counts bytes from the call on.
    ///
    /// Stamps wait in the socket's error queue until [`transmit_report`] takes them. An event loop
    /// sees a waiting stamp as an error of the socket, and some event loops remember that error
    /// forever.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel refuses; there are then no stamps of written bytes.
    pub fn ask_for_send_stamps(socket: &impl AsFd) -> io::Result<()> {
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        Ok(setsockopt(socket, sockopt::Timestamping, &flags)?)
    }

    /// Takes the oldest stamp from the socket's error queue, if there is one.
    pub fn transmit_report(socket: &impl AsFd) -> Option<TransmitReport> {
        let mut control = Control::new();
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message =
            recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut [], Some(&mut control.0), flags).ok()?;
        read(&message)
    }

    fn read(message: &RecvMsg<'_, '_, ()>) -> Option<TransmitReport> {
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
        Some(TransmitReport { last_byte: last_byte?, stamped: stamped? })
    }

    fn position(error: sock_extended_err) -> Option<u32> {
        (error.ee_origin == nix::libc::SO_EE_ORIGIN_TIMESTAMPING).then_some(error.ee_data)
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use rustix::fd::AsFd;
    use std::io;

    use super::TransmitReport;

    /// Always fails: this system has no transmit stamps.
    ///
    /// # Errors
    ///
    /// Always returns `Unsupported`.
    pub fn ask_for_send_stamps(_socket: &impl AsFd) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns `None`: this system has no transmit stamps.
    pub fn transmit_report(_socket: &impl AsFd) -> Option<TransmitReport> {
        None
    }
}

pub use machine::{ask_for_send_stamps, transmit_report};
