//! Requests to OpenAI's `/v1/completions`.
//!
//! The order and the presence of the keys are those of SGLang 0.5.23's `benchmark/serving.py`. The
//! `openai` module reads the answers.

use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_core::{Prompt, RequestError, Sample};

use crate::payload::{Payload, as_it_stands};
use crate::route::Dialect;
use crate::{Backend, CommonSpec, OpenAiDecoder, Route, WireRequest};

impl Route {
    /// OpenAI's route for text completions.
    pub const COMPLETIONS: Self = Self::at("/v1/completions").with_ids().with_passed_messages();
}

/// The options of `/v1/completions`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CompletionsSpec {
    /// The options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The number of likeliest tokens for which log probabilities are requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<u32>,
    /// Whether streams are asked to report token counts. SGLang's client does not ask, because it
    /// would fail on the answer.
    pub include_usage: bool,
}

impl CompletionsSpec {
    /// Returns a spec that requests neither log probabilities nor counts.
    pub fn new(common: CommonSpec) -> Self {
        Self { common, logprobs: None, include_usage: false }
    }
}

impl Dialect for CompletionsSpec {
    fn route(&self) -> Route {
        Route::COMPLETIONS
    }
}

impl Backend for CompletionsSpec {
    type Decoder = OpenAiDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let Self { common, logprobs, include_usage } = self;
        let path = Route::COMPLETIONS.path();
        let prompt = match &sample.prompt {
            Prompt::TokenIds(ids) => json!(ids),
            prompt => as_it_stands(prompt, path)?,
        };
        let extra = common.extra_for(sample);
        let body = Payload::default()
            .with("model", common.model.as_str())
            .with("prompt", prompt)
            .with("best_of", 1)
            .with("max_tokens", sample.output_tokens)
            .with("stream", common.stream)
            .with_default("temperature", 0.0, &extra)
            .with_default("ignore_eos", common.ignore_eos, &extra)
            .with_some("logprobs", *logprobs)
            .with_all(extra);
        let body = if *include_usage { body.with_usage_requested() } else { body };
        let body = body.with_adapter(sample);
        let body = body.with_images("image_data", &sample.media)?;
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> OpenAiDecoder {
        OpenAiDecoder::new(sample)
    }
}
