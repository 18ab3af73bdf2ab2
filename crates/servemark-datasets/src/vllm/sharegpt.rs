//! ShareGPT's conversations, with vLLM's selection rules.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Medium, Sample, SpecialTokens, Tokenizer,
    TokenizerError, parallel,
};
use servemark_rng::PythonRandom;

use super::limits::CONVERSATION;
use super::media::{picture_link, video_link};
use super::rows::{RowOrder, TooFewRows, no_file};
use super::shape::{PromptShape, shape};
use crate::conversations::Exchange;
use crate::json_array;

/// Conversations in ShareGPT's layout: the first turn is the prompt, and the second gives the
/// output length.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmShareGptSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Output length of every request, in tokens; without it, the length of the recorded answer.
    pub output_tokens: Option<u32>,
    /// Whether a prompt, with its media, is a text or a message.
    #[serde(skip_serializing_if = "PromptShape::is_text")]
    pub shape: PromptShape,
    /// Order in which conversations are sent.
    pub order: RowOrder,
    /// Handling of a file with too few conversations.
    pub too_few: TooFewRows,
}

/// A conversation that may be sent.
struct Candidate {
    exchange: Exchange,
    medium: Option<Medium>,
}

impl VllmShareGptSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let hint = "give ShareGPT's file with `workload.dataset.path`";
        let path = self.path.as_deref().ok_or_else(|| no_file("sharegpt", hint))?;
        let mut all = json_array::read(path, context.progress, |record| candidate(&record))?;
        let python = &mut context.random.python;
        *python = PythonRandom::seeded(seed.into());
        self.order.arrange(&mut all, python);
        let tokenizer = context.tokenizer;
        let sample = |candidate: &Candidate| self.sample(candidate, tokenizer);
        let name = "tokenizing prompts";
        let mut samples = parallel::first(name, &all, count, context.progress, sample)?;
        self.too_few.fill(&mut samples, count, seed, python);
        Ok(samples)
    }

    fn sample(
        &self,
        Candidate { exchange, medium }: &Candidate,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Option<Sample>, TokenizerError> {
        let prompt_tokens = tokenizer.count(&exchange.prompt, SpecialTokens::Add)?;
        let output_tokens = match self.output_tokens {
            Some(tokens) => tokens,
            None => tokenizer.count(&exchange.completion, SpecialTokens::Add)?,
        };
        if !self.fits(prompt_tokens, output_tokens) {
            return Ok(None);
        }
        let mut sample = Sample::new(exchange.prompt.as_str(), prompt_tokens, output_tokens);
        sample.media.extend(medium.clone());
        Ok(Some(shape(sample, self.shape)))
    }

    /// Returns whether the lengths are within the limits. A requested output length has no minimum.
    fn fits(&self, prompt_tokens: u32, output_tokens: u32) -> bool {
        match self.output_tokens {
            Some(_) => CONVERSATION.hold_prompt(prompt_tokens, output_tokens),
            None => CONVERSATION.hold(prompt_tokens, output_tokens),
        }
    }
}

/// Returns the exchange of a record with its medium, or `None` if it has no `conversations`.
fn candidate(record: &Value) -> Result<Option<Candidate>, String> {
    let record = record.as_object().ok_or("expected a JSON object")?;
    if !record.contains_key("conversations") {
        return Ok(None);
    }
    let exchange = Exchange::of(record, |turn| match turn.get("value") {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err("a turn has no text under \"value\"".to_owned()),
    })?;
    let Some(exchange) = exchange else { return Ok(None) };
    Ok(Some(Candidate { exchange, medium: medium(record)? }))
}

/// Returns a record's image, or else its video.
fn medium(record: &JsonObject) -> Result<Option<Medium>, String> {
    let place = |key: &str| match record.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(place)) => Ok(Some(place.as_str()).filter(|place| !place.is_empty())),
        Some(_) => Err(format!("\"{key}\" is not the path or URL of a file")),
    };
    Ok(match place("image")? {
        Some(picture) => Some(Medium::image(picture_link(picture))),
        None => place("video")?.map(|video| Medium::video(video_link(video))),
    })
}
