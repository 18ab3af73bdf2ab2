//! vLLM's data sets. Some share a name with one of SGLang's but differ in content.
//!
//! For the same seed and tokenizer, samples have the same texts and order as in vLLM 0.33.0. Most
//! data sets draw from generators of their own. If one reseeds the two global generators, the run's
//! state is left as vLLM leaves its own, because arrivals and adapters are drawn from it.

mod batch;
mod buckets;
pub(crate) mod burstgpt;
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

use std::path::Path;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, Session};

use crate::layout::FileLayout;
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

/// A vLLM data set with its seed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct VllmSpec {
    /// Seed of the data set's draws. Some data sets have a seed of their own and ignore this one.
    #[serde(default)]
    pub seed: u32,
    /// Prefix of the request ids sent as `x-request-id`; `None` sends no ids.
    #[serde(default)]
    pub request_ids: Option<String>,
    /// Maximum number of prompt and output tokens of a request; longer requests are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_tokens: Option<u32>,
    /// The data set and its own settings.
    #[serde(flatten)]
    pub data: VllmData,
}

/// A data set of vLLM.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VllmData {
    /// Prompts of arbitrary token ids, for one batch.
    Batch(VllmBatchSpec),
    /// Prompts with the lengths of a `BurstGPT` trace.
    Burstgpt(VllmBurstgptSpec),
    /// Conversations of several turns.
    Conversations(ConversationSpec),
    /// Prompts from a file, including those of Spec-Bench and SPEED-Bench.
    Custom(VllmCustomSpec),
    /// Prompts with audio, from a file.
    CustomAudio(VllmCustomAudioSpec),
    /// Prompts with images, from a file.
    CustomImage(VllmCustomImageSpec),
    /// A data set of the Hugging Face hub.
    Hub(VllmHubSpec),
    /// Groups of prompts with a common prefix.
    PrefixRepetition(PrefixRepetitionSpec),
    /// Prompts of drawn lengths, with consecutive token ids from a drawn one on.
    Random(VllmRandomSpec),
    /// Prompts of drawn lengths with random-noise images and videos.
    RandomMm(VllmRandomMmSpec),
    /// Queries and documents of drawn lengths, for reranking.
    RandomRerank(VllmRerankSpec),
    /// ShareGPT's conversations.
    Sharegpt(VllmShareGptSpec),
    /// A trace with request times and shared prompt beginnings.
    TimedTrace(TimedTraceSpec),
}

impl VllmSpec {
    /// Creates a spec with seed 0 and without request ids.
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
        // vLLM prints no summary of its data sets.
        let summary = Summary::of_sessions(self.name(), &sessions).in_lines(String::new());
        Ok(Draw::of_sessions(sessions, summary).with_notices(notices))
    }

    /// Removes sessions above the token limit and returns a notice about them.
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

    /// Returns the data set's name.
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

    /// Returns whether a session may have more than one turn.
    pub(crate) fn is_multi_turn(&self) -> bool {
        matches!(self.data, VllmData::Conversations(_))
    }

    /// Returns whether prompts are sent as token ids.
    pub(crate) fn sends_token_ids(&self) -> bool {
        matches!(self.data, VllmData::Batch(_) | VllmData::TimedTrace(_))
    }

    /// Returns whether sessions have recorded start times that can be replayed.
    pub(crate) fn has_timestamps(&self) -> bool {
        matches!(self.data, VllmData::TimedTrace(_))
    }

    /// Returns whether prompts are rendered by a chat template.
    pub(crate) fn needs_chat_template(&self) -> bool {
        match &self.data {
            VllmData::Custom(spec) => spec.prompt_format.is_rendered(),
            VllmData::Hub(spec) => spec.renders(),
            _ => false,
        }
    }

    /// Returns the data set's file and its layout, if it has one file of one text layout.
    pub(crate) fn file_layout(&self) -> Option<(&Path, FileLayout)> {
        let (path, layout) = match &self.data {
            VllmData::Burstgpt(spec) => (&spec.path, FileLayout::Csv(burstgpt::COLUMNS)),
            VllmData::Conversations(spec) => match &spec.source {
                ConversationSource::Sharegpt(spec) => (&spec.path, FileLayout::Array),
                ConversationSource::Random(_) => return None,
            },
            VllmData::Custom(spec) => (&spec.path, FileLayout::Lines(None)),
            VllmData::CustomAudio(spec) => (&spec.path, FileLayout::Lines(None)),
            VllmData::CustomImage(spec) => (&spec.path, FileLayout::Lines(None)),
            VllmData::Sharegpt(spec) => (&spec.path, FileLayout::Array),
            VllmData::TimedTrace(spec) => (&spec.path, FileLayout::Lines(None)),
            _ => return None,
        };
        Some((path.as_deref()?, layout))
    }

    /// Returns whether the data set is one of the custom files, for which a request count of zero
    /// means all requests.
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

/// Adds numbered request ids to the sessions that have no header yet.
fn number(sessions: &mut [Session], prefix: &str) {
    for (number, session) in sessions.iter_mut().enumerate() {
        let headers = &mut session.first.headers;
        if headers.is_empty() {
            headers.push(request_id(prefix, number));
        }
    }
}

/// Returns the header that carries a request's id in vLLM.
fn request_id(prefix: &str, number: usize) -> (String, String) {
    ("x-request-id".to_owned(), format!("{prefix}{number}"))
}
