//! Selection of rows, shared by the data sets that are read from a file.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, parallel};
use servemark_rng::PythonRandom;

/// Order in which rows are sent. Exhaustive: random or the file's.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// Random order.
    #[default]
    Shuffled,
    /// Order of the file.
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

/// Handling of a file with fewer rows than requested. Exhaustive: rows are repeated or not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TooFewRows {
    /// Rows are repeated, drawn with the same seed.
    #[default]
    Repeat,
    /// All rows are sent once.
    Keep,
}

impl TooFewRows {
    /// Extends `samples` to `count` by repeating random ones.
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

/// Which rows of a file are sent, and how often.
pub(super) struct Choice {
    pub(super) order: RowOrder,
    pub(super) too_few: TooFewRows,
    /// Requested number of rows; 0 requests all.
    pub(super) count: usize,
    pub(super) seed: u32,
}

impl Choice {
    /// Builds the samples of the selected rows. `doing` is the description shown with the progress.
    pub(super) fn samples<R: Sync>(
        &self,
        mut rows: Vec<R>,
        doing: &str,
        context: &mut DrawContext<'_>,
        sample: impl Fn(&R) -> Result<Sample, DatasetError> + Sync,
    ) -> Result<Vec<Sample>, DatasetError> {
        let python = &mut context.random.python;
        *python = PythonRandom::seeded(self.seed.into());
        self.order.arrange(&mut rows, python);
        let count = if self.count == 0 { rows.len() } else { self.count };
        rows.truncate(count);
        let samples = parallel::map(doing, &rows, context.progress, sample);
        let mut samples = samples.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.too_few.fill(&mut samples, count, self.seed, python);
        Ok(samples)
    }
}

/// Returns the error for a data set without a file.
pub(super) fn no_file(dataset: &'static str, hint: &'static str) -> DatasetError {
    DatasetError::NoFile { dataset, hint }
}
