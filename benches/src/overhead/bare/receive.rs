//! Reads a socket once, with the arrival time of what was read.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Duration;

use servemark::core::{Clock, MonotonicClock, Stamp};
use servemark_receive::{ask_for_stamps, receive};

use super::super::Reader;

/// Clock that arrivals are stamped by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum Arrivals {
    /// The reader's own clock, after a read.
    Own,
    /// The kernel's clock: the time since the arrival of the last byte is subtracted from the
    /// reader's own.
    Kernel,
}

/// Length and arrival of one read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Arrived {
    pub(super) length: usize,
    pub(super) at: Stamp,
}

impl Arrivals {
    /// Returns the clock of a bare reader; absent for another reader.
    pub(in super::super) fn of(reader: Reader) -> Option<Self> {
        match reader {
            Reader::Floor => Some(Self::Own),
            Reader::StampedFloor => Some(Self::Kernel),
            _ => None,
        }
    }

    /// Makes the kernel stamp what this socket receives, if its stamps are used.
    pub(super) fn ask(self, socket: &TcpStream) -> io::Result<()> {
        if self == Self::Kernel {
            ask_for_stamps(socket)?;
        }
        Ok(())
    }

    /// Reads once; the length is zero at the end of the stream.
    pub(super) fn receive(
        self,
        mut socket: &TcpStream,
        clock: &MonotonicClock,
        buffer: &mut [u8],
    ) -> io::Result<Arrived> {
        match self {
            Self::Own => {
                let length = socket.read(buffer)?;
                Ok(Arrived { length, at: clock.now() })
            }
            Self::Kernel => {
                let received = receive(socket, buffer)?;
                let lag = received.lag().unwrap_or_default();
                Ok(Arrived { length: received.length, at: before(clock.now(), lag) })
            }
        }
    }
}

fn before(now: Stamp, lag: Duration) -> Stamp {
    let lag = u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX);
    Stamp::from_nanos(now.as_nanos().saturating_sub(lag))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn both_read_the_same_bytes_and_no_earlier_than_they_were_sent() {
        for arrivals in [Arrivals::Own, Arrivals::Kernel] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut peer, _) = listener.accept().unwrap();
            arrivals.ask(&socket).unwrap();
            let clock = MonotonicClock::start();
            peer.write_all(b"data").unwrap();
            socket.peek(&mut [0]).unwrap();
            let mut buffer = [0; 16];
            let read = arrivals.receive(&socket, &clock, &mut buffer).unwrap();
            assert_eq!(&buffer[..read.length], b"data", "{arrivals:?}");
            assert!(read.at > Stamp::ZERO && read.at <= clock.now(), "{arrivals:?}");
        }
    }

    #[test]
    fn a_lag_is_taken_off() {
        let now = Stamp::from_nanos(50);
        assert_eq!(before(now, Duration::from_nanos(20)), Stamp::from_nanos(30));
        assert_eq!(before(now, Duration::from_nanos(70)), Stamp::ZERO);
    }
}
