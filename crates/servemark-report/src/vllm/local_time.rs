//! Times of a run as local wall-clock time.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use servemark_core::{RunLog, Stamp};

/// Converts stamps of a run to local wall-clock time.
pub(super) struct WallClock {
    started_unix_ns: u64,
    zone: TimeZone,
}

impl WallClock {
    /// Returns the clock of a run whose local time is `utc_offset_s` seconds ahead of UTC.
    pub(super) fn of(log: &RunLog, utc_offset_s: i32) -> Self {
        let offset = Offset::from_seconds(utc_offset_s).unwrap_or(Offset::UTC);
        let started_unix_ns = log.header().clock_started_unix_ns;
        Self { started_unix_ns, zone: TimeZone::fixed(offset) }
    }

    /// Formats a time as `YYYYmmdd-HHMMSS`.
    pub(super) fn compact(&self, at: Stamp) -> String {
        self.format("%Y%m%d-%H%M%S", at)
    }

    /// Formats a time as Python's `isoformat` does, with microseconds unless they are zero.
    pub(super) fn iso(&self, at: Stamp) -> String {
        let micros = self.unix_ns(at) / 1000 % 1_000_000;
        let seconds = self.format("%Y-%m-%dT%H:%M:%S", at);
        if micros == 0 { seconds } else { format!("{seconds}.{micros:06}") }
    }

    fn format(&self, format: &str, at: Stamp) -> String {
        let stamp = Timestamp::from_nanosecond(self.unix_ns(at).into()).unwrap_or_default();
        stamp.to_zoned(self.zone.clone()).strftime(format).to_string()
    }

    fn unix_ns(&self, at: Stamp) -> u64 {
        self.started_unix_ns.saturating_add(at.as_nanos())
    }
}

/// Returns the time at which the last answer of a run ended.
pub(super) fn end_of(log: &RunLog) -> Stamp {
    let last = || log.measured().map(|record| record.ended).max().unwrap_or_default();
    log.footer().map_or_else(last, |footer| footer.ended)
}
