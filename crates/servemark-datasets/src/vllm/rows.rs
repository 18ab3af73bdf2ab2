//! What the data sets that come from a file do alike with its rows.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, parallel};
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

/// Which rows of a file are sent, and how often.
pub(super) struct Choice {
    pub(super) order: RowOrder,
    pub(super) too_few: TooFewRows,
    /// How many are wanted; all there are if none is.
    pub(super) count: usize,
    pub(super) seed: u32,
}

impl Choice {
    /// A sample of each row that is sent. `doing` is what is told of the work.
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

/// A data set of a file that was given none.
pub(super) fn no_file(dataset: &'static str, hint: &'static str) -> DatasetError {
    DatasetError::NoFile { dataset, hint }
}
