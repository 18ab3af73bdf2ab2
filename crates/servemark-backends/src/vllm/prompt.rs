//! How a prompt is said on each of the routes.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use servemark_core::{Audio, Medium, Prompt, RequestError, Sample};

use super::VllmDialect;
use crate::payload::text_of;
use crate::places::filled;

/// A prompt where several texts, or token ids, are as good as one text.
pub(super) fn inputs(prompt: &Prompt, path: &str) -> Result<Value, RequestError> {
    Ok(match prompt {
        Prompt::Texts(texts) => json!(texts),
        Prompt::TokenIds(ids) => json!(ids),
        Prompt::Ranking { query, documents } => {
            [query].into_iter().chain(documents).map(String::as_str).collect()
        }
        prompt => text_of(prompt, path)?,
    })
}

/// A query and its documents; the first of several texts is a query, too.
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

/// A conversation, or what a user says and shows.
pub(super) fn messages(sample: &Sample, path: &str) -> Result<Value, RequestError> {
    match &sample.prompt {
        Prompt::Messages(messages) => filled(messages, &sample.media),
        prompt => {
            let text = [text_part(&text_of(prompt, path)?)];
            user(text.into_iter().map(Ok).chain(parts(sample)))
        }
    }
}

/// The same for a model that embeds it. Some models want a picture without its text, or in front of
/// it.
pub(super) fn to_embed(dialect: VllmDialect, sample: &Sample) -> Result<Value, RequestError> {
    let path = dialect.path();
    if sample.media.is_empty() || dialect == VllmDialect::OpenaiEmbeddingsChat {
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

/// What `VLM2Vec` is told: every other request asks about its picture.
fn about_picture(sample: &Sample, path: &str) -> Result<Value, RequestError> {
    if request_number(sample).is_none_or(|last| last % 2 == 0) {
        return Ok("Represent the given image.".into());
    }
    let question = text_of(&sample.prompt, path)?;
    let question = question.as_str().map_or(Cow::Borrowed(""), Cow::Borrowed);
    Ok(format!("Represent the given image with the following question: {question}").into())
}

/// The last digit of the number with which a request's id ends.
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

/// What a sample shows and lets hear.
fn parts(sample: &Sample) -> impl Iterator<Item = Result<Value, RequestError>> {
    sample.media.iter().map(shown).chain(sample.audio.iter().map(heard))
}

fn shown(medium: &Medium) -> Result<Value, RequestError> {
    let key = format!("{}_url", medium.kind().as_str());
    let mut part = json!({"type": key});
    part[key] = json!({"url": medium.uri()?});
    Ok(part)
}

fn heard(audio: &Audio) -> Result<Value, RequestError> {
    let data = STANDARD.encode(audio.file()?.bytes);
    Ok(json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}))
}
