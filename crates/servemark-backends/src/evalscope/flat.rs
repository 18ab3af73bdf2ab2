//! Bodies of requests for embeddings and rankings. Conversations are reduced to their texts.

use serde_json::{Value, json};
use servemark_core::{JsonObject, Prompt, RequestError, Sample};

use super::EvalscopeSpec;
use super::body::{Filling, only};
use crate::payload::{cannot_say, text_of};

/// Returns a body for the embeddings of one or several texts.
pub(super) fn embedding(spec: &EvalscopeSpec, sample: &Sample) -> Result<JsonObject, RequestError> {
    let input = match &sample.prompt {
        Prompt::Texts(texts) => json!(texts),
        Prompt::Messages(messages) => match message_texts(messages).as_slice() {
            [text] => json!(text),
            texts => json!(texts),
        },
        // The text by which Python shows the object.
        Prompt::Body(body) => json!(servemark_pyjson::literal(&Value::Object(body.clone()))),
        prompt => text_of(prompt, spec.path())?,
    };
    let body = Filling::replacing(only("input", input)).with_model(spec, sample).with_extra(spec);
    Ok(with_recorded_length(body, spec, sample))
}

/// Returns a body to rank documents by a query.
pub(super) fn rerank(spec: &EvalscopeSpec, sample: &Sample) -> Result<JsonObject, RequestError> {
    let (query, documents) =
        ranking(&sample.prompt).ok_or_else(|| cannot_say(&sample.prompt, spec.path()))?;
    let filling = Filling::replacing(only("query", query)).with("documents", documents);
    let body = filling.with_model(spec, sample).with_extra(spec);
    Ok(with_recorded_length(body, spec, sample))
}

/// Adds the recorded output length as `max_tokens` if the spec asks for it, although these APIs
/// have no use for it.
fn with_recorded_length(mut body: JsonObject, spec: &EvalscopeSpec, sample: &Sample) -> JsonObject {
    if spec.has_max_tokens {
        body.insert("max_tokens".to_owned(), sample.output_tokens.into());
    }
    body
}

/// Returns the number of embeddings that a prompt requests.
pub(super) fn texts(prompt: &Prompt) -> usize {
    match prompt {
        Prompt::Texts(texts) => texts.len(),
        Prompt::Messages(messages) => message_texts(messages).len(),
        _ => 1,
    }
}

/// Returns the number of documents in a prompt.
pub(super) fn documents(prompt: &Prompt) -> usize {
    let documents = ranking(prompt).map(|(_, documents)| documents);
    documents.as_ref().and_then(Value::as_array).map_or(0, Vec::len)
}

/// Returns a query and its documents. The first of several texts or messages is the query.
fn ranking(prompt: &Prompt) -> Option<(Value, Value)> {
    Some(match prompt {
        Prompt::Ranking { query, documents } => (json!(query), json!(documents)),
        Prompt::Body(body) => {
            let query = body.get("query").cloned().unwrap_or_else(|| json!(""));
            let documents = match body.get("documents") {
                Some(Value::String(document)) => json!([document]),
                documents => documents.cloned().unwrap_or_else(|| json!([])),
            };
            (query, documents)
        }
        Prompt::Messages(messages) => {
            let mut contents = messages.iter().map(content);
            (json!(contents.next()?), contents.collect())
        }
        Prompt::Texts(texts) => match texts.as_slice() {
            [query] => (json!(query), json!([""])),
            [query, documents @ ..] => (json!(query), json!(documents)),
            [] => return None,
        },
        prompt => (json!(prompt.text()?), json!([TEST_DOCUMENT])),
    })
}

/// Returns the texts of a conversation.
fn message_texts(messages: &[JsonObject]) -> Vec<&str> {
    messages.iter().flat_map(|message| texts_of(message.get("content"))).collect()
}

/// Returns the text of a message.
fn content(message: &JsonObject) -> String {
    texts_of(message.get("content")).join(" ")
}

/// Returns the texts of a message's content, which is a text or a list of parts. A missing content
/// counts as an empty text.
fn texts_of(content: Option<&Value>) -> Vec<&str> {
    match content {
        None => vec![""],
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => parts.iter().filter_map(text_part).collect(),
        Some(_) => Vec::new(),
    }
}

fn text_part(part: &Value) -> Option<&str> {
    let is_text = part.get("type").and_then(Value::as_str) == Some("text");
    is_text.then(|| part.get("text").and_then(Value::as_str).unwrap_or_default())
}

/// The document for a query without documents.
const TEST_DOCUMENT: &str = "This is a test document for reranking.";
