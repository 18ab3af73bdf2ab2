//! How fast connections are opened ahead of a run.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::Stamp;

/// How fast connections are opened ahead of a run.
///
/// A server's queue of connections that it has not accepted is short (4,096 is usual), and a
/// dropped SYN is retransmitted only after a second.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpeningSpec {
    /// Maximum number of connections that each sending thread opens at the same time; 64.
    pub at_once: NonZeroUsize,
    /// Maximum number of connections begun per second by all threads together; 10,000.
    pub per_second: NonZeroU32,
}

impl Default for OpeningSpec {
    fn default() -> Self {
        const AT_ONCE: NonZeroUsize = NonZeroUsize::new(64).expect("it is not zero");
        const PER_SECOND: NonZeroU32 = NonZeroU32::new(10_000).expect("it is not zero");
        Self { at_once: AT_ONCE, per_second: PER_SECOND }
    }
}

impl OpeningSpec {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Assigns each connection the time at which it may be opened, across all threads.
#[derive(Debug)]
pub(crate) struct Turns {
    gap: Duration,
    next: AtomicU64,
}

impl Turns {
    pub(crate) fn new(spec: OpeningSpec) -> Self {
        let gap = Duration::from_secs(1) / spec.per_second.get();
        Self { gap, next: AtomicU64::default() }
    }

    /// Returns when the next connection may be opened, and reserves that time for the caller.
    pub(crate) fn take(&self, now: Stamp) -> Stamp {
        let free = |next| Stamp::from_nanos(next).max(now);
        let after = |next| Some((free(next) + self.gap).as_nanos());
        let next = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        free(next.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_a_gap_apart_and_time_that_passed_is_not_made_up_for() {
        let turns = Turns::new(OpeningSpec::default());
        let take = |micros| turns.take(Stamp::ZERO + Duration::from_micros(micros));
        let at = |micros| Stamp::ZERO + Duration::from_micros(micros);
        assert_eq!([take(0), take(0), take(50)], [at(0), at(100), at(200)]);
        assert_eq!([take(9_000), take(9_000)], [at(9_000), at(9_100)]);
    }

    #[test]
    fn a_plan_that_opens_none_is_refused() {
        assert!(serde_json::from_str::<OpeningSpec>(r#"{"per_second": 0}"#).is_err());
        let spec: OpeningSpec = serde_json::from_str(r#"{"per_second": 7}"#).unwrap();
        assert_eq!((spec.at_once.get(), spec.per_second.get()), (64, 7));
    }
}
