//! Stamps as seconds.

use servemark_core::Stamp;

/// Converts a stamp to seconds. It uses a single division, so that a decimal number of seconds is
/// returned exactly.
pub(crate) fn seconds(stamp: Stamp) -> f64 {
    stamp.as_nanos() as f64 / 1e9
}

/// Returns the time between two stamps in seconds.
pub(crate) fn seconds_between(earlier: Stamp, later: Stamp) -> f64 {
    later.since(earlier).as_nanos() as f64 / 1e9
}
