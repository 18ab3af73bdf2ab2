//! How much memory a sample may take while it is summed up, and what becomes of a larger one.

use serde::{Deserialize, Serialize};

/// How much memory a sample may take while it is summed up, and what becomes of a larger one.
///
/// It is a fixed number and no share of the machine's memory, so that a score is the same on every
/// machine.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SampleBudget {
    /// Bytes for the values of one sample, eight each.
    pub bytes: u64,
    /// What becomes of a sample that takes more.
    pub beyond: BeyondBudget,
}

/// What becomes of a sample that is too large to be kept.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BeyondBudget {
    /// Its percentiles are exact all the same: it is worked out from the records four times more.
    #[default]
    Exact,
    /// Its percentiles are those of a [`Histogram`](crate::Histogram), to 0.05 %, and every report
    /// says so.
    Histogram,
}

impl SampleBudget {
    /// A budget of its parts.
    pub const fn new(bytes: u64, beyond: BeyondBudget) -> Self {
        Self { bytes, beyond }
    }

    /// How many values it has room for.
    pub(crate) fn values(self) -> usize {
        usize::try_from(self.bytes / size_of::<f64>() as u64).unwrap_or(usize::MAX - 1)
    }
}

/// 64 MiB, room for the gaps of eight million tokens; exact beyond.
impl Default for SampleBudget {
    fn default() -> Self {
        Self::new(64 << 20, BeyondBudget::Exact)
    }
}
