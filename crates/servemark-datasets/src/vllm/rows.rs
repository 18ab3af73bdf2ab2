//! What the data sets that come from a file do alike with its rows.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, Sample};
use servemark_rng::PythonRandom;

/// In which order rows are sent. Closed: in a drawn one or in that of the file.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// Shuffled.
    #[default]
    Shuffled,
    /// As the file has them.
    AsRead,
}

impl RowOrder {
    pub(super) fn arrange<T>(self, rows: &mut [T], random: &mut PythonRandom) {
        match self {
            Self::Shuffled => random.shuffle(rows),
            Self::AsRead => {}
        }
    }
}

/// What to do about a file with fewer rows than requests are wanted. Closed: it is filled up or it
/// is not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TooFewRows {
    /// Send some of them again, drawn from the same seed.
    #[default]
    Repeat,
    /// Send those there are.
    Keep,
}

impl TooFewRows {
    /// Fills `samples` up to `count`.
    pub(super) fn fill(
        self,
        samples: &mut Vec<Sample>,
        count: usize,
        seed: u32,
        random: &mut PythonRandom,
    ) {
        let found = samples.len();
        if self == Self::Keep || found >= count {
            return;
        }
        *random = PythonRandom::seeded(seed.into());
        for _ in found..count {
            let again = random.choice(&samples[..found]).cloned();
            samples.extend(again);
        }
    }
}

/// A data set of a file that was given none.
pub(super) fn no_file(dataset: &'static str, hint: &'static str) -> DatasetError {
    DatasetError::NoFile { dataset, hint }
}
