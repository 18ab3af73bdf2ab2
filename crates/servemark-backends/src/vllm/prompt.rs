//! Prompts in the form of each route.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use servemark_core::{Audio, JsonObject, Medium, Prompt, RequestError, Sample};

use super::VllmDialect;
use crate::payload::text_of;
use crate::places::filled;

/// Returns a prompt for routes that accept a text, several texts or token ids. Like vLLM's client
/// it passes messages that were built from a text as they stand, and of a file's message its parts.
pub(super) fn inputs(sample: &Sample, path: &str) -> Result<Value, RequestError> {
    Ok(match &sample.prompt {
        Prompt::Messages(messages) if is_of_text(messages) => filled(messages, &sample.media)?,
        Prompt::Messages(messages) => parts_of(filled(messages, &sample.media)?),
        Prompt::Texts(texts) => json!(texts),
        Prompt::TokenIds(ids) => json!(ids),
        Prompt::Ranking { query, documents } => {
            [query].into_iter().chain(documents).map(String::as_str).collect()
        }
        prompt => text_of(prompt, path)?,
    })
}

/// Returns the number of texts as which a route for texts receives these messages.
pub(super) fn passed(messages: &[JsonObject]) -> usize {
    match messages {
        [message] if !is_of_text(messages) => {
            let parts = message.get("content").and_then(Value::as_array);
            let is_text = |part: &&Value| part["type"] == "text";
            parts.map_or(1, |parts| parts.iter().filter(is_text).count().max(1))
        }
        messages => messages.len(),
    }
}

/// Returns the parts of the only message; all messages if there are several, or if it has none.
fn parts_of(messages: Value) -> Value {
    match messages.as_array().map(Vec::as_slice) {
        Some([message]) if message["content"].is_array() => message["content"].clone(),
        _ => messages,
    }
}

/// Returns a query and its documents; the first of several texts is the query.
pub(super) fn ranking(prompt: &Prompt) -> Option<(&str, &[String])> {
    match prompt {
        Prompt::Ranking { query, documents } => Some((query, documents)),
        Prompt::Texts(texts) => match texts.as_slice() {
            [query, documents @ ..] if !documents.is_empty() => Some((query, documents)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a conversation, or a message of the user with text, pictures and audio.
pub(super) fn messages(sample: &Sample, path: &str) -> Result<Value, RequestError> {
    if let Prompt::Messages(messages) = &sample.prompt {
        return filled(messages, &sample.media);
    }
    // Several texts go into one part, as with vLLM's client.
    let text = [text_part(&inputs(sample, path)?)];
    user(text.into_iter().map(Ok).chain(parts(sample)))
}

/// Returns the messages for a model that embeds them. Some models expect a picture without its
/// text, or before it.
pub(super) fn to_embed(dialect: VllmDialect, sample: &Sample) -> Result<Value, RequestError> {
    let path = dialect.path();
    let is_finished = match &sample.prompt {
        Prompt::Messages(messages) => !is_of_text(messages),
        _ => sample.media.is_empty() && sample.audio.is_none(),
    };
    if is_finished || dialect == VllmDialect::OpenaiEmbeddingsChat {
        return messages(sample, path);
    }
    let text = match dialect {
        VllmDialect::OpenaiEmbeddingsClip => json!(""),
        _ => about_picture(sample, path)?,
    };
    let text = [text_part(&text)].into_iter().map(Ok);
    match dialect {
        VllmDialect::OpenaiEmbeddingsClip => user(text.chain(parts(sample))),
        _ => user(parts(sample).chain(text)),
    }
}

/// Returns whether messages were built from a text and its media, which puts the key `text` before
/// `type`. The messages of a file keep their own order of texts and pictures.
fn is_of_text(messages: &[JsonObject]) -> bool {
    let first = messages.first().and_then(|message| message.get("content")?.get(0)?.as_object());
    first.and_then(|part| part.keys().next()).is_some_and(|key| key == "text")
}

/// Returns the text for `VLM2Vec`: every other request asks about its picture.
fn about_picture(sample: &Sample, path: &str) -> Result<Value, RequestError> {
    if request_number(sample).is_none_or(|last| last % 2 == 0) {
        return Ok("Represent the given image.".into());
    }
    let question = text_of(&sample.prompt, path)?;
    let question = question.as_str().map_or(Cow::Borrowed(""), Cow::Borrowed);
    Ok(format!("Represent the given image with the following question: {question}").into())
}

/// Returns the last digit of the number at the end of a request's id.
fn request_number(sample: &Sample) -> Option<u32> {
    let mut headers = sample.headers.iter();
    let (_, id) = headers.find(|(name, _)| name.eq_ignore_ascii_case("x-request-id"))?;
    id.chars().last()?.to_digit(10)
}

fn user(parts: impl Iterator<Item = Result<Value, RequestError>>) -> Result<Value, RequestError> {
    let content: Value = parts.collect::<Result<Vec<_>, _>>()?.into();
    Ok(json!([{"role": "user", "content": content}]))
}

fn text_part(text: &Value) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns the parts of a message with a sample's pictures, videos and audio.
fn parts(sample: &Sample) -> impl Iterator<Item = Result<Value, RequestError>> {
    sample.media.iter().map(media_part).chain(sample.audio.iter().map(audio_part))
}

fn media_part(medium: &Medium) -> Result<Value, RequestError> {
    let key = format!("{}_url", medium.kind().as_str());
    let mut part = json!({"type": key});
    part[key] = json!({"url": medium.uri()?});
    Ok(part)
}

fn audio_part(audio: &Audio) -> Result<Value, RequestError> {
    if let Some(part) = audio.chat_part()? {
        return Ok(part.into());
    }
    let data = STANDARD.encode(audio.file()?.bytes);
    Ok(json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}))
}
