//! Formats numbers as the audit's reasons show them.

/// Formats a share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats microseconds in the unit that fits.
pub(super) fn time(micros: f64) -> String {
    match micros {
        micros if micros < 1_000.0 => format!("{micros:.0} us"),
        micros if micros < 1_000_000.0 => format!("{:.2} ms", micros / 1e3),
        micros => format!("{:.2} s", micros / 1e6),
    }
}

/// Formats microseconds as milliseconds, for the verdict line.
pub(super) fn milliseconds(micros: f64) -> String {
    format!("{:.2} ms", micros / 1e3)
}
