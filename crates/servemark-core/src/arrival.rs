//! Arrival times: when bytes arrived, when this program read them, and which clock stamped them.

use serde::{Deserialize, Serialize};

use crate::Stamp;

/// When bytes arrived, and when this program read them.
///
/// Without a receive stamp of the kernel both times are the same, so a [`Stamp`] converts into an
/// arrival.
///
/// ```
/// use servemark_core::{Arrival, Stamp};
///
/// let (arrived, read) = (Stamp::from_nanos(10_000), Stamp::from_nanos(35_000));
/// assert_eq!(Arrival::new(arrived, read).lag_us(), 25);
/// assert_eq!(Arrival::from(arrived).lag_us(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Arrival {
    at: Stamp,
    observed: Stamp,
}

impl Arrival {
    /// Creates an arrival at `at` that was read at `read_at`, which is raised to `at` if it is
    /// earlier.
    pub fn new(at: Stamp, read_at: Stamp) -> Self {
        Self { at, observed: read_at.max(at) }
    }

    /// Returns the best known arrival time of the bytes. Latencies are measured to this time.
    pub const fn at(self) -> Stamp {
        self.at
    }

    /// Returns when the read that delivered the bytes returned.
    pub const fn read_at(self) -> Stamp {
        self.observed
    }

    /// Returns the time between arrival and read in whole microseconds: the client's own lag.
    pub fn lag_us(self) -> u32 {
        u32::try_from(self.observed.since(self.at).as_micros()).unwrap_or(u32::MAX)
    }
}

impl From<Stamp> for Arrival {
    fn from(at: Stamp) -> Self {
        Self { at, observed: at }
    }
}

/// Which clock stamped the arrivals, from the least to the most precise. Closed: bytes are stamped
/// by the program or by the kernel, and output without bytes is stamped by the engine that made it.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalClock {
    /// The program's clock, read after a socket read returned: every latency includes the client's
    /// own lag.
    #[default]
    User,
    /// The kernel's stamp on a connection that several streams share: it belongs to these bytes or
    /// to later ones.
    KernelBound,
    /// The kernel's stamp of the read that delivered the bytes.
    Kernel,
    /// The clock of the thread or process that drives an engine without a server, read beside the
    /// engine's calls, with no socket or client in between.
    Engine,
}

impl ArrivalClock {
    /// Returns the name used in logs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::KernelBound => "kernel_bound",
            Self::Kernel => "kernel",
            Self::Engine => "engine",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    #[test]
    fn the_lag_is_from_arriving_to_being_seen() {
        let arrival = Arrival::new(at(1_000), at(24_999));
        assert_eq!(
            (arrival.at(), arrival.read_at(), arrival.lag_us()),
            (at(1_000), at(24_999), 23)
        );
        assert_eq!(Arrival::from(at(7)).lag_us(), 0);
    }

    #[test]
    fn nothing_is_seen_before_it_arrives() {
        assert_eq!(Arrival::new(at(9), at(5)), Arrival::from(at(9)));
    }

    #[test]
    fn the_weakest_clock_comes_first() {
        assert!(ArrivalClock::User < ArrivalClock::KernelBound);
        assert!(ArrivalClock::KernelBound < ArrivalClock::Kernel);
        assert!(ArrivalClock::Kernel < ArrivalClock::Engine);
        let json = serde_json::to_string(&ArrivalClock::KernelBound).unwrap();
        assert_eq!(json, format!("\"{}\"", ArrivalClock::KernelBound.name()));
    }
}
