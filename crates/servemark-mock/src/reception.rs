//! When a request was received.

use servemark_core::{ArrivalClock, Clock, Stamp};
use servemark_pacer::MachineClock;
use servemark_receive::Received;

/// When the last byte of a request was received, by the machine's monotonic clock, and who says so.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Reception {
    pub(crate) at: Stamp,
    pub(crate) clock: ArrivalClock,
}

impl Reception {
    /// Of what was read just now: when the kernel received it if it says so, else now.
    pub(crate) fn of(received: &Received) -> Self {
        let lag = received.lag();
        let now = MachineClock.now().since(Stamp::ZERO);
        let clock = if lag.is_some() { ArrivalClock::Kernel } else { ArrivalClock::User };
        Self { at: Stamp::ZERO + now.saturating_sub(lag.unwrap_or_default()), clock }
    }
}
