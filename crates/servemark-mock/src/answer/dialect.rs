//! What the routes answer.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Value, json};

use super::ask::Ask;
use super::script::{Length, Part, Script, Total};
use super::scripts::{Form, Scripts};
use super::shapes::{
    LENGTH, OpenAi, count, dashscope, ollama_end, response, response_counts, response_message,
    response_part, response_usage, tgi_document, triton_event,
};
use super::template::Style;
use super::vectors::{DIMENSIONS, Vectors};
use super::{decision, vectors, words};
use crate::MockSpec;

/// The dialects that are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dialect {
    /// `AutoTrust`'s `/v1/decide`
    Autotrust,
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
    /// `DashScope`'s own route for texts
    Dashscope {
        /// Whether the text is that of a message.
        as_messages: bool,
        /// Whether events hold no more than is new.
        in_pieces: bool,
    },
    /// `/v1/embeddings`, and Infinity's `/embeddings`
    Embeddings,
    /// SGLang's own `/generate`
    Generate,
    /// Ollama's `/api/chat` and `/api/generate`
    Ollama {
        /// Whether the text is that of a message.
        as_messages: bool,
    },
    /// vLLM's `/pooling`
    Pooling,
    /// `/v1/rerank`
    Rerank,
    /// `/v1/responses`
    Responses,
    /// `/v1/systemone`
    Systemone,
    /// The routes of text-generation-inference, and `MindIE`'s `/infer`, whose events are the same
    Tgi,
    /// Triton's generate extension
    Triton {
        /// Whether events hold all the text so far, as TensorRT-LLM's do if they are asked to.
        accumulates: bool,
    },
}

impl Dialect {
    /// Whether an answer is made of tokens.
    pub(crate) fn generates(self) -> bool {
        !matches!(
            self,
            Self::Autotrust | Self::Embeddings | Self::Pooling | Self::Rerank | Self::Systemone
        )
    }

    /// The same as a body has it: `/generate` is the route of two servers, and some shapes are asked
    /// for.
    pub(crate) fn of(self, ask: &Ask) -> Self {
        match self {
            Self::Generate if ask.is_of_tgi() => Self::Tgi,
            Self::Dashscope { .. } => {
                Self::Dashscope { as_messages: ask.wants_messages(), in_pieces: ask.wants_pieces() }
            }
            Self::Triton { .. } => Self::Triton { accumulates: ask.accumulates() },
            dialect => dialect,
        }
    }
}

/// Writes one request's answer.
#[derive(Debug)]
pub(crate) struct Author<'a> {
    spec: &'a MockSpec,
    ask: &'a Ask,
    dialect: Dialect,
    /// The request's number, which becomes the answer's id.
    number: u64,
    /// When the model is said to have been made, in seconds since the Unix epoch.
    created: u64,
}

impl<'a> Author<'a> {
    pub(crate) fn new(
        spec: &'a MockSpec,
        ask: &'a Ask,
        dialect: Dialect,
        number: u64,
        created: u64,
    ) -> Self {
        Self { spec, ask, dialect, number, created }
    }

    pub(crate) fn length(&self) -> Length {
        if !self.dialect.generates() {
            return Length { tokens: 1, tokens_per_piece: NonZeroU32::MIN };
        }
        let asked = self.spec.output_tokens.or(self.ask.output_tokens());
        let tokens = asked.unwrap_or(UNASKED_TOKENS).min(MOST_TOKENS);
        Length { tokens, tokens_per_piece: self.spec.tokens_per_chunk }
    }

    /// The answer as a stream, if it is one; a dialect that never streams has none.
    pub(crate) fn script(&self, scripts: &Scripts, style: Style) -> Option<Arc<Script>> {
        if !self.ask.is_stream() {
            return None;
        }
        // One prompt in a list of prompts says whose its events are, too.
        let is_several = self.ask.batch(self.dialect).is_some() || self.choices() > 1;
        let (dialect, logprobs) = (self.dialect, self.ask.logprobs(self.dialect));
        let form = Form { dialect, usage: self.ask.usage(), style, is_several, logprobs };
        scripts.find(form, &self.spec.model, self.created)
    }

