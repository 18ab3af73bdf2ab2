//! What the routes answer: the shapes that SGLang and vLLM put on the wire.

use std::num::NonZeroU32;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use super::ask::{Ask, UsageEvents};
use super::script::{Length, Script};
use super::template::{Style, TEXT, TOKENS, TOTAL, Template, Text};
use super::words;
use crate::{ErrorShape, MockSpec};

/// The dialects that are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dialect {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
    /// `/v1/embeddings`
    Embeddings,
    /// SGLang's own `/generate`
    Generate,
    /// `/v1/rerank`
    Rerank,
    /// TensorRT-LLM's stream behind Triton
    Triton,
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
        if matches!(self.dialect, Dialect::Embeddings | Dialect::Rerank) {
            return Length { tokens: 1, tokens_per_piece: NonZeroU32::MIN };
        }
        let asked = self.spec.output_tokens.or(self.ask.output_tokens());
        let tokens = asked.unwrap_or(UNASKED_TOKENS).min(MOST_TOKENS);
        Length { tokens, tokens_per_piece: self.spec.tokens_per_chunk }
    }

    /// The answer as a stream; a dialect that never streams has none.
    pub(crate) fn script(&self, style: Style) -> Option<Script> {
        match self.dialect {
            _ if !self.ask.is_stream() => None,
            Dialect::Chat => Some(self.chat_script(style)),
            Dialect::Completions => Some(self.completions_script(style)),
            Dialect::Embeddings | Dialect::Rerank => None,
            Dialect::Generate => Some(self.generate_script(style)),
            Dialect::Triton => Some(self.triton_script(style)),
        }
    }

    /// The answer as one document.
    pub(crate) fn document(&self) -> String {
        let tokens = self.length().tokens;
        let document = match self.dialect {
            Dialect::Chat => self.chat_document(tokens),
            Dialect::Completions => self.completions_document(tokens),
            Dialect::Embeddings => self.embeddings_document(),
            Dialect::Generate => self.generated(
                &words::text(tokens),
                &json!(tokens),
                &json!({"type": "length", "length": tokens}),
            ),
            Dialect::Rerank => self.ranking(),
            Dialect::Triton => triton_event(&words::text(tokens)),
        };
        document.to_string()
    }

    fn chat_script(&self, style: Style) -> Script {
        let length = self.length();
        let role = json!({"role": "assistant", "content": ""});
        let opening = self.chat_event(&role, None, self.usage_in_event(json!(0)));
        let piece =
            self.chat_event(&json!({"content": TEXT}), None, self.usage_in_event(json!(TOKENS)));
        let finish =
            self.chat_event(&json!({}), Some("length"), self.usage_in_event(json!(length.tokens)));
        Script {
            opening: style.event(&opening.to_string()),
            piece: self.template(style, &piece, Text::Delta),
            last_piece: None,
            closing: style.event(&finish.to_string())
                + &self.usage_event(style, "chat.completion.chunk"),
            end_mark: true,
            length,
        }
    }

    fn chat_event(&self, delta: &Value, finish: Option<&str>, usage: Option<Value>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        self.openai("chat.completion.chunk", &[choice], usage)
    }

    fn completions_script(&self, style: Style) -> Script {
        let piece = |finish| {
            let event = self.completions_event(finish);
            self.template(style, &event, Text::Delta)
        };
        Script {
            opening: String::new(),
            piece: piece(None),
            last_piece: Some(piece(Some("length"))),
            closing: self.usage_event(style, "text_completion"),
            end_mark: true,
            length: self.length(),
        }
    }

    fn completions_event(&self, finish: Option<&str>) -> Value {
        let choice = json!({"index": 0, "text": TEXT, "logprobs": null, "finish_reason": finish});
        self.openai("text_completion", &[choice], self.usage_in_event(json!(TOKENS)))
    }

    fn generate_script(&self, style: Style) -> Script {
        let length = self.length();
        let piece = |finish: &Value| {
            let event = self.generated(TEXT, &json!(TOKENS), finish);
            self.template(style, &event, Text::Cumulative)
        };
        Script {
            opening: String::new(),
            piece: piece(&Value::Null),
            last_piece: Some(piece(&json!({"type": "length", "length": length.tokens}))),
            closing: String::new(),
            end_mark: true,
            length,
        }
    }

    fn template(&self, style: Style, json: &Value, text: Text) -> Template {
        Template::new(style, json, text, self.prompt_tokens())
    }

    fn chat_document(&self, tokens: u32) -> Value {
        let message = json!({"role": "assistant", "content": words::text(tokens)});
        let choice =
            json!({"index": 0, "message": message, "logprobs": null, "finish_reason": "length"});
        self.openai("chat.completion", &[choice], Some(self.whole_usage()))
    }

    fn completions_document(&self, tokens: u32) -> Value {
        let text = words::text(tokens);
        let choice = json!({"index": 0, "text": text, "logprobs": null, "finish_reason": "length"});
        self.openai("text_completion", &[choice], Some(self.whole_usage()))
    }

    /// Every event has all the text so far, and nothing marks the end.
    fn triton_script(&self, style: Style) -> Script {
        Script {
            opening: String::new(),
            piece: self.template(style, &triton_event(TEXT), Text::Cumulative),
            last_piece: None,
            closing: String::new(),
            end_mark: false,
            length: self.length(),
        }
    }

    fn embeddings_document(&self) -> Value {
        let vector = self.vector();
        let embedding = |index| json!({"object": "embedding", "index": index, "embedding": vector});
        let tokens = self.prompt_tokens();
        json!({
            "object": "list",
            "data": (0..self.ask.prompt().items).map(embedding).collect::<Vec<_>>(),
            "model": self.spec.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        })
    }

    /// The vector of every text, written as it was asked for.
    fn vector(&self) -> Value {
        let dimensions = self.ask.dimensions().unwrap_or(EMBEDDING.len() as u32);
        let numbers = EMBEDDING.into_iter().cycle().take(dimensions.min(MOST_TOKENS) as usize);
        if self.ask.is_base64() {
            let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
            return BASE64_STANDARD.encode(bytes).into();
        }
        numbers.map(Value::from).collect()
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

    fn generated(&self, text: &str, tokens: &Value, finish: &Value) -> Value {
        json!({
            "text": text,
            "meta_info": {
                "id": format!("{:032x}", self.number),
                "finish_reason": finish,
                "prompt_tokens": self.prompt_tokens(),
                "completion_tokens": tokens,
                "cached_tokens": 0,
            },
        })
    }

    fn openai(&self, object: &str, choices: &[Value], usage: Option<Value>) -> Value {
        let mut answer = json!({
            "id": format!("{}-{}", self.id_prefix(), self.number),
            "object": object,
            "created": self.created,
            "model": self.spec.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            answer["usage"] = usage;
        }
        answer
    }

    fn id_prefix(&self) -> &'static str {
        if self.dialect == Dialect::Chat { "chatcmpl" } else { "cmpl" }
    }

    /// The counts inside every event, if they were asked for. A gap for the tokens makes one for
    /// the total.
    fn usage_in_event(&self, tokens: Value) -> Option<Value> {
        let total = match tokens.as_u64() {
            Some(tokens) => json!(u64::from(self.prompt_tokens()) + tokens),
            None => json!(TOTAL),
        };
        (self.ask.usage() == UsageEvents::Continuous).then(|| self.usage(tokens, total))
    }

    /// The event after all others that holds only the counts, if it was asked for.
    fn usage_event(&self, style: Style, object: &str) -> String {
        if self.ask.usage() == UsageEvents::None {
            return String::new();
        }
        style.event(&self.openai(object, &[], Some(self.whole_usage())).to_string())
    }

    fn whole_usage(&self) -> Value {
        let tokens = self.length().tokens;
        self.usage(json!(tokens), json!(self.prompt_tokens().saturating_add(tokens)))
    }

    fn usage(&self, tokens: Value, total: Value) -> Value {
        let prompt = json!(self.prompt_tokens());
        let counts =
            [("prompt_tokens", prompt), ("completion_tokens", tokens), ("total_tokens", total)];
        counts.into_iter().collect()
    }

    fn prompt_tokens(&self) -> u32 {
        self.ask.prompt().tokens
    }
}

