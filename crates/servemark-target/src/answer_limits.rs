//! Limits on the memory of answers.

use serde::{Deserialize, Serialize};

/// Limits in bytes on the memory of answers while they are read.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerLimits {
    /// Limit of one answer, in which a piece of output counts at least 32 bytes; by default 64 MiB.
    pub each: usize,
    /// Limit of all answers in flight together; by default a quarter of the memory, and at least
    /// 512 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub together: Option<usize>,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self { each: 64 << 20, together: None }
    }
}

impl AnswerLimits {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
