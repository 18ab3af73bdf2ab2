//! The streams that the routes answer with, in the shapes that servers put on the wire.
//!
//! Each is written once and then filled in for every request: writing one takes longer than a
//! request of one token otherwise costs.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::Dialect;
use super::ask::UsageEvents;
use super::script::{Body, Script};
use super::shapes::{
    LENGTH, OpenAi, count, dashscope, ollama, ollama_end, response, response_usage, tgi_details,
    triton_event,
};
use super::template::{
    ALL_TEXT, HEX_NUMBER, INDEX, NUMBER, PROMPT, Style, TEXT, TOKENS, TOTAL, Template,
};

/// The scripts that were needed so far.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    written: Mutex<Vec<(Form, Arc<Script>)>>,
}

/// What scripts differ in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Form {
    pub(super) dialect: Dialect,
    pub(super) usage: UsageEvents,
    pub(super) style: Style,
    /// Whether several prompts are answered, so that each event says whose it is.
    pub(super) is_batch: bool,
}

impl Scripts {
    /// The script of this form; a dialect that never streams has none.
    pub(super) fn find(&self, form: Form, model: &str, created: u64) -> Option<Arc<Script>> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, script)) = written.iter().find(|(known, _)| *known == form) {
            return Some(Arc::clone(script));
        }
        let script = Arc::new(form.script(model, created)?);
        written.push((form, Arc::clone(&script)));
        Some(script)
    }
}

impl Form {
    fn script(self, model: &str, created: u64) -> Option<Script> {
        let openai = |prefix: &str| OpenAi { id: format!("{prefix}-{NUMBER}"), model, created };
        match self.dialect {
            Dialect::Chat => Some(self.chat(&openai("chatcmpl"))),
            Dialect::Completions => Some(self.completions(&openai("cmpl"))),
            Dialect::Autotrust
            | Dialect::Embeddings
            | Dialect::Pooling
            | Dialect::Rerank
            | Dialect::Systemone => None,
            Dialect::Generate => Some(self.generate()),
            Dialect::Dashscope { as_messages, in_pieces } => {
                Some(self.dashscope(as_messages, in_pieces))
            }
            Dialect::Ollama { as_messages } => Some(self.ollama(as_messages, model)),
            Dialect::Responses => Some(self.responses(model)),
            Dialect::Tgi => Some(self.tgi()),
            Dialect::Triton { accumulates } => Some(self.triton(accumulates)),
        }
    }

    fn chat(self, openai: &OpenAi<'_>) -> Script {
        let kind = "chat.completion.chunk";
        let event = |delta: Value, finish: Option<&str>| {
            let choice =
                json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
            self.style.json(&openai.object(kind, &[choice], self.usage_in_event()))
        };
        let finish = event(json!({}), Some("length")) + &self.usage_event(openai, kind);
        Script {
            opening: Template::new(&event(json!({"role": "assistant", "content": ""}), None)),
            piece: Template::new(&event(json!({"content": TEXT}), None)),
            last_piece: None,
            closing: Template::new(&finish),
            end_mark: true,
            body: Body::Events,
        }
    }

    fn completions(self, openai: &OpenAi<'_>) -> Script {
        let kind = "text_completion";
        let piece = |finish: Option<&str>| {
            let index = if self.is_batch { json!(INDEX) } else { json!(0) };
            let choice =
                json!({"index": index, "text": TEXT, "logprobs": null, "finish_reason": finish});
            Template::new(&self.style.json(&openai.object(kind, &[choice], self.usage_in_event())))
        };
        Script {
            opening: Template::new(""),
            piece: piece(None),
            last_piece: Some(piece(Some("length"))),
            closing: Template::new(&self.usage_event(openai, kind)),
            end_mark: true,
            body: Body::Events,
        }
    }

