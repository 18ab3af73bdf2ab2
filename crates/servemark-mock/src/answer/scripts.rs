//! The streams of all routes, in the shapes that servers send.
//!
//! Each form of stream is built once and then filled in for every request: building one takes
//! longer than the rest of a request for one token.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::ask::{Logprobs, UsageEvents};
use super::script::{Body, Script};
use super::shapes::{
    LENGTH, MAX_TOKENS, OpenAi, anthropic_block, anthropic_counts, anthropic_message, count,
    dashscope, ollama, ollama_end, response, response_counts, response_item, response_message,
    response_part, response_usage, tgi_details, triton_event, with_cached,
};
use super::template::{
    ALL_TEXT, CACHED, HEX_NUMBER, INDEX, LOGPROBS, NUMBER, PROMPT, SEQUENCE, Style, TEXT, TIMES,
    TOKENS, TOTAL, Template,
};
use super::{Dialect, TimesWords};

/// A cache of the scripts used so far.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    written: Mutex<Vec<(Form, Arc<Script>)>>,
}

/// The properties that distinguish scripts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Form {
    pub(super) dialect: Dialect,
    pub(super) usage: UsageEvents,
    pub(super) style: Style,
    /// Whether there are several choices or prompts, so that each event carries an index.
    pub(super) is_several: bool,
    /// Which log probabilities each event reports.
    pub(super) logprobs: Option<Logprobs>,
    /// The engine in whose words the server's times are reported; `None` if they are not reported.
    pub(super) times: Option<TimesWords>,
    /// How the stream reports cached prompt tokens.
    pub(super) cached: CachedTokens,
}

/// How an answer reports prompt tokens from a prefix cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CachedTokens {
    /// Answers report the number of tokens that the cache held.
    Counted,
    /// There is a cache, and answers do not report how many tokens it held.
    Hidden,
    /// There is no cache. Answers report nothing, or zero on a route that always has the count.
    NoCache,
}