    /// What each choice of each prompt has of its own in a stream: the first one, and the others.
    /// The prompts take turns, so that every piece of a prompt comes after one of each other.
    pub(crate) fn parts(&self) -> (Part, Vec<Part>) {
        let (number, length, choices) = (self.number, self.length(), self.choices());
        let own = [self.prompt_tokens()];
        let prompts = self.ask.batch(self.dialect).unwrap_or(&own);
        let part = |choice: u32, (prompt, &prompt_tokens): (u32, &u32)| Part {
            index: prompt * choices + choice,
            number,
            prompt_tokens,
            length,
        };
        let turn = |choice: u32| (0..).zip(prompts).map(move |prompt| part(choice, prompt));
        let mut parts = (0..choices).flat_map(turn);
        let first = parts.next().unwrap_or_else(|| part(0, (0, &own[0])));
        (first, parts.collect())
    }

    /// How many prompts are answered.
    pub(crate) fn prompts(&self) -> usize {
        self.ask.batch(self.dialect).map_or(1, <[u32]>::len)
    }

    /// How many choices each prompt is answered with.
    fn choices(&self) -> u32 {
        self.ask.choices(self.dialect)
    }

    /// The counts of all choices together.
    pub(crate) fn total(&self) -> Total {
        Total { prompt_tokens: self.prompt_tokens(), tokens: self.all_tokens() }
    }

    /// How many tokens all prompts have, where they are prompts for tokens.
    pub(crate) fn all_prompt_tokens(&self) -> u32 {
        if self.dialect.generates() { self.prompt_tokens() } else { 0 }
    }

    /// How many tokens all choices have together.
    pub(crate) fn all_tokens(&self) -> u32 {
        if !self.dialect.generates() {
            return 0;
        }
        let choices = self.choices().saturating_mul(self.prompts() as u32);
        self.length().tokens.saturating_mul(choices)
    }

    /// The answer as one document.
    pub(crate) fn document(&self, vectors: &Vectors) -> String {
        let tokens = self.length().tokens;
        let document = match self.dialect {
            Dialect::Autotrust => {
                let (kind, options) = self.ask.options();
                decision::autotrust(&self.spec.model, kind, options, &self.decision_counts())
            }
            Dialect::Chat => self.chat_document(tokens),
            Dialect::Completions => self.completions_document(tokens),
            Dialect::Embeddings => return self.vectors_document("embedding", "embedding", vectors),
            Dialect::Generate => self.generated(tokens),
            Dialect::Ollama { as_messages } => {
                let (prompt, text) = (json!(self.prompt_tokens()), words::text(tokens));
                ollama_end(&self.spec.model, as_messages, &text, &prompt, &json!(tokens))
            }
            Dialect::Pooling => return self.vectors_document("pooling", "data", vectors),
            Dialect::Rerank => self.ranking(),
            Dialect::Dashscope { as_messages, .. } => {
                let (number, text) = (self.number.to_string(), words::text(tokens));
                dashscope(&number, as_messages, &text, LENGTH, &self.dashscope_counts(tokens))
            }
            Dialect::Responses => self.responses_document(tokens),
            Dialect::Systemone => {
                let asked = self.ask.question();
                decision::systemone(&self.spec.model, asked, &self.decision_counts())
            }
            Dialect::Tgi => tgi_document(&words::text(tokens), tokens),
            Dialect::Triton { .. } => triton_event(&words::text(tokens)),
        };
        document.to_string()
    }

    fn chat_document(&self, tokens: u32) -> Value {
        let message = json!({"role": "assistant", "content": words::text(tokens)});
        let choice = |index| {
            json!({
                "index": index,
                "message": message,
                "logprobs": self.logprobs(tokens),
                "finish_reason": "length",
            })
        };
        let choices: Vec<Value> = (0..self.choices()).map(choice).collect();
        self.openai("chatcmpl", "chat.completion", &choices)
    }

    fn completions_document(&self, tokens: u32) -> Value {
        let text = words::text(tokens);
        let choice = |index| {
            json!({
                "index": index,
                "text": text,
                "logprobs": self.logprobs(tokens),
                "finish_reason": "length",
            })
        };
        let choices = self.choices().saturating_mul(self.prompts() as u32);
        let choices: Vec<Value> = (0..choices).map(choice).collect();
        self.openai("cmpl", "text_completion", &choices)
    }

