//! vLLM's data sets, which share names with SGLang's and little else.
//!
//! For the same seed and tokenizer the samples are those of vLLM 0.33.0, text for text and in the
//! same order. Most of them draw from generators of their own; where one reseeds the two global
//! ones, the run's state is left as vLLM leaves its own, because arrivals and adapters are drawn
//! from it.

mod batch;
mod buckets;
mod burstgpt;
mod conversation;
mod custom;
mod custom_audio;
mod custom_image;
mod hub;
mod lengths;
mod limits;
mod media;
mod prefix_repetition;
mod random;
mod random_mm;
mod rerank;
mod rows;
mod shape;
mod sharegpt;
mod slices;
mod timed_trace;
mod token_ids;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, Session};

use crate::{DatasetName, Draw, Summary};

pub use batch::VllmBatchSpec;
pub use buckets::{MediaBucket, MediaDraws, MediaLimits};
pub use burstgpt::VllmBurstgptSpec;
pub use conversation::{ConversationSource, ConversationSpec, RandomTurnsSpec, ShareGptTurnsSpec};
pub use custom::{CustomLayout, CustomOutput, VllmCustomSpec};
pub use custom_audio::VllmCustomAudioSpec;
pub use custom_image::VllmCustomImageSpec;
pub use hub::{Bounds, HubDataset, HubReading, SpeechPrompt, VllmHubSpec};
pub use lengths::{Spread, VllmLengths};
pub use media::PictureReader;
pub use prefix_repetition::PrefixRepetitionSpec;
pub use random::VllmRandomSpec;
pub use random_mm::VllmRandomMmSpec;
pub use rerank::{RerankMode, VllmRerankSpec};
pub use rows::{RowOrder, TooFewRows};
pub use shape::PromptShape;
use shape::shape;
pub use sharegpt::VllmShareGptSpec;
pub use slices::{TextSlice, TextSlicesSpec};
pub use timed_trace::{TimedTraceLabels, TimedTraceSpec};
pub use token_ids::WarmPrompts;

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
    /// How many tokens a request and its answer may have together; one with more is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_tokens: Option<u32>,
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
    /// Conversations of several turns.
    Conversations(ConversationSpec),
    /// Prompts of one's own, and those of Spec-Bench and SPEED-Bench.
    Custom(VllmCustomSpec),
    /// Prompts of one's own with recordings.
    CustomAudio(VllmCustomAudioSpec),
    /// Prompts of one's own with pictures.
    CustomImage(VllmCustomImageSpec),
    /// A data set of the hub.
    Hub(VllmHubSpec),
    /// Prompts of which several begin alike.
    PrefixRepetition(PrefixRepetitionSpec),
    /// Prompts of drawn lengths, counted up from a drawn token id.
    Random(VllmRandomSpec),
    /// The same with pictures and videos of noise.
    RandomMm(VllmRandomMmSpec),
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
        Self { seed: 0, request_ids: None, most_tokens: None, data }
    }

    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let mut sessions = self.draw_sessions(count, context)?;
        let notices = self.leave_out(&mut sessions)?;
        match (&self.request_ids, &self.data) {
            (None, _) | (_, VllmData::PrefixRepetition(_)) => {}
            (Some(prefix), VllmData::Conversations(_)) => {
                conversation::number(&mut sessions, prefix);
            }
            (Some(prefix), _) => number(&mut sessions, prefix),
        }
        // vLLM prints nothing of them.
        let summary = Summary::of_sessions(self.name(), &sessions).in_lines(String::new());
        Ok(Draw::of_sessions(sessions, summary).noting(notices))
    }

    /// Leaves out what is too long, and tells of it.
    fn leave_out(&self, sessions: &mut Vec<Session>) -> Result<Vec<String>, DatasetError> {
        let Some(most) = self.most_tokens else { return Ok(Vec::new()) };
        let drawn = sessions.len();
        sessions.retain(|session| {
            let Sample { prompt_tokens, output_tokens, .. } = session.first;
            prompt_tokens.saturating_add(output_tokens) <= most
        });
        let notice = match drawn - sessions.len() {
            0 => return Ok(Vec::new()),
            left_out => format!("{left_out} of {drawn} requests have more than {most} tokens"),
        };
        if sessions.is_empty() {
            return Err(DatasetError::Nothing { reason: notice });
        }
        Ok(vec![notice + " and are left out"])
    }

    /// The name under which it is asked for.
    pub(crate) fn name(&self) -> DatasetName {
        match &self.data {
            VllmData::Batch(_) => DatasetName::RandomIds,
            VllmData::Burstgpt(_) => DatasetName::Burstgpt,
            VllmData::Conversations(spec) => spec.source.name(),
            VllmData::Custom(spec) => spec.layout.name(),
            VllmData::CustomAudio(_) => DatasetName::CustomAudio,
            VllmData::CustomImage(_) => DatasetName::CustomImage,
            VllmData::Hub(_) => DatasetName::Hub,
            VllmData::PrefixRepetition(_) => DatasetName::PrefixRepetition,
            VllmData::Random(_) => DatasetName::Random,
            VllmData::RandomMm(_) => DatasetName::RandomMm,
            VllmData::RandomRerank(_) => DatasetName::RandomRerank,
            VllmData::Sharegpt(_) => DatasetName::Sharegpt,
            VllmData::TimedTrace(_) => DatasetName::TimedTrace,
        }
    }

    /// Whether to ask for no request is to ask for all there are.
    pub(crate) fn is_custom(&self) -> bool {
        matches!(
            self.data,
            VllmData::Custom(_) | VllmData::CustomAudio(_) | VllmData::CustomImage(_)
        )
    }
}

impl VllmSpec {
    fn draw_sessions(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let (seed, ids) = (self.seed, self.request_ids.as_deref());
        let samples = match &self.data {
            VllmData::Batch(spec) => Ok(spec.draw(count, context)),
            VllmData::Burstgpt(spec) => spec.draw(count, seed, context),
            VllmData::Conversations(spec) => return spec.draw(count, seed, context),
            VllmData::Custom(spec) => spec.draw(count, seed, context),
            VllmData::CustomAudio(spec) => spec.draw(count, seed, context),
            VllmData::CustomImage(spec) => spec.draw(count, seed, context),
            VllmData::Hub(spec) => spec.draw(count, seed, ids, context),
            VllmData::PrefixRepetition(spec) => spec.draw(count, seed, context),
            VllmData::Random(spec) => spec.draw(count, seed, context),
            VllmData::RandomMm(spec) => spec.draw(count, seed, context),
            VllmData::RandomRerank(spec) => spec.draw(count, seed, context),
            VllmData::Sharegpt(spec) => spec.draw(count, seed, context),
            VllmData::TimedTrace(spec) => return spec.draw(count, context),
        }?;
        Ok(samples.into_iter().map(Session::from).collect())
    }
}

/// Numbers those that have no id yet.
fn number(sessions: &mut [Session], prefix: &str) {
    for (number, session) in sessions.iter_mut().enumerate() {
        let headers = &mut session.first.headers;
        if headers.is_empty() {
            headers.push(request_id(prefix, number));
        }
    }
}

/// The header by which vLLM tells requests apart.
fn request_id(prefix: &str, number: usize) -> (String, String) {
    ("x-request-id".to_owned(), format!("{prefix}{number}"))
}
