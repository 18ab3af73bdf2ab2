//! Whether a prompt and what it shows are a text with media beside it, or a finished message.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{JsonObject, MediumKind, Sample};

/// Whether a prompt is a text or a message. Closed: vLLM's `--enable-multimodal-chat` is given or
/// not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptShape {
    /// A text; the route says how it stands beside pictures.
    #[default]
    Text,
    /// What a user says and shows, as a message of a chat.
    Message,
}

impl PromptShape {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
    pub(super) fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// The sample with its prompt in this shape. The message has places for the sample's media.
pub(super) fn shape(mut sample: Sample, shape: PromptShape) -> Sample {
    if let (PromptShape::Message, Some(text)) = (shape, sample.prompt.text()) {
        let text = json!({"text": text, "type": "text"});
        let shown = sample.media.iter().map(|medium| place(medium.kind()));
        let parts: Vec<Value> = [text].into_iter().chain(shown).collect();
        sample.prompt = message(&parts).into();
    }
    sample
}

/// A message of what a user says and shows.
pub(super) fn message(parts: &[Value]) -> Vec<JsonObject> {
    let user = [("role".to_owned(), json!("user")), ("content".to_owned(), json!(parts))];
    vec![user.into_iter().collect()]
}

/// A part that takes the next of a sample's media.
pub(super) fn place(kind: MediumKind) -> Value {
    let key = format!("{}_url", kind.as_str());
    let mut part = json!({"type": key});
    part[key] = json!({});
    part
}
