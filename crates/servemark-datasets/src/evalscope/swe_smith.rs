//! Trajectories of software engineering agents (SWE-smith).

mod live;
mod prepared;

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext};
use servemark_rng::PythonRandom;

use super::{Conversation, EvalscopeSpec};

/// Conversations of software engineering agents, either prepared in a file or built from the
/// published trajectories.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeSweSmithSpec {
    /// Path of a JSON file of prepared conversations. Without one, trajectories are used.
    pub path: Option<PathBuf>,
    /// Path of the folder with the trajectories' tables; without one, they are downloaded.
    pub trajectories: Option<PathBuf>,
    /// Minimum number of turns built from a trajectory (`--min-turns`).
    pub least_turns: NonZero<u32>,
    /// Maximum number of turns; longer prepared conversations are cut (`--max-turns`).
    pub most_turns: Option<NonZero<u32>>,
    /// Number of tokens of the first turn (`first_turn_length`).
    pub first_turn: LengthRange,
    /// Number of tokens that each later turn adds (`subsequent_turn_length`).
    pub later_turns: LengthRange,
    /// Characters per token, estimated, for the selection of trajectories (`chars_per_token`).
    pub chars_per_token: f64,
}

impl Default for EvalscopeSweSmithSpec {
    fn default() -> Self {
        Self {
            path: None,
            trajectories: None,
            least_turns: NonZero::<u32>::MIN,
            most_turns: None,
            first_turn: LengthRange::Fixed(65_000),
            later_turns: LengthRange::Fixed(500),
            chars_per_token: 3.0,
        }
    }
}

impl EvalscopeSweSmithSpec {
    pub(super) fn converse(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Conversation>, DatasetError> {
        match (&self.path, &self.trajectories) {
            (Some(path), _) => self.read(path, of, count, context),
            (None, Some(folder)) => self.build(folder, of, count, context),
            (None, None) => Err(DatasetError::NoFile {
                dataset: "swe_smith",
                hint: "give a file of conversations with `workload.dataset.path`",
            }),
        }
    }
}

/// A fixed length, or a range from which lengths are drawn.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged, expecting = "a length, or two of which the first is not the greater")]
pub enum LengthRange {
    /// Exactly this length.
    Fixed(u32),
    /// A length from the first to the second value, both inclusive.
    Between(u32, u32),
}

impl LengthRange {
    /// Returns the maximum length.
    fn most(self) -> u32 {
        match self {
            Self::Fixed(length) | Self::Between(_, length) => length,
        }
    }

    fn draw(self, python: &mut PythonRandom) -> u32 {
        match self {
            Self::Fixed(length) => length,
            Self::Between(least, most) => {
                let drawn = python.randint(least.into(), most.into());
                drawn.map_or(least, |length| length.unsigned_abs() as u32)
            }
        }
    }
}
