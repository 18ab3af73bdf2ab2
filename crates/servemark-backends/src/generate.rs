//! Requests to SGLang's `/generate`.
//!
//! The order and the presence of the keys are those of SGLang 0.5.23's `benchmark/serving.py`. The
//! `decoder` module reads the answers.

mod decoder;
mod growing;
mod part;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{Prompt, RequestError, Sample};

pub use self::decoder::GenerateDecoder;
use crate::payload::{Payload, text_of};
use crate::route::Dialect;
use crate::{Backend, CommonSpec, Route, WireRequest};

impl Route {
    /// Route of SGLang's own API.
    pub const GENERATE: Self = Self::at("/generate").with_ids().with_passed_messages();
}

/// The options of `/generate`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct GenerateSpec {
    /// The options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The sampling temperature.
    pub temperature: f64,
    /// The probability mass of nucleus sampling; sent only if below one.
    pub top_p: f64,
    /// Whether log probabilities are requested.
    pub return_logprob: bool,
    /// Number of likeliest tokens whose log probabilities are requested; sent only if above zero.
    pub top_logprobs_num: u32,
    /// Ids of further tokens whose log probabilities are requested; sent only if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_ids_logprob: Vec<i64>,
    /// First position of the prompt whose log probability is requested; −1 for the output only.
    pub logprob_start_len: i64,
    /// Whether the experts chosen in a mixture-of-experts model are requested.
    pub return_routed_experts: bool,
}

impl GenerateSpec {
    /// Returns a spec with greedy sampling and without log probabilities.
    pub fn new(common: CommonSpec) -> Self {
        Self {
            common,
            temperature: 0.0,
            top_p: 1.0,
            return_logprob: false,
            top_logprobs_num: 0,
            token_ids_logprob: Vec::new(),
            logprob_start_len: -1,
            return_routed_experts: false,
        }
    }

    fn sampling_params(&self, sample: &Sample) -> Value {
        Payload::default()
            .with("temperature", self.temperature)
            .with("max_new_tokens", sample.output_tokens)
            .with("ignore_eos", self.common.ignore_eos)
            .with_some("top_p", (self.top_p < 1.0).then_some(self.top_p))
            .into_object()
            .into()
    }
}

impl Default for GenerateSpec {
    fn default() -> Self {
        Self::new(CommonSpec::default())
    }
}

impl Dialect for GenerateSpec {
    fn route(&self) -> Route {
        Route::GENERATE
    }
}

impl Backend for GenerateSpec {
    type Decoder = GenerateDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let spec = self;
        let path = Route::GENERATE.path();
        let prompt = match &sample.prompt {
            Prompt::TokenIds(ids) => ("input_ids", json!(ids)),
            // SGLang's client sends every prompt that is not a text as ids.
            Prompt::Messages(messages) => ("input_ids", json!(messages)),
            prompt => ("text", text_of(prompt, path)?),
        };
        let top_logprobs = (spec.top_logprobs_num > 0).then_some(spec.top_logprobs_num);
        let ids = &spec.token_ids_logprob;
        let body = Payload::default()
            .with(prompt.0, prompt.1)
            .with("sampling_params", spec.sampling_params(sample))
            .with("stream", spec.common.stream)
            .with("lora_path", sample.adapter.clone())
            .with("return_logprob", spec.return_logprob)
            .with("return_routed_experts", spec.return_routed_experts)
            .with("logprob_start_len", spec.logprob_start_len)
            .with_all(spec.common.extra_for(sample))
            .with_some("top_logprobs_num", top_logprobs)
            .with_some("token_ids_logprob", (!ids.is_empty()).then(|| ids.clone()))
            .with_images("image_data", &sample.media)?;
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> GenerateDecoder {
        GenerateDecoder::new(sample)
    }
}