fn triton_event(text: &str) -> Value {
    json!({
        "model_name": "ensemble",
        "model_version": "1",
        "sequence_end": false,
        "sequence_id": 0,
        "sequence_start": false,
        "text_output": text,
    })
}

/// The error object that servers send, in the shape asked for.
pub(super) fn error_json(shape: ErrorShape, code: u16, message: &str) -> Value {
    let flat = json!({
        "object": "error",
        "message": message,
        "type": if code < 500 { "BadRequestError" } else { "InternalServerError" },
        "param": null,
        "code": code,
    });
    match shape {
        ErrorShape::Flat => flat,
        ErrorShape::Object => json!({"error": flat}),
        ErrorShape::String => json!({"error": message}),
    }
}

/// The body of a status that is not 200.
pub(crate) fn error_document(code: u16, message: &str) -> String {
    error_json(ErrorShape::Object, code, message).to_string()
}

/// How long an answer is when neither the request nor the server's own setting says so; it is the
/// OpenAI completions default.
const UNASKED_TOKENS: u32 = 16;

/// A request may ask for any number of tokens. A million is above every model's context, and an
/// answer of it is still a document of five megabytes.
const MOST_TOKENS: u32 = 1 << 20;

const EMBEDDING: [f32; 8] = [0.5, -0.25, 0.125, -0.5, 0.25, -0.125, 0.375, -0.375];
