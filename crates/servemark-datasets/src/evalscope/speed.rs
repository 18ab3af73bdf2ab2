//! One character again and again.

use serde::{Deserialize, Serialize};

use super::EvalscopeName;

/// One character again and again, at several lengths, each twice.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalscopeSpeedSpec {
    /// Whether the lengths are the two greatest, instead of the four others.
    pub long: bool,
}

impl EvalscopeSpeedSpec {
    pub(super) fn name(&self) -> EvalscopeName {
        if self.long { EvalscopeName::SpeedBenchmarkLong } else { EvalscopeName::SpeedBenchmark }
    }
}