    /// What is told of the probabilities of the first so many tokens.
    fn logprobs(&self, tokens: u32) -> Value {
        self.ask.logprobs(self.dialect).map_or(Value::Null, |logprobs| logprobs.of(0, tokens))
    }

    fn responses_document(&self, tokens: u32) -> Value {
        let (prompt, number) = (self.prompt_tokens(), self.number.to_string());
        let part = response_part(&words::text(tokens));
        let message = response_message(&number, "completed", &[part]);
        let all = json!(prompt.saturating_add(tokens));
        let mut document =
            response(&number, &self.spec.model, self.created, "completed", &[message]);
        document["usage"] = response_counts(json!(prompt), json!(tokens), all);
        document
    }

    fn decision_counts(&self) -> Value {
        let tokens = self.ask.state_tokens();
        response_usage(json!(tokens), json!(1), json!(tokens.saturating_add(1)))
    }

    fn dashscope_counts(&self, tokens: u32) -> Value {
        let prompt = self.prompt_tokens();
        response_usage(json!(prompt), json!(tokens), json!(prompt.saturating_add(tokens)))
    }

    /// A vector for each text, under the names that a route has for it. Put together from text: as
    /// values, its numbers would cost more than all the rest.
    fn vectors_document(&self, object: &str, key: &str, vectors: &Vectors) -> String {
        let vector = vectors.find(self.vector());
        let of_text =
            |index| format!(r#"{{"object":"{object}","index":{index},"{key}":{vector}}}"#);
        let all: Vec<_> = (0..self.ask.prompt().items).map(of_text).collect();
        let (all, model) = (all.join(","), json!(self.spec.model));
        let tokens = self.prompt_tokens();
        let usage = format!(r#"{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}"#);
        format!(r#"{{"object":"list","data":[{all}],"model":{model},"usage":{usage}}}"#)
    }

    /// The vector of every text, as it was asked for.
    fn vector(&self) -> vectors::Form {
        let dimensions = self.ask.dimensions().unwrap_or(DIMENSIONS).min(MOST_TOKENS) as usize;
        vectors::Form { dimensions, is_base64: self.ask.is_base64() }
    }

    /// The documents in their order, each scored a little lower than the one before it.
    fn ranking(&self) -> Value {
        let ranked =
            |index: u32| json!({"index": index, "relevance_score": 1.0 / f64::from(index + 1)});
        let tokens = self.prompt_tokens();
        json!({
            "id": format!("rerank-{}", self.number),
            "model": self.spec.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            "results": (0..self.ask.best()).map(ranked).collect::<Vec<_>>(),
        })
    }

    /// Of several prompts it is a list.
    fn generated(&self, tokens: u32) -> Value {
        match self.ask.batch(self.dialect) {
            None => self.generated_for(self.prompt_tokens(), tokens),
            Some(prompts) => {
                prompts.iter().map(|prompt| self.generated_for(*prompt, tokens)).collect()
            }
        }
    }

    fn generated_for(&self, prompt_tokens: u32, tokens: u32) -> Value {
        json!({
            "text": words::text(tokens),
            "meta_info": {
                "id": format!("{:032x}", self.number),
                "finish_reason": {"type": "length", "length": tokens},
                "prompt_tokens": prompt_tokens,
                "completion_tokens": tokens,
                "cached_tokens": 0,
            },
        })
    }

    fn openai(&self, prefix: &str, kind: &str, choices: &[Value]) -> Value {
        let id = format!("{prefix}-{}", self.number);
        let openai = OpenAi { id, model: &self.spec.model, created: self.created };
        openai.object(kind, choices, Some(self.usage()))
    }

    fn usage(&self) -> Value {
        let (prompt, tokens) = (self.prompt_tokens(), self.all_tokens());
        count(json!(prompt), json!(tokens), json!(prompt.saturating_add(tokens)))
    }

    fn prompt_tokens(&self) -> u32 {
        self.ask.prompt().tokens
    }
}

/// How long an answer is when neither the request nor the server's own setting says so; it is the
/// OpenAI completions default.
const UNASKED_TOKENS: u32 = 16;

/// A request may ask for any number of tokens. A million is above every model's context, and an
/// answer of it is still a document of five megabytes.
const MOST_TOKENS: u32 = 1 << 20;
