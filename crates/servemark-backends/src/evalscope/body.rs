//! Bodies of requests for tokens.

use serde_json::{Value, json};
use servemark_core::{JsonObject, Prompt, RequestError, Sample};

use super::{EvalscopeSpec, value_of};
use crate::payload::cannot_say;

/// A body under construction.
pub(super) struct Filling {
    body: JsonObject,
    /// Whether existing keys are kept rather than replaced.
    keeps: bool,
}

impl Filling {
    /// Returns a body whose existing keys are replaced in place.
    pub(super) fn replacing(body: JsonObject) -> Self {
        Self { body, keeps: false }
    }

    /// Returns the body of a whole request, to which only missing keys are added.
    fn keeping(body: JsonObject) -> Self {
        Self { body, keeps: true }
    }

    /// Adds or replaces a key.
    pub(super) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        if !(self.keeps && self.body.contains_key(key)) {
            self.body.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Adds or replaces a key if there is a value for it.
    pub(super) fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Sets the key `model` to the adapter of the sample, or to the model if it has none; an empty
    /// name is left out.
    pub(super) fn with_model(self, spec: &EvalscopeSpec, sample: &Sample) -> Self {
        let name = sample.adapter.as_deref().unwrap_or(&spec.common.model);
        self.with_some("model", (!name.is_empty()).then_some(name))
    }

    /// Asks a stream for its counts. Without a stream, removes such options, because servers refuse
    /// them.
    fn with_stream_options(mut self) -> Self {
        if self.body.get("stream") == Some(&Value::Bool(true)) {
            return self.with("stream_options", json!({"include_usage": true}));
        }
        self.body.shift_remove("stream_options");
        self
    }

    /// Returns the body.
    pub(super) fn finish(self) -> JsonObject {
        self.body
    }

    /// Adds the run's additional keys and returns the body.
    pub(super) fn with_extra(self, spec: &EvalscopeSpec) -> JsonObject {
        let ignoring = spec.common.ignore_eos.then_some(true);
        let filled = self.with_some("ignore_eos", ignoring);
        let extra = spec.common.extra_body.iter();
        extra.fold(filled, |filled, (key, value)| filled.with(key, value.clone())).finish()
    }
}

/// Returns a body for chat or text completions.
pub(super) fn openai(spec: &EvalscopeSpec, sample: &Sample) -> Result<JsonObject, RequestError> {
    let filling = match (&sample.prompt, &spec.query_template) {
        (Prompt::TokenIds(ids), _) => Filling::replacing(only("prompt", json!(ids))),
        (_, Some(template)) => {
            Filling::replacing(template.clone()).with("messages", value_of(sample, spec.path())?)
        }
        (Prompt::Body(body), None) => Filling::keeping(body.clone()),
        (prompt, None) => {
            let key = if prompt.text().is_some() { "prompt" } else { "messages" };
            Filling::replacing(only(key, value_of(sample, spec.path())?))
        }
    };
    let sampling = &spec.sampling;
    Ok(filling
        .with_model(spec, sample)
        .with("max_tokens", sample.output_tokens)
        .with_some("min_tokens", sampling.min_tokens)
        .with_some("frequency_penalty", sampling.frequency_penalty)
        .with_some("repetition_penalty", sampling.repetition_penalty)
        .with_some("logprobs", sampling.logprobs)
        .with_some("n", sampling.choices)
        .with_some("seed", sampling.seed)
        .with_some("stop", sampling.stop.clone())
        .with("stream", spec.common.stream)
        .with_stream_options()
        .with_some("stop_token_ids", sampling.stop_token_ids.clone())
        .with("temperature", sampling.temperature)
        .with_some("top_p", sampling.top_p)
        .with_some("top_k", sampling.top_k)
        .with_extra(spec))
}

/// Returns a body for the responses API. It supports fewer parameters, and they also replace those
/// of a whole request.
pub(super) fn responses(spec: &EvalscopeSpec, sample: &Sample) -> Result<JsonObject, RequestError> {
    let filling = match (&sample.prompt, &spec.query_template) {
        (prompt @ Prompt::TokenIds(_), _) => return Err(cannot_say(prompt, spec.path())),
        (_, Some(template)) => {
            let input = as_input(value_of(sample, spec.path())?);
            Filling::replacing(template.clone()).with("input", input)
        }
        (Prompt::Body(body), None) => Filling::replacing(with_input(body.clone())),
        (_, None) => Filling::replacing(only("input", as_input(value_of(sample, spec.path())?))),
    };
    let sampling = &spec.sampling;
    Ok(filling
        .with_model(spec, sample)
        .with("max_output_tokens", sample.output_tokens)
        .with("stream", spec.common.stream)
        .with("temperature", sampling.temperature)
        .with_some("top_p", sampling.top_p)
        .with_extra(spec))
}

/// Returns the body of evalscope's plugin template.
pub(super) fn custom(spec: &EvalscopeSpec, sample: &Sample) -> Result<JsonObject, RequestError> {
    let filling = match (&sample.prompt, &spec.query_template) {
        (prompt @ Prompt::TokenIds(_), _) => return Err(cannot_say(prompt, spec.path())),
        (_, Some(template)) => {
            Filling::replacing(template.clone()).with("messages", value_of(sample, spec.path())?)
        }
        (prompt, None) => {
            let key = if prompt.text().is_some() { "input_text" } else { "messages" };
            Filling::replacing(only(key, value_of(sample, spec.path())?))
        }
    };
    let sampling = &spec.sampling;
    Ok(filling
        .with_model(spec, sample)
        .with("max_tokens", sample.output_tokens)
        .with("temperature", sampling.temperature)
        .with_some("top_p", sampling.top_p)
        .with_some("top_k", sampling.top_k)
        .with("stream", spec.common.stream)
        .with("stream_options", json!({"include_usage": true}))
        .with_extra(spec))
}

/// Returns an object with one key.
pub(super) fn only(key: &str, value: Value) -> JsonObject {
    [(key.to_owned(), value)].into_iter().collect()
}

/// Converts the body of a whole chat request for the responses API.
fn with_input(mut body: JsonObject) -> JsonObject {
    if !body.contains_key("input")
        && let Some(messages) = body.shift_remove("messages")
    {
        body.insert("input".to_owned(), as_input(messages));
    }
    body
}

/// Converts messages for the responses API, which has other names for the parts of a message.
fn as_input(mut value: Value) -> Value {
    for message in value.as_array_mut().into_iter().flatten() {
        let parts = message.get_mut("content").and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten() {
            *part = input_part(part.take());
        }
    }
    value
}

fn input_part(part: Value) -> Value {
    match part.get("type").and_then(Value::as_str) {
        Some("text") => {
            json!({"type": "input_text", "text": part.get("text").unwrap_or(&json!(""))})
        }
        Some("image_url") => match part.get("image_url") {
            Some(Value::String(url)) => {
                json!({"type": "input_image", "image_url": url, "detail": "auto"})
            }
            picture => {
                let of = |key: &str| picture.and_then(|picture| picture.get(key)).cloned();
                let detail = of("detail").unwrap_or_else(|| json!("auto"));
                json!({"type": "input_image", "image_url": of("url"), "detail": detail})
            }
        },
        _ => part,
    }
}
