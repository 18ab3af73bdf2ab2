//! Levels of stopping in messages.

use servemark::runner::{Stop, StopHandle};

use crate::thread::Shared;

/// Returns a level of stopping as a number.
pub(crate) fn level(stop: Stop) -> u8 {
    match stop {
        Stop::No => 0,
        Stop::Drain => 1,
        Stop::Now => 2,
    }
}

/// Raises a handle to a level of stopping.
pub(crate) fn raise(handle: &StopHandle, level: u8) {
    match level {
        0 => {}
        1 => handle.raise(Stop::Drain),
        _ => handle.raise(Stop::Now),
    }
}

/// Announces every step of a handle until the returned task is dropped.
pub(crate) async fn announce_stops<S>(shared: &Shared<S>, handle: &StopHandle) {
    let signal = handle.signal();
    for level in [Stop::Drain, Stop::Now] {
        signal.reached(level).await;
        shared.announce(|_| ());
    }
    std::future::pending::<()>().await;
}
