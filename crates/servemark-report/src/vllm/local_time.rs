//! Instants of a run as the clock on the wall showed them.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use servemark_core::{RunLog, Stamp};

/// The clock on the wall of a run.
pub(super) struct WallClock {
    started_unix_ns: u64,
    zone: TimeZone,
}

impl WallClock {
    /// The clock of a run that was made so many seconds east of Greenwich.
    pub(super) fn of(log: &RunLog, utc_offset_s: i32) -> Self {
        let offset = Offset::from_seconds(utc_offset_s).unwrap_or(Offset::UTC);
        let started_unix_ns = log.header().clock_started_unix_ns;
        Self { started_unix_ns, zone: TimeZone::fixed(offset) }
    }

    /// `YYYYmmdd-HHMMSS`.
    pub(super) fn compact(&self, at: Stamp) -> String {
        self.format("%Y%m%d-%H%M%S", at)
    }

    /// As Python's `isoformat` has it: microseconds where there are any.
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

/// When the last answer of a run was in.
pub(super) fn end_of(log: &RunLog) -> Stamp {
    let last = || log.measured().map(|record| record.ended).max().unwrap_or_default();
    log.footer().map_or_else(last, |footer| footer.ended)
}
