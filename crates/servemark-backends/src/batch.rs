//! Several prompts in one request, as in SGLang's benchmark of one batch.
//!
//! The order and the presence of the keys are those of SGLang 0.5.23's
//! `benchmark/one_batch_server.py`. The `decoder` module reads the answers.

mod decoder;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{Prompt, RequestError, Sample};

pub use self::decoder::BatchDecoder;
use crate::payload::{Payload, cannot_say};
use crate::route::Dialect;
use crate::{Backend, CommonSpec, Route, WireRequest};

/// The options of a batch.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct BatchSpec {
    /// The options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The kind of server.
    pub server: BatchServer,
    /// The sampling temperature.
    pub temperature: f64,
    /// Whether log probabilities are requested.
    pub return_logprob: bool,
    /// The number of tokens that SGLang's server puts into one event.
    pub stream_interval: i64,
    /// Whether SGLang's server is asked to process the batch in parallel (`parallel_batch`).
    pub parallel: bool,
}

/// The kind of server that receives a batch, which determines the route. Exhaustive: SGLang's
/// benchmark supports no others.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchServer {
    /// SGLang, by `/generate`.
    #[default]
    Sglang,
    /// vLLM, by `/v1/completions`, whose stream has no token counts.
    Vllm,
}

impl BatchSpec {
    /// Returns a spec with greedy sampling and an event for every token.
    pub fn new(common: CommonSpec, server: BatchServer) -> Self {
        Self {
            common,
            server,
            temperature: 0.0,
            return_logprob: false,
            stream_interval: 1,
            parallel: false,
        }
    }

    /// Returns the path and body of the request that puts the first `tokens` tokens of every prompt
    /// into the server's prefix cache.
    pub fn prefixes(&self, prompts: &[Vec<u32>], tokens: usize) -> (&'static str, Value) {
        let prefix = |prompt: &Vec<u32>| prompt[..tokens.min(prompt.len())].to_vec();
        let prefixes: Vec<Vec<u32>> = prompts.iter().map(prefix).collect();
        let body = match self.server {
            BatchServer::Sglang => json!({
                "input_ids": prefixes,
                "sampling_params": {"temperature": 0.0, "max_new_tokens": 1, "ignore_eos": true},
                "stream": false,
            }),
            BatchServer::Vllm => json!({
                "model": self.common.model,
                "prompt": prefixes,
                "max_tokens": 1,
                "temperature": 0.0,
                "stream": false,
            }),
        };
        (self.route().path(), body)
    }

    fn sglang(&self, prompts: &[Vec<u32>], sample: &Sample) -> Payload {
        let sampling = json!({
            "temperature": self.temperature,
            "max_new_tokens": sample.output_tokens,
            "ignore_eos": self.common.ignore_eos,
            "json_schema": null,
            "stream_interval": self.stream_interval,
        });
        Payload::default()
            .with("sampling_params", sampling)
            .with("return_logprob", self.return_logprob)
            .with("stream", self.common.stream)
            .with_some("parallel_batch", self.parallel.then_some(true))
            .with("input_ids", prompts)
    }

    fn vllm(&self, prompts: &[Vec<u32>], sample: &Sample) -> Payload {
        Payload::default()
            .with("model", self.common.model.as_str())
            .with("prompt", prompts)
            .with("max_tokens", sample.output_tokens)
            .with("temperature", self.temperature)
            .with("stream", self.common.stream)
            .with("ignore_eos", self.common.ignore_eos)
            .with_some("logprobs", self.return_logprob.then_some(1))
    }
}

impl Default for BatchSpec {
    fn default() -> Self {
        Self::new(CommonSpec::default(), BatchServer::default())
    }
}

impl Dialect for BatchSpec {
    fn route(&self) -> Route {
        match self.server {
            BatchServer::Sglang => Route::GENERATE,
            BatchServer::Vllm => Route::COMPLETIONS,
        }
    }
}

impl Backend for BatchSpec {
    type Decoder = BatchDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let path = self.route().path();
        let Prompt::Batch(prompts) = &sample.prompt else {
            return Err(cannot_say(&sample.prompt, path));
        };
        let body = match self.server {
            BatchServer::Sglang => self.sglang(prompts, sample),
            BatchServer::Vllm => self.vllm(prompts, sample),
        };
        let body = body.with_all(self.common.extra_for(sample));
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> BatchDecoder {
        BatchDecoder::new(self.server, sample)
    }
}
