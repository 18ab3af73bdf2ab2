//! Memory that a sample may take while it is summarised, and the treatment of a larger one.

use serde::{Deserialize, Serialize};

/// Memory that a sample may take while it is summarised, and the treatment of a larger one.
///
/// The budget is a fixed number and not a share of the machine's memory, so that a score is the
/// same on every machine.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SampleBudget {
    /// Bytes for the values of one sample, eight bytes each.
    pub bytes: u64,
    /// Treatment of a sample that takes more than `bytes`.
    pub beyond: BeyondBudget,
}

/// Treatment of a sample that is too large to be kept.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BeyondBudget {
    /// Percentiles stay exact: the sample is computed from the records in four more passes than for
    /// a histogram.
    #[default]
    Exact,
    /// Percentiles come from a [`Histogram`](crate::Histogram), accurate to 0.05 %, and every
    /// report says so.
    Histogram,
}

impl SampleBudget {
    /// Creates a budget from its parts.
    pub const fn new(bytes: u64, beyond: BeyondBudget) -> Self {
        Self { bytes, beyond }
    }

    /// Returns the number of values that fit the budget.
    pub(crate) fn values(self) -> usize {
        usize::try_from(self.bytes / size_of::<f64>() as u64).unwrap_or(usize::MAX - 1)
    }
}

/// 64 MiB, enough for the gaps of eight million tokens, and exact percentiles beyond.
impl Default for SampleBudget {
    fn default() -> Self {
        Self::new(64 << 20, BeyondBudget::Exact)
    }
}
