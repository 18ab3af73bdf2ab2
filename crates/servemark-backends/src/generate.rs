//! SGLang's `/generate`: how a sample is asked for.
//!
//! The order and the presence of the keys are SGLang 0.5.23's `benchmark/serving.py`. Reading the
//! answer is the `decoder` module's business.

mod decoder;
mod growing;
mod part;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{Prompt, RequestError, Sample};

pub use self::decoder::GenerateDecoder;
use crate::payload::{Payload, text_of};
use crate::{Backend, CommonSpec, Route, WireRequest};

/// The knobs of `/generate`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct GenerateSpec {
    /// What every dialect is told.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The sampling temperature.
    pub temperature: f64,
    /// The nucleus; sent only when below one.
    pub top_p: f64,
    /// Whether log-probabilities are asked for.
    pub return_logprob: bool,
    /// For how many of the likeliest tokens; sent only when above zero.
    pub top_logprobs_num: u32,
    /// For which tokens besides; sent only when there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_ids_logprob: Vec<u32>,
    /// From which position of the prompt on; −1 for the output only.
    pub logprob_start_len: i64,
    /// Whether the chosen experts of a mixture are asked for.
    pub return_routed_experts: bool,
}

impl GenerateSpec {
    /// Greedy, without log-probabilities.
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

/// The codec of `/generate`.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateBackend {
    spec: GenerateSpec,
}

impl GenerateBackend {
    /// A codec with these knobs.
    pub fn new(spec: GenerateSpec) -> Self {
        Self { spec }
    }
}

impl Backend for GenerateBackend {
    type Decoder = GenerateDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let spec = &self.spec;
        let path = Route::Generate.path();
        let prompt = match &sample.prompt {
            Prompt::TokenIds(ids) => ("input_ids", json!(ids)),
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
