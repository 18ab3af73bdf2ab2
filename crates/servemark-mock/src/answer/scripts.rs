//! The streams that the routes answer with, in the shapes that servers put on the wire.
//!
//! Each is written once and then filled in for every request: writing one takes longer than a
//! request of one token otherwise costs.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::Dialect;
use super::ask::{Logprobs, UsageEvents};
use super::script::{Body, Script};
use super::shapes::{
    LENGTH, OpenAi, count, dashscope, ollama, ollama_end, response, response_counts, response_item,
    response_message, response_part, response_usage, tgi_details, triton_event,
};
use super::template::{
    ALL_TEXT, HEX_NUMBER, INDEX, LOGPROBS, NUMBER, PROMPT, SEQUENCE, Style, TEXT, TOKENS, TOTAL,
    Template,
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
    /// Whether there are several choices or prompts, so that each event says whose it is.
    pub(super) is_several: bool,
    /// What is told of the probability of each token.
    pub(super) logprobs: Option<Logprobs>,
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
            Dialect::Responses => Some(self.responses(model, created)),
            Dialect::Tgi => Some(self.tgi()),
            Dialect::Triton { accumulates } => Some(self.triton(accumulates)),
        }
    }

    fn chat(self, openai: &OpenAi<'_>) -> Script {
        let kind = "chat.completion.chunk";
        let index = self.index();
        let event = |delta: Value, logprobs: Value, finish: Option<&str>| {
            let choice = json!({
                "index": index,
                "delta": delta,
                "logprobs": logprobs,
                "finish_reason": finish,
            });
            self.style.json(&openai.object(kind, &[choice], self.usage_in_event()))
        };
        let role = json!({"role": "assistant", "content": ""});
        let piece = event(json!({"content": TEXT}), self.logprobs_in_event(), None);
        Script {
            opening: Template::new(&event(role, Value::Null, None)),
            piece: Template::new(&piece).with(self.logprobs),
            last_piece: None,
            ending: Template::new(&event(json!({}), Value::Null, Some("length"))),
            closing: Template::new(&self.usage_event(openai, kind)),
            end_mark: true,
            body: Body::Events,
            numbered_before: 0,
        }
    }

    fn completions(self, openai: &OpenAi<'_>) -> Script {
        let kind = "text_completion";
        let piece = |finish: Option<&str>| {
            let choice = json!({
                "index": self.index(),
                "text": TEXT,
                "logprobs": self.logprobs_in_event(),
                "finish_reason": finish,
            });
            let event = openai.object(kind, &[choice], self.usage_in_event());
            Template::new(&self.style.json(&event)).with(self.logprobs)
        };
        Script {
            opening: Template::new(""),
            piece: piece(None),
            last_piece: Some(piece(Some("length"))),
            ending: Template::new(""),
            closing: Template::new(&self.usage_event(openai, kind)),
            end_mark: true,
            body: Body::Events,
            numbered_before: 0,
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
            if self.is_several {
                event["index"] = json!(INDEX);
            }
            Template::new(&self.style.json(&event))
        };
        Script {
            opening: Template::new(""),
            piece: piece(Value::Null),
            last_piece: Some(piece(json!({"type": "length", "length": TOKENS}))),
            ending: Template::new(""),
            closing: Template::new(""),
            end_mark: true,
            body: Body::Events,
            numbered_before: 0,
        }
    }

    /// Every event says by a line of its own what it is, and by a number which it is. The message
    /// and its text are announced before the first piece, and told whole after the last.
    fn responses(self, model: &str, created: u64) -> Script {
        let event = |kind: &str, of: &[(&str, Value)]| {
            let mut event = json!({"type": kind, "sequence_number": SEQUENCE});
            for (key, value) in of {
                event[*key] = value.clone();
            }
            self.style.named(kind, &event)
        };
        let whole = |status: &str, output: &[Value]| {
            ("response", response(NUMBER, model, created, status, output))
        };
        let item =
            |status: &str, content: &[Value]| ("item", response_message(NUMBER, status, content));
        let (output, text) = (("output_index", json!(0)), ("content_index", json!(0)));
        let name = ("item_id", json!(response_item(NUMBER)));
        let of_text = |of: &[(&'static str, Value)]| {
            [&[name.clone(), output.clone(), text.clone()], of].concat()
        };
        let part = response_part(ALL_TEXT);
        let mut completed = whole("completed", &[item("completed", std::slice::from_ref(&part)).1]);
        completed.1["usage"] = response_counts(json!(PROMPT), json!(TOKENS), json!(TOTAL));
        let opening = [
            event("response.created", &[whole("in_progress", &[])]),
            event("response.in_progress", &[whole("in_progress", &[])]),
            event("response.output_item.added", &[output.clone(), item("in_progress", &[])]),
            event("response.content_part.added", &of_text(&[("part", response_part(""))])),
        ];
        let delta = of_text(&[("delta", json!(TEXT)), ("logprobs", json!([]))]);
        let done = of_text(&[("text", json!(ALL_TEXT)), ("logprobs", json!([]))]);
        let ending = [
            event("response.output_text.done", &done),
            event("response.content_part.done", &of_text(&[("part", part.clone())])),
            event("response.output_item.done", &[output.clone(), item("completed", &[part])]),
            event("response.completed", &[completed]),
        ];
        Script {
            numbered_before: opening.len() as u32,
            opening: Template::new(&opening.concat()),
            piece: Template::new(&event("response.output_text.delta", &delta)),
            last_piece: None,
            ending: Template::new(&ending.concat()),
            closing: Template::new(""),
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
            ending: Template::new(""),
            closing: Template::new(""),
            end_mark: false,
            body: Body::Events,
            numbered_before: 0,
        }
    }

    /// Every line has a piece, and one more after them why it was the last, with the counts.
    fn ollama(self, as_messages: bool, model: &str) -> Script {
        let end = ollama_end(model, as_messages, "", &json!(PROMPT), &json!(TOKENS));
        Script {
            opening: Template::new(""),
            piece: Template::new(&self.style.line(&ollama(model, as_messages, TEXT))),
            last_piece: None,
            ending: Template::new(""),
            closing: Template::new(&self.style.line(&end)),
            end_mark: false,
            body: Body::Lines,
            numbered_before: 0,
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
            ending: Template::new(""),
            closing: Template::new(""),
            end_mark: false,
            body: Body::Events,
            numbered_before: 0,
        }
    }

    /// Nothing marks the end.
    fn triton(self, accumulates: bool) -> Script {
        let text = if accumulates { ALL_TEXT } else { TEXT };
        Script {
            opening: Template::new(""),
            piece: Template::new(&self.style.json(&triton_event(text))),
            last_piece: None,
            ending: Template::new(""),
            closing: Template::new(""),
            end_mark: false,
            body: Body::Events,
            numbered_before: 0,
        }
    }

    /// Where an event says whose it is; of one choice that is known.
    fn index(self) -> Value {
        if self.is_several { json!(INDEX) } else { json!(0) }
    }

    /// Where an event tells the probabilities of its tokens, if they were asked for.
    fn logprobs_in_event(self) -> Value {
        self.logprobs.map_or(Value::Null, |_| json!(LOGPROBS))
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
