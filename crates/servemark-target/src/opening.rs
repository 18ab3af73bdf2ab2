//! How fast connections are opened ahead of a run.

use std::num::{NonZeroU32, NonZeroUsize};

use serde::{Deserialize, Serialize};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_opens_none_is_refused() {
        assert!(serde_json::from_str::<OpeningSpec>(r#"{"per_second": 0}"#).is_err());
        let spec: OpeningSpec = serde_json::from_str(r#"{"per_second": 7}"#).unwrap();
        assert_eq!((spec.at_once.get(), spec.per_second.get()), (64, 7));
    }
}
