//! Published rules by which a run can be valid.

use serde::{Deserialize, Serialize};

/// Published rules by which a run can be valid.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunProfile {
    /// The rules of `MLPerf` Inference for the Server scenario. Their limits are the plan's
    /// objectives.
    Mlperf,
}
