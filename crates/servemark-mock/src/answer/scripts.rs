//! The streams that the routes answer with, in the shapes that SGLang and vLLM put on the wire.
//!
//! Each is written once and then filled in for every request: writing one takes longer than a
//! request of one token otherwise costs.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::Dialect;
use super::ask::UsageEvents;
use super::dialect::{OpenAi, count, response, response_usage, triton_event};
use super::script::Script;
use super::template::{HEX_NUMBER, NUMBER, PROMPT, Style, TEXT, TOKENS, TOTAL, Template, Text};

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
            Dialect::Embeddings | Dialect::Pooling | Dialect::Rerank => None,
            Dialect::Generate => Some(self.generate()),
            Dialect::Responses => Some(self.responses(model)),
            Dialect::Triton => Some(self.triton()),
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
            opening: delta(&event(json!({"role": "assistant", "content": ""}), None)),
            piece: delta(&event(json!({"content": TEXT}), None)),
            last_piece: None,
            closing: delta(&finish),
            end_mark: true,
        }
    }

    fn completions(self, openai: &OpenAi<'_>) -> Script {
        let kind = "text_completion";
        let piece = |finish: Option<&str>| {
            let choice =
                json!({"index": 0, "text": TEXT, "logprobs": null, "finish_reason": finish});
            delta(&self.style.json(&openai.object(kind, &[choice], self.usage_in_event())))
        };
        Script {
            opening: delta(""),
            piece: piece(None),
            last_piece: Some(piece(Some("length"))),
            closing: delta(&self.usage_event(openai, kind)),
            end_mark: true,
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
            cumulative(&self.style.json(&json!({"text": TEXT, "meta_info": meta})))
        };
        Script {
            opening: cumulative(""),
            piece: piece(Value::Null),
            last_piece: Some(piece(json!({"type": "length", "length": TOKENS}))),
            closing: cumulative(""),
            end_mark: true,
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
            opening: delta(&event("response.created", ("response", whole("in_progress")))),
            piece: delta(&event("response.output_text.delta", ("delta", json!(TEXT)))),
            last_piece: None,
            closing: delta(&event("response.completed", ("response", completed))),
            end_mark: false,
        }
    }

    /// Every event has all the text so far, and nothing marks the end.
    fn triton(self) -> Script {
        Script {
            opening: cumulative(""),
            piece: cumulative(&self.style.json(&triton_event(TEXT))),
            last_piece: None,
            closing: cumulative(""),
            end_mark: false,
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

fn delta(events: &str) -> Template {
    Template::new(events, Text::Delta)
}

fn cumulative(events: &str) -> Template {
    Template::new(events, Text::Cumulative)
}
