//! Numbers as they stand in reasons.

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Microseconds in the unit that fits.
pub(super) fn time(micros: f64) -> String {
    match micros {
        micros if micros < 1_000.0 => format!("{micros:.0} us"),
        micros if micros < 1_000_000.0 => format!("{:.2} ms", micros / 1e3),
        micros => format!("{:.2} s", micros / 1e6),
    }
}

/// Microseconds in milliseconds, as they stand in the verdict's line.
pub(super) fn milliseconds(micros: f64) -> String {
    format!("{:.2} ms", micros / 1e3)
}
