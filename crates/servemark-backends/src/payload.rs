//! A request body whose keys come in a fixed order.
//!
//! The peers' users compare what is sent, so the order is part of the dialect. Extra keys replace
//! those of the same name where they stand and otherwise follow at the end.

use serde_json::{Value, json};
use servemark_core::{ErrorKind, JsonObject, Medium, Prompt, RequestError, Sample};

/// A body being written, key by key.
#[derive(Debug, Default)]
pub(crate) struct Payload(JsonObject);

impl Payload {
    /// The next key.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The next key, if there is a value for it.
    pub(crate) fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The next key, unless `extra` has it: then it comes with them.
    pub(crate) fn with_default(
        self,
        key: &str,
        value: impl Into<Value>,
        extra: &JsonObject,
    ) -> Self {
        if extra.contains_key(key) { self } else { self.with(key, value) }
    }

    /// The next key: a sample's pictures, if it has any.
    pub(crate) fn with_images(self, key: &str, images: &[Medium]) -> Result<Self, RequestError> {
        let uris = images.iter().map(Medium::uri).collect::<Result<Vec<_>, _>>()?;
        Ok(self.with_some(key, (!uris.is_empty()).then_some(uris)))
    }

    /// The extra keys.
    pub(crate) fn with_all(mut self, extra: JsonObject) -> Self {
        self.0.extend(extra);
        self
    }

    /// The same without a key.
    pub(crate) fn without(mut self, key: &str) -> Self {
        self.0.shift_remove(key);
        self
    }

    /// Asks a stream for the server's counts, beside whatever else its options say. An answer that
    /// is no stream has them anyhow, and servers refuse options for it.
    pub(crate) fn with_usage_asked(mut self) -> Self {
        if self.0.get("stream") != Some(&Value::Bool(true)) {
            return self;
        }
        let options = self.0.entry("stream_options").or_insert_with(|| json!({}));
        if let Value::Object(options) = options {
            options.entry("include_usage").or_insert(Value::Bool(true));
        }
        self
    }

    /// The sample's adapter, if it has one: it stands for the model.
    pub(crate) fn with_adapter(self, sample: &Sample) -> Self {
        match &sample.adapter {
            Some(name) => self.with("model", name.as_str()).with("lora_path", name.as_str()),
            None => self,
        }
    }

    /// The finished object.
    pub(crate) fn into_object(self) -> JsonObject {
        self.0
    }
}

/// A prompt that is text, as all routes can say it.
pub(crate) fn text_of(prompt: &Prompt, path: &str) -> Result<Value, RequestError> {
    prompt.text().map(Value::from).ok_or_else(|| cannot_say(prompt, path))
}

/// A prompt that the route has no way to say.
pub(crate) fn cannot_say(prompt: &Prompt, path: &str) -> RequestError {
    let advice = match prompt {
        Prompt::Text(_) | Prompt::Lazy(_) => "text",
        Prompt::TokenIds(_) => "token ids; use a completions backend, or /generate",
        Prompt::Messages(_) => "chat messages; use a chat backend",
        Prompt::Texts(_) => "batch of texts; use an embedding backend",
        Prompt::Ranking { .. } => "ranking of documents; use a rerank backend",
        Prompt::Body(_) => "whole request of another's making",
        Prompt::Batch(_) => "batch of prompts; use a backend for batches",
        _ => "prompts of this kind",
    };
    RequestError::new(ErrorKind::Encode, format!("{path} takes no {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_usage_asked(given: &str, sent: &str) {
        let given = serde_json::from_str(given).unwrap();
        let body = Payload::default().with_all(given).with_usage_asked().into_object();
        assert_eq!(serde_json::to_string(&body).unwrap(), sent);
    }

    #[test]
    fn usage_is_asked_of_streams() {
        check_usage_asked(
            r#"{"stream":true,"k":1}"#,
            r#"{"stream":true,"k":1,"stream_options":{"include_usage":true}}"#,
        );
    }

    #[test]
    fn usage_is_not_asked_of_documents() {
        check_usage_asked(r#"{"stream":false}"#, r#"{"stream":false}"#);
    }

    #[test]
    fn what_the_options_say_already_stays() {
        check_usage_asked(
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
