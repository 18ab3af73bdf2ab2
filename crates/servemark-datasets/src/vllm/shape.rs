//! Form of a prompt with media: a text with media beside it, or a complete message.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{JsonObject, MediumKind, Sample};

/// Whether a prompt is a text or a message. Exhaustive: vLLM's `--enable-multimodal-chat` is given
/// or not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptShape {
    /// A text; the route determines how it is combined with media.
    #[default]
    Text,
    /// A user message of a chat, with text and media.
    Message,
}

impl PromptShape {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    pub(super) fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// Converts a sample's prompt to the given form. A message has placeholders for the sample's media.
pub(super) fn shape(mut sample: Sample, shape: PromptShape) -> Sample {
    if let (PromptShape::Message, Some(text)) = (shape, sample.prompt.text()) {
        let text = json!({"text": text, "type": "text"});
        let shown = sample.media.iter().map(|medium| place(medium.kind()));
        let parts: Vec<Value> = [text].into_iter().chain(shown).collect();
        sample.prompt = message(&parts).into();
    }
    sample
}

/// Builds a user message from its parts.
pub(super) fn message(parts: &[Value]) -> Vec<JsonObject> {
    let user = [("role".to_owned(), json!("user")), ("content".to_owned(), json!(parts))];
    vec![user.into_iter().collect()]
}

/// Builds the placeholder of the sample's next medium.
pub(super) fn place(kind: MediumKind) -> Value {
    let key = format!("{}_url", kind.as_str());
    let mut part = json!({"type": key});
    part[key] = json!({});
    part
}
