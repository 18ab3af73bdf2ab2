//! What agents were told while they mended programs.

mod built;
mod live;

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext};
use servemark_rng::PythonRandom;

use super::{Conversation, EvalscopeSpec};

/// What agents were told while they mended programs: conversations that were put together before,
/// or of trajectories as they are published.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeSweSmithSpec {
    /// A JSON file of conversations. Without one, trajectories are downloaded.
    pub path: Option<PathBuf>,
    /// The folder of the trajectories' tables.
    pub trajectories: Option<PathBuf>,
    /// The fewest turns that are made of a trajectory (`--min-turns`).
    pub least_turns: NonZero<u32>,
    /// The most, and after how many a conversation is cut (`--max-turns`).
    pub most_turns: Option<NonZero<u32>>,
    /// How many tokens the first turn has (`first_turn_length`).
    pub first_turn: LengthRange,
    /// How many every other adds (`subsequent_turn_length`).
    pub later_turns: LengthRange,
    /// How many characters a token is taken for while trajectories are chosen (`chars_per_token`).
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
                hint: "give a file of conversations with --dataset-path",
            }),
        }
    }
}

/// A length, or two between which it is drawn.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged, expecting = "a length, or two of which the first is not the greater")]
#[non_exhaustive]
pub enum LengthRange {
    /// This one.
    Fixed(u32),
    /// At least the first and at most the second.
    Between(u32, u32),
}

impl LengthRange {
    /// The most it can be.
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