impl Scripts {
    /// Returns the script of this form, or `None` for a dialect that cannot stream.
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
            Dialect::Anthropic => Some(self.anthropic(model)),
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
            Dialect::Transcription => Some(self.transcription(&openai("trsc"))),
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
            openai.object(kind, &[choice], self.usage_in_event())
        };
        let role = event(json!({"role": "assistant", "content": ""}), Value::Null, None);
        let piece = event(json!({"content": TEXT}), self.logprobs_in_event(), None);
        let ending = self.with_timings(event(json!({}), Value::Null, Some("length")));
        Script {
            opening: Template::new(&self.style.json(&role)),
            piece: Template::new(&self.style.json(&piece)).with(self.logprobs),
            last_piece: None,
            ending: self.timed(&self.style.json(&ending)),
            closing: self.timed(&self.usage_event(openai, kind)),
            end_mark: true,
            body: Body::Events,
            numbered_before: 0,
        }
    }

    /// Builds the stream of Anthropic's API. Every event has an `event:` line with its type; the
    /// prompt is counted in the first event, the output in the last but one.
    fn anthropic(self, model: &str) -> Script {
        let event = |kind: &str, of: &[(&str, Value)]| {
            let mut event = json!({"type": kind});
            for (key, value) in of {
                event[*key] = value.clone();
            }
            self.style.named_event(kind, &event)
        };
        let index = ("index", json!(0));
        let counts = anthropic_counts(&json!(PROMPT), &json!(0));
        let message = anthropic_message(NUMBER, model, &[], &counts);
        let block = ("content_block", anthropic_block(""));
        let opening = [
            event("message_start", &[("message", message)]),
            event("content_block_start", &[index.clone(), block]),
            event("ping", &[]),
        ];
        let delta = ("delta", json!({"type": "text_delta", "text": TEXT}));
        let end = ("delta", json!({"stop_reason": MAX_TOKENS, "stop_sequence": null}));
        let ending = [
            event("content_block_stop", std::slice::from_ref(&index)),
            event("message_delta", &[end, ("usage", json!({"output_tokens": TOKENS}))]),
            event("message_stop", &[]),
        ];
        Script {
            opening: Template::new(&opening.concat()),
            piece: Template::new(&event("content_block_delta", &[index, delta])),
            last_piece: None,
            ending: Template::new(&ending.concat()),
            closing: Template::new(""),
            end_mark: false,
            body: Body::Events,
            numbered_before: 0,
        }
    }

    fn transcription(self, openai: &OpenAi<'_>) -> Script {
        let kind = "transcription.chunk";
        let event = |delta: Value, finish: Option<&str>| {
            let choice = json!({"delta": delta, "finish_reason": finish});
            self.style.json(&openai.object(kind, &[choice], self.usage_in_event()))
        };
        Script {
            opening: Template::new(""),
            piece: Template::new(&event(json!({"content": TEXT}), None)),
            last_piece: Some(Template::new(&event(json!({"content": TEXT}), Some("length")))),
            ending: Template::new(""),
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
            let event = if finish.is_some() { self.with_timings(event) } else { event };
            self.timed(&self.style.json(&event)).with(self.logprobs)
        };
        Script {
            opening: Template::new(""),
            piece: piece(None),
            last_piece: Some(piece(Some("length"))),
            ending: Template::new(""),
            closing: self.timed(&self.usage_event(openai, kind)),
            end_mark: true,
            body: Body::Events,
            numbered_before: 0,
        }
    }

    fn generate(self) -> Script {
        let piece = |finish: Value| {
            let mut meta = json!({
                "id": HEX_NUMBER,
                "finish_reason": finish,
                "prompt_tokens": PROMPT,
                "completion_tokens": TOKENS,
            });
            match self.cached {
                CachedTokens::Counted => meta["cached_tokens"] = json!(CACHED),
                CachedTokens::NoCache => meta["cached_tokens"] = json!(0),
                CachedTokens::Hidden => {}
            }
            if self.times.is_some() && !meta["finish_reason"].is_null() {
                meta[TIMES] = Value::Null;
            }
            let mut event = json!({"text": ALL_TEXT, "meta_info": meta});
            if self.is_several {
                event["index"] = json!(INDEX);
            }
            self.timed(&self.style.json(&event))
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

    /// Builds the stream of `/v1/responses`. Every event has an `event:` line with its type and a
    /// sequence number. The message and its text part are announced before the first piece and
    /// repeated whole after the last.
    fn responses(self, model: &str, created: u64) -> Script {
        let event = |kind: &str, of: &[(&str, Value)]| {
            let mut event = json!({"type": kind, "sequence_number": SEQUENCE});
            for (key, value) in of {
                event[*key] = value.clone();
            }
            self.style.named_event(kind, &event)
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

    /// Builds a stream of `DashScope`: every event is named `result` and has counts, and the last
    /// one has the finish reason.
    fn dashscope(self, as_messages: bool, in_pieces: bool) -> Script {
        let text = if in_pieces { TEXT } else { ALL_TEXT };
        let piece = |reason: &str| {
            let counts = response_usage(json!(PROMPT), json!(TOKENS), json!(TOTAL));
            let event = dashscope(NUMBER, as_messages, text, reason, &counts);
            Template::new(&self.style.named_event("result", &event))
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

    /// Builds a stream of Ollama: a line for each piece, and a final line with the finish reason
    /// and the counts.
    fn ollama(self, as_messages: bool, model: &str) -> Script {
        let mut end = ollama_end(model, as_messages, "", &json!(PROMPT), &json!(TOKENS));
        if self.times.is_some() {
            end[TIMES] = Value::Null;
        }
        Script {
            opening: Template::new(""),
            piece: Template::new(&self.style.line(&ollama(model, as_messages, TEXT))),
            last_piece: None,
            ending: Template::new(""),
            closing: self.timed(&self.style.line(&end)),
            end_mark: false,
            body: Body::Lines,
            numbered_before: 0,
        }
    }

    /// Builds a stream of text-generation-inference: every event has a token, and the last one has
    /// the whole text as well.
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

    /// Builds a stream of Triton's generate extension, which has no end mark.
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

    /// The `index` of an event: a gap if there are several choices or prompts, else zero.
    fn index(self) -> Value {
        if self.is_several { json!(INDEX) } else { json!(0) }
    }

    /// The `logprobs` of an event: a gap if they are requested, else null.
    fn logprobs_in_event(self) -> Value {
        self.logprobs.map_or(Value::Null, |_| json!(LOGPROBS))
    }

    /// The counts in every event, if they are requested.
    fn usage_in_event(self) -> Option<Value> {
        (self.usage == UsageEvents::Continuous).then(|| self.counts())
    }

    /// The final event that holds only the counts; empty unless requested.
    fn usage_event(self, openai: &OpenAi<'_>, kind: &str) -> String {
        if self.usage == UsageEvents::None {
            return String::new();
        }
        let mut event = openai.object(kind, &[], Some(self.counts()));
        if self.times == Some(TimesWords::Vllm) {
            event["metrics"] = json!({TIMES: null});
        }
        self.style.json(&event)
    }

    /// The token counts, with those from the prefix cache if they are reported.
    fn counts(self) -> Value {
        let counts = count(json!(PROMPT), json!(TOKENS), json!(TOTAL));
        match self.cached {
            CachedTokens::Counted => with_cached(counts, &json!(CACHED)),
            CachedTokens::Hidden | CachedTokens::NoCache => counts,
        }
    }

    /// Adds llama.cpp's times to the event with the finish reason.
    fn with_timings(self, mut event: Value) -> Value {
        if self.times == Some(TimesWords::LlamaCpp) {
            event["timings"] = json!({TIMES: null});
        }
        event
    }

    /// Returns events that may report the server's times.
    fn timed(self, events: &str) -> Template {
        Template::new(events).with_times(self.times)
    }
}
