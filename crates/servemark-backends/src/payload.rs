//! A request body whose keys come in a fixed order.
//!
//! The peers' users compare what is sent, so the order is part of the dialect. Extra keys replace
//! those of the same name where they stand and otherwise follow at the end.

use serde_json::Value;
use servemark_core::{ErrorKind, JsonObject, Prompt, RequestError};

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

    /// The extra keys.
    pub(crate) fn with_all(mut self, extra: JsonObject) -> Self {
        self.0.extend(extra);
        self
    }

    /// The finished object.
    pub(crate) fn into_object(self) -> JsonObject {
        self.0
    }
}

/// A prompt that the route has no way to say.
pub(crate) fn cannot_say(prompt: &Prompt, path: &str) -> RequestError {
    let advice = match prompt {
        Prompt::Text(_) => "text",
        Prompt::TokenIds(_) => "token ids; use a completions backend, or /generate",
        Prompt::Messages(_) => "chat messages; use a chat backend",
        _ => "prompts of this kind",
    };
    RequestError::new(ErrorKind::Encode, format!("{path} takes no {advice}"))
}