    fn generate(self) -> Script {
        let piece = |finish: Value| {
            let meta = json!({
                "id": HEX_NUMBER,
                "finish_reason": finish,
                "prompt_tokens": PROMPT,
                "completion_tokens": TOKENS,
                "cached_tokens": 0,
            });
            let mut event = json!({"text": ALL_TEXT, "meta_info": meta});
            if self.is_batch {
                event["index"] = json!(INDEX);
            }
            Template::new(&self.style.json(&event))
        };
        Script {
            opening: Template::new(""),
            piece: piece(Value::Null),
            last_piece: Some(piece(json!({"type": "length", "length": TOKENS}))),
            closing: Template::new(""),
            end_mark: true,
            body: Body::Events,
        }
    }

    /// Every event says by a line of its own what it is, and the last one that it is over.
    fn responses(self, model: &str) -> Script {
        let event = |kind: &str, of: (&str, Value)| {
            let mut event = json!({"type": kind});
            event[of.0] = of.1;
            self.style.named(kind, &event)
        };
        let whole = |status: &str| response(NUMBER, model, status);
        let mut completed = whole("completed");
        completed["usage"] = response_usage(json!(PROMPT), json!(TOKENS), json!(TOTAL));
        Script {
            opening: Template::new(&event("response.created", ("response", whole("in_progress")))),
            piece: Template::new(&event("response.output_text.delta", ("delta", json!(TEXT)))),
            last_piece: None,
            closing: Template::new(&event("response.completed", ("response", completed))),
            end_mark: false,
            body: Body::Events,
        }
    }

    /// Every event says what it is and has counts, and the last one why it is the last.
    fn dashscope(self, as_messages: bool, in_pieces: bool) -> Script {
        let text = if in_pieces { TEXT } else { ALL_TEXT };
        let piece = |reason: &str| {
            let counts = response_usage(json!(PROMPT), json!(TOKENS), json!(TOTAL));
            let event = dashscope(NUMBER, as_messages, text, reason, &counts);
            Template::new(&self.style.named("result", &event))
        };
        Script {
            opening: Template::new(""),
            piece: piece("null"),
            last_piece: Some(piece(LENGTH)),
            closing: Template::new(""),
            end_mark: false,
            body: Body::Events,
        }
    }

    /// Every line has a piece, and one more after them why it was the last, with the counts.
    fn ollama(self, as_messages: bool, model: &str) -> Script {
        let end = ollama_end(model, as_messages, "", &json!(PROMPT), &json!(TOKENS));
        Script {
            opening: Template::new(""),
            piece: Template::new(&self.style.line(&ollama(model, as_messages, TEXT))),
            last_piece: None,
            closing: Template::new(&self.style.line(&end)),
            end_mark: false,
            body: Body::Lines,
        }
    }

    /// Every event has a token, and the last one the whole text besides.
    fn tgi(self) -> Script {
        let piece = |text: Value, details: Value| {
            let token = json!({"id": 0, "text": TEXT, "logprob": -0.5, "special": false});
            let event = json!({
                "index": TOKENS,
                "token": token,
                "generated_text": text,
                "details": details,
            });
            Template::new(&self.style.json(&event))
        };
        Script {
            opening: Template::new(""),
            piece: piece(Value::Null, Value::Null),
            last_piece: Some(piece(json!(ALL_TEXT), tgi_details(json!(TOKENS)))),
            closing: Template::new(""),
            end_mark: false,
            body: Body::Events,
        }
    }

    /// Nothing marks the end.
    fn triton(self, accumulates: bool) -> Script {
        let text = if accumulates { ALL_TEXT } else { TEXT };
        Script {
            opening: Template::new(""),
            piece: Template::new(&self.style.json(&triton_event(text))),
            last_piece: None,
            closing: Template::new(""),
            end_mark: false,
            body: Body::Events,
        }
    }

    /// The counts inside every event, if they were asked for.
    fn usage_in_event(self) -> Option<Value> {
        (self.usage == UsageEvents::Continuous).then(usage)
    }

    /// The event after all others that holds only the counts, if it was asked for.
    fn usage_event(self, openai: &OpenAi<'_>, kind: &str) -> String {
        if self.usage == UsageEvents::None {
            return String::new();
        }
        self.style.json(&openai.object(kind, &[], Some(usage())))
    }
}

fn usage() -> Value {
    count(json!(PROMPT), json!(TOKENS), json!(TOTAL))
}
