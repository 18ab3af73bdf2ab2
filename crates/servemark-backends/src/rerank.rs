//! `/v1/rerank`: requests to rank documents by a query, and their answers.
//!
//! SGLang's client has no such backend. The keys are those of vLLM's `bench serve`; vLLM, infinity
//! and others answer with an object that holds `results`, SGLang with a bare list.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{Prompt, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use crate::count::Count;
use crate::items::{expect, items, no_stream};
use crate::payload::{Payload, cannot_say};
use crate::route::Dialect;
use crate::wire::{Frame, believable, parse};
use crate::{Backend, CommonSpec, Decoder, Flow, Framing, Route, WireRequest};

impl Route {
    /// Route for rankings, which several servers have.
    pub const RERANK: Self = Self::at("/v1/rerank").with_scores();
}

/// The options of `/v1/rerank`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RerankSpec {
    /// The options that all dialects share. Nothing is streamed, as an answer is one document.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The number of tokens to which the server truncates a document, −1 for the model's own limit;
    /// sent only if set. vLLM's client sends −1, other servers do not know the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncate_prompt_tokens: Option<i64>,
}

impl RerankSpec {
    /// Returns a spec without truncation.
    pub fn new(common: CommonSpec) -> Self {
        Self { common, truncate_prompt_tokens: None }
    }

    /// Returns a spec that asks the server to truncate texts at the model's own limit.
    pub fn truncated(common: CommonSpec) -> Self {
        Self { common, truncate_prompt_tokens: Some(-1) }
    }
}

impl Dialect for RerankSpec {
    fn route(&self) -> Route {
        Route::RERANK
    }
}

impl Backend for RerankSpec {
    type Decoder = RerankDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let Self { common, truncate_prompt_tokens } = self;
        let path = Route::RERANK.path();
        let Prompt::Ranking { query, documents } = &sample.prompt else {
            return Err(cannot_say(&sample.prompt, path));
        };
        let body = Payload::default()
            .with("model", common.model.as_str())
            .with("query", query.as_str())
            .with("documents", json!(documents))
            .with_some("truncate_prompt_tokens", *truncate_prompt_tokens)
            .with_all(common.extra_for(sample));
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> RerankDecoder {
        let documents = sample.prompt.items() as usize;
        let extra = self.common.extra_for(sample);
        let best = extra.get("top_n").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        RerankDecoder {
            expected: best.map_or(documents, |best| best.min(documents)),
            is_read: false,
        }
    }

    fn framing(&self) -> Framing {
        Framing::Document
    }
}

/// Decodes an answer of `/v1/rerank`. It is complete if it has a score for each expected document.
#[derive(Clone, Debug)]
pub struct RerankDecoder {
    expected: usize,
    is_read: bool,
}

impl RerankDecoder {
    /// Returns a decoder that expects this number of scores.
    pub(crate) fn expecting(expected: usize) -> Self {
        Self { expected, is_read: false }
    }

    fn ranked(&mut self, ranked: &[Ranked]) -> Result<(), RequestError> {
        self.is_read = true;
        let scored = ranked.iter().filter(|one| one.score.or(one.relevance_score).is_some());
        expect(scored.count(), self.expected, "scores")
    }

    /// Decodes SGLang's answer, in which each document has a score and its own token count.
    fn list(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let ranked: Vec<Ranked> = parse(json)?;
        for info in ranked.iter().filter_map(|ranked| ranked.meta_info.as_ref()) {
            info.prompt_tokens.report("prompt_tokens", out);
        }
        let counts: Option<Vec<u32>> = ranked.iter().map(Ranked::prompt_tokens).collect();
        let total = counts.map(|counts| counts.into_iter().fold(0, u32::saturating_add));
        if let Some(usage) = total.and_then(|total| believable(Usage::new(Some(total), None))) {
            out.usage(usage);
        }
        self.ranked(&ranked)
    }
}

impl Decoder for RerankDecoder {
    fn event(&mut self, _event: Event<'_>, _out: &mut dyn Sink) -> Result<Flow, RequestError> {
        Err(no_stream())
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        match Frame::of(body) {
            Frame::Json(json) if json.starts_with(b"[") => self.list(json, out),
            Frame::Json(json) => self.ranked(&items(json, out)?),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        if self.is_read { Ok(()) } else { expect(0, self.expected, "scores") }
    }
}

/// A document with its score, which SGLang names `score` and all others `relevance_score`.
#[derive(Debug, Deserialize)]
struct Ranked {
    score: Option<f64>,
    relevance_score: Option<f64>,
    meta_info: Option<MetaInfo>,
}

#[derive(Debug, Deserialize)]
struct MetaInfo {
    #[serde(default)]
    prompt_tokens: Count,
}

impl Ranked {
    fn prompt_tokens(&self) -> Option<u32> {
        self.meta_info.as_ref()?.prompt_tokens.tokens()
    }
}
