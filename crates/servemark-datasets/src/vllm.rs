//! vLLM's data sets, which share names with SGLang's and little else.
//!
//! For the same seed and tokenizer the samples are those of vLLM 0.33.0, text for text and in the
//! same order. Most of them draw from generators of their own; where one reseeds the two global
//! ones, the run's state is left as vLLM leaves its own, because arrivals and adapters are drawn
//! from it.

mod batch;
mod burstgpt;
mod custom;
mod fitting;
mod lengths;
mod prefix_repetition;
mod random;
mod rerank;
mod rows;
mod sharegpt;
mod slices;
mod timed_trace;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Session};

use crate::{DatasetName, Draw, Summary};

pub use batch::VllmBatchSpec;
pub use burstgpt::VllmBurstgptSpec;
pub use custom::{CustomLayout, CustomOutput, VllmCustomSpec};
pub use lengths::{Spread, VllmLengths};
pub use prefix_repetition::PrefixRepetitionSpec;
pub use random::VllmRandomSpec;
pub use rerank::{RerankMode, VllmRerankSpec};
pub use rows::{RowOrder, TooFewRows};
pub use sharegpt::VllmShareGptSpec;
pub use slices::{TextSlice, TextSlicesSpec};
pub use timed_trace::{TimedTraceLabels, TimedTraceSpec};

/// A data set of vLLM's, with its seed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VllmSpec {
    /// What draws are made from. Some data sets have a seed of their own, and this does not
    /// matter to them.
    #[serde(default)]
    pub seed: u32,
    /// What the requests' ids, sent as `x-request-id`, begin with; without it they have none.
    #[serde(default)]
    pub request_ids: Option<String>,
    /// Which data set.
    #[serde(flatten)]
    pub data: VllmData,
}

/// Which data set of vLLM's.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum VllmData {
    /// Prompts of any token ids, for one batch.
    Batch(VllmBatchSpec),
    /// Prompts as long as a trace of requests says.
    Burstgpt(VllmBurstgptSpec),
    /// Prompts of one's own, and those of Spec-Bench and SPEED-Bench.
    Custom(VllmCustomSpec),
    /// Prompts of which several begin alike.
    PrefixRepetition(PrefixRepetitionSpec),
    /// Prompts of drawn lengths, counted up from a drawn token id.
    Random(VllmRandomSpec),
    /// A query and documents, made likewise.
    RandomRerank(VllmRerankSpec),
    /// ShareGPT's conversations.
    Sharegpt(VllmShareGptSpec),
    /// Prompts of which a trace says when they are sent and which begin alike.
    TimedTrace(TimedTraceSpec),
}

impl VllmSpec {
    /// A data set with the seed 0, whose requests have no ids.
    pub fn new(data: VllmData) -> Self {
        Self { seed: 0, request_ids: None, data }
    }

    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let mut sessions = self.data.draw(count, self.seed, context)?;
        if let Some(prefix) = &self.request_ids
            && !matches!(self.data, VllmData::PrefixRepetition(_))
        {
            number(&mut sessions, prefix);
        }
        // vLLM prints nothing of them.
        let summary = Summary::of_sessions(self.name(), &sessions).in_lines(String::new());
        Ok(Draw::of_sessions(sessions, summary))
    }

    /// The name under which it is asked for.
    pub(crate) fn name(&self) -> DatasetName {
        match &self.data {
            VllmData::Batch(_) => DatasetName::RandomIds,
            VllmData::Burstgpt(_) => DatasetName::Burstgpt,
            VllmData::Custom(spec) => spec.layout.name(),
            VllmData::PrefixRepetition(_) => DatasetName::PrefixRepetition,
            VllmData::Random(_) => DatasetName::Random,
            VllmData::RandomRerank(_) => DatasetName::RandomRerank,
            VllmData::Sharegpt(_) => DatasetName::Sharegpt,
            VllmData::TimedTrace(_) => DatasetName::TimedTrace,
        }
    }

    /// Whether to ask for no request is to ask for all there are.
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.data, VllmData::Custom(_))
    }
}

impl VllmData {
    fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let samples = match self {
            Self::Batch(spec) => Ok(spec.draw(count, context)),
            Self::Burstgpt(spec) => spec.draw(count, seed, context),
            Self::Custom(spec) => spec.draw(count, seed, context),
            Self::PrefixRepetition(spec) => spec.draw(count, seed, context),
            Self::Random(spec) => spec.draw(count, seed, context),
            Self::RandomRerank(spec) => spec.draw(count, seed, context),
            Self::Sharegpt(spec) => spec.draw(count, seed, context),
            Self::TimedTrace(spec) => return spec.draw(count, context),
        }?;
        Ok(samples.into_iter().map(Session::from).collect())
    }
}

fn number(sessions: &mut [Session], prefix: &str) {
    for (number, session) in sessions.iter_mut().enumerate() {
        let id = format!("{prefix}{number}");
        session.first.headers.push(("x-request-id".to_owned(), id));
    }
}
