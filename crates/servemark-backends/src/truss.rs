//! Requests to Baseten's Truss, on `/v1/models/model:predict`.
//!
//! The order and the presence of the keys are those of SGLang 0.5.23's `benchmark/serving.py`.
//! Answers are those of text completions.

use serde::{Deserialize, Serialize};
use servemark_core::{RequestError, Sample};

use crate::payload::{Payload, as_it_stands};
use crate::route::Dialect;
use crate::{Backend, CommonSpec, OpenAiDecoder, Route, WireRequest};

impl Route {
    /// Truss's route for the model `model`.
    pub const TRUSS: Self = Self::at("/v1/models/model:predict").with_passed_messages();
}

/// The options of Truss's route.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TrussSpec {
    /// The options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
}

impl TrussSpec {
    /// Returns a spec with these options.
    pub fn new(common: CommonSpec) -> Self {
        Self { common }
    }
}

impl Dialect for TrussSpec {
    fn route(&self) -> Route {
        Route::TRUSS
    }
}

impl Backend for TrussSpec {
    type Decoder = OpenAiDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let common = &self.common;
        let path = Route::TRUSS.path();
        let body = Payload::default()
            .with("model", common.model.as_str())
            .with("prompt", as_it_stands(&sample.prompt, path)?)
            .with("temperature", 0.0)
            .with("best_of", 1)
            .with("max_tokens", sample.output_tokens)
            .with("stream", common.stream)
            .with("ignore_eos", common.ignore_eos)
            .with_all(common.extra_for(sample));
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> OpenAiDecoder {
        OpenAiDecoder::new(sample)
    }
}
