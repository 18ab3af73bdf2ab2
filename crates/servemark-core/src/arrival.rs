//! When bytes arrived, when this program came to see them, and by whose clock that is known.

use serde::{Deserialize, Serialize};

use crate::Stamp;

/// When bytes arrived, and when this program came to see them.
///
/// Without a kernel that says when bytes arrived, the two are one: a [`Stamp`] is an arrival too.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Arrival {
    at: Stamp,
    seen: Stamp,
}

impl Arrival {
    /// Bytes that arrived at `at` and were seen at `seen`, which is never before.
    pub fn new(at: Stamp, seen: Stamp) -> Self {
        Self { at, seen: seen.max(at) }
    }

    /// When the bytes arrived, as well as is known. Latencies count to here.
    pub const fn at(self) -> Stamp {
        self.at
    }

    /// When the read that brought them returned.
    pub const fn seen(self) -> Stamp {
        self.seen
    }

    /// How long they lay there, in whole microseconds: the client's own lag.
    pub fn lag_us(self) -> u32 {
        u32::try_from(self.seen.since(self.at).as_micros()).unwrap_or(u32::MAX)
    }
}

impl From<Stamp> for Arrival {
    fn from(at: Stamp) -> Self {
        Self { at, seen: at }
    }
}

/// By whose clock arrivals are known, from the weakest to the best. Closed: bytes are stamped by
/// the program or by the kernel, whose stamp is theirs or a later one's, and what comes without
/// bytes by the engine that made it.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalClock {
    /// The program's, read when a read returned: the client's own lag is in every latency.
    #[default]
    User,
    /// The kernel's, of a connection that streams share: the arrival of these bytes or of later
    /// ones.
    KernelBound,
    /// The kernel's, of the read in which the bytes came.
    Kernel,
    /// That of the thread or the process that drives an engine without a server, read beside the
    /// engine's calls: no socket and no client is between.
    Engine,
}

impl ArrivalClock {
    /// How it is written in logs and reports.
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
        assert_eq!((arrival.at(), arrival.seen(), arrival.lag_us()), (at(1_000), at(24_999), 23));
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
