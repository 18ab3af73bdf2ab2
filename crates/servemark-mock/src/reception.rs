//! The time at which a request was received.

use servemark_core::{ArrivalClock, Clock, Stamp};
use servemark_pacer::MachineClock;
use servemark_receive::Received;

/// When the last byte of a request was received, on the machine's monotonic clock, and which clock
/// produced the stamp.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Reception {
    pub(crate) at: Stamp,
    pub(crate) clock: ArrivalClock,
}

impl Reception {
    /// Returns the reception of bytes that were read just now: the kernel's receive stamp where
    /// there is one, else the current time.
    pub(crate) fn of(received: &Received) -> Self {
        let lag = received.lag();
        let now = MachineClock.now().since(Stamp::ZERO);
        let clock = if lag.is_some() { ArrivalClock::Kernel } else { ArrivalClock::User };
        Self { at: Stamp::ZERO + now.saturating_sub(lag.unwrap_or_default()), clock }
    }
}
