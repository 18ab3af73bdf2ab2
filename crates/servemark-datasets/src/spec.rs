//! One data set with its knobs, as a plan stores it.

use serde::{Deserialize, Serialize};
use servemark_core::{Dataset, DatasetError, DrawContext, Sample};

use crate::{CustomSpec, DatasetName, Draw, OpenaiSpec, RandomSpec, ShareGptSpec, Source};

/// One data set with its knobs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "dataset", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DatasetSpec {
    /// Conversations, one JSON object a line.
    Custom(CustomSpec),
    /// Whole chat requests, one JSON object a line.
    Openai(OpenaiSpec),
    /// Prompts of drawn lengths: SGLang's `random` and `random-ids`.
    Random(RandomSpec),
    /// ShareGPT's conversations, one JSON array.
    Sharegpt(ShareGptSpec),
}

impl DatasetSpec {
    /// A data set that draws samples and gives nothing else. [`draw`](Self::draw) gives more.
    pub fn build(&self) -> Box<dyn Dataset> {
        Box::new(Samples { spec: self.clone() })
    }

    /// Draws up to `count` samples from the run's own random state.
    ///
    /// Fewer samples than asked for are no error, because they are none to SGLang; none at all
    /// are.
    pub fn draw(&self, count: usize, context: &mut DrawContext<'_>) -> Result<Draw, DatasetError> {
        match self {
            Self::Custom(spec) => spec.draw(count, context),
            Self::Openai(spec) => spec.draw(count, context),
            Self::Random(spec) => spec.draw(count, context),
            Self::Sharegpt(spec) => spec.draw(count, context),
        }
    }

    /// The name under which SGLang knows it.
    pub fn name(&self) -> DatasetName {
        match self {
            Self::Custom(_) => DatasetName::Custom,
            Self::Openai(_) => DatasetName::Openai,
            Self::Random(RandomSpec { source: Source::Vocabulary, .. }) => DatasetName::RandomIds,
            Self::Random(_) => DatasetName::Random,
            Self::Sharegpt(_) => DatasetName::Sharegpt,
        }
    }
}

/// A spec seen through core's trait.
#[derive(Debug)]
struct Samples {
    spec: DatasetSpec,
}

impl Dataset for Samples {
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        self.spec.draw(count, context).map(|draw| draw.samples)
    }
}
