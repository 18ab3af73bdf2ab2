//! A request body whose keys have a fixed order.
//!
//! Users of the peers compare request bodies, so the order is part of a dialect. An extra key
//! replaces the key of equal name in place; other extra keys follow at the end.

use serde_json::{Value, json};
use servemark_core::{ErrorKind, JsonObject, Medium, Prompt, RequestError, Sample};

/// A body under construction.
#[derive(Debug, Default)]
pub(crate) struct Payload(JsonObject);

impl Payload {
    /// Adds a key.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a key if there is a value for it.
    pub(crate) fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Adds a key unless `extra` has it, in which case it comes with the extra keys.
    pub(crate) fn with_default(
        self,
        key: &str,
        value: impl Into<Value>,
        extra: &JsonObject,
    ) -> Self {
        if extra.contains_key(key) { self } else { self.with(key, value) }
    }

    /// Adds a sample's pictures, if it has any.
    pub(crate) fn with_images(self, key: &str, images: &[Medium]) -> Result<Self, RequestError> {
        let uris = images.iter().map(Medium::uri).collect::<Result<Vec<_>, _>>()?;
        Ok(self.with_some(key, (!uris.is_empty()).then_some(uris)))
    }

    /// Adds the extra keys.
    pub(crate) fn with_all(mut self, extra: JsonObject) -> Self {
        self.0.extend(extra);
        self
    }

    /// Removes a key.
    pub(crate) fn without(mut self, key: &str) -> Self {
        self.0.shift_remove(key);
        self
    }

    /// Asks a stream to report the server's counts, in addition to other stream options. Answers
    /// that are not streams have counts in any case, and servers refuse these options for them.
    pub(crate) fn with_usage_requested(mut self) -> Self {
        if self.0.get("stream") != Some(&Value::Bool(true)) {
            return self;
        }
        let options = self.0.entry("stream_options").or_insert_with(|| json!({}));
        if let Value::Object(options) = options {
            options.entry("include_usage").or_insert(Value::Bool(true));
        }
        self
    }

    /// Sets the sample's adapter, if it has one, in place of the model and as `lora_path`.
    pub(crate) fn with_adapter(self, sample: &Sample) -> Self {
        match &sample.adapter {
            Some(name) => self.with("model", name.as_str()).with("lora_path", name.as_str()),
            None => self,
        }
    }

    /// Returns the finished object.
    pub(crate) fn into_object(self) -> JsonObject {
        self.0
    }
}

/// Returns a prompt as text, if it has that form, which all routes accept.
pub(crate) fn text_of(prompt: &Prompt, path: &str) -> Result<Value, RequestError> {
    prompt.text().map(Value::from).ok_or_else(|| cannot_say(prompt, path))
}

/// Returns a prompt as SGLang's client sends it on a route for texts: messages as they stand, too.
pub(crate) fn as_it_stands(prompt: &Prompt, path: &str) -> Result<Value, RequestError> {
    match prompt {
        Prompt::Messages(messages) => Ok(json!(messages)),
        prompt => text_of(prompt, path),
    }
}

/// Returns the error for a prompt that the route cannot express.
pub(crate) fn cannot_say(prompt: &Prompt, path: &str) -> RequestError {
    let advice = match prompt {
        Prompt::Text(_) | Prompt::Lazy(_) => "text",
        Prompt::TokenIds(_) => "token ids; use a completions backend, or /generate",
        Prompt::Messages(_) => "chat messages; use a chat backend",
        Prompt::Texts(_) => "batch of texts; use an embedding backend",
        Prompt::Ranking { .. } => "ranking of documents; use a rerank backend",
        Prompt::Body(_) => "ready-made request body",
        Prompt::Ready(_) => "request that was encoded before the run",
        Prompt::Batch(_) => "batch of prompts; use a backend for batches",
        _ => "prompts of this kind",
    };
    RequestError::new(ErrorKind::Encode, format!("{path} takes no {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_usage_requested(given: &str, sent: &str) {
        let given = serde_json::from_str(given).unwrap();
        let body = Payload::default().with_all(given).with_usage_requested().into_object();
        assert_eq!(serde_json::to_string(&body).unwrap(), sent);
    }

    #[test]
    fn usage_is_asked_of_streams() {
        check_usage_requested(
            r#"{"stream":true,"k":1}"#,
            r#"{"stream":true,"k":1,"stream_options":{"include_usage":true}}"#,
        );
    }

    #[test]
    fn usage_is_not_asked_of_documents() {
        check_usage_requested(r#"{"stream":false}"#, r#"{"stream":false}"#);
    }

    #[test]
    fn what_the_options_say_already_stays() {
        check_usage_requested(
            r#"{"stream_options":{"include_usage":false},"stream":true}"#,
            r#"{"stream_options":{"include_usage":false},"stream":true}"#,
        );
    }

    #[test]
    fn extra_keys_replace_where_they_stand() {
        let extra = serde_json::from_str(r#"{"new":1,"a":2,"late":3}"#).unwrap();
        let body = Payload::default()
            .with("a", 0)
            .with_default("late", 0, &extra)
            .with_default("b", 0, &extra)
            .with_all(extra);
        let body = serde_json::to_string(&body.into_object()).unwrap();
        assert_eq!(body, r#"{"a":2,"b":0,"new":1,"late":3}"#);
    }
}
