//! A model call recorded in a span.

use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use servemark_core::{DatasetError, JsonObject, SpecialTokens, Tokenizer, TokenizerError};

use crate::{instant, text_file};

/// A recorded model call.
pub(super) struct Span {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) messages: Vec<JsonObject>,
    answer: Option<String>,
    output_tokens: Option<u32>,
}

/// Reads the model calls of a file. Spans without messages are of tools or of the agent itself and
/// are skipped.
pub(super) fn read(path: &Path) -> Result<Vec<Span>, DatasetError> {
    #[derive(Deserialize)]
    struct Document<'a> {
        #[serde(borrow)]
        spans: Vec<&'a RawValue>,
    }
    let text = text_file::read(path)?;
    let document: Document<'_> = serde_json::from_str(&text)
        .map_err(|error| text_file::malformed(path, error.line(), error.to_string()))?;
    let span = |record: &&RawValue| {
        let line = text_file::line_of(record.get(), &text);
        Span::read(record.get()).map_err(|reason| text_file::malformed(path, line, reason))
    };
    document.spans.iter().map(span).filter_map(Result::transpose).collect()
}

#[derive(Deserialize)]
struct Record {
    start_time: String,
    end_time: String,
    attributes: JsonObject,
}

impl Span {
    fn read(record: &str) -> Result<Option<Self>, String> {
        let record: Record = serde_json::from_str(record).map_err(|error| error.to_string())?;
        let Some(messages) = messages(&record.attributes, "gen_ai.input.messages")? else {
            return Ok(None);
        };
        let (start, end) = (instant::parse(&record.start_time)?, instant::parse(&record.end_time)?);
        if messages.is_empty() || end < start {
            return Err(
                "a model call must have messages and must not end before it starts".to_owned()
            );
        }
        let answer = answer(&record.attributes)?;
        let output_tokens = output_tokens(&record.attributes, answer.is_some())?;
        Ok(Some(Self { start, end, messages, answer, output_tokens }))
    }

    /// Returns the messages that follow an earlier call's messages and answer, or `None` if this
    /// call does not continue that one.
    pub(super) fn beyond(&self, earlier: &Self) -> Option<&[JsonObject]> {
        let (answer, new) =
            self.messages.strip_prefix(earlier.messages.as_slice())?.split_first()?;
        let is_answer = answer.get("role").is_some_and(|role| role == "assistant")
            && earlier.answer.as_deref().is_none_or(|text| content(answer) == text);
        (is_answer && earlier.end <= self.start && !new.is_empty()).then_some(new)
    }

    /// Returns the token count of the answer.
    pub(super) fn output_tokens(&self, tokenizer: &dyn Tokenizer) -> Result<u32, TokenizerError> {
        match (self.output_tokens, &self.answer) {
            (None, Some(answer)) => tokenizer.count(answer, SpecialTokens::Omit),
            (tokens, _) => Ok(tokens.unwrap_or_default()),
        }
    }
}

/// Counts the tokens of the rendered messages, or of their contents if they cannot be rendered.
pub(super) fn count(
    messages: &[JsonObject],
    tokenizer: &dyn Tokenizer,
) -> Result<u32, TokenizerError> {
    match tokenizer.apply_chat_template(messages) {
        Ok(text) => tokenizer.count(&text, SpecialTokens::Omit),
        Err(_) => {
            messages.iter().map(|one| tokenizer.count(content(one), SpecialTokens::Omit)).sum()
        }
    }
}

fn content(message: &JsonObject) -> &str {
    message.get("content").and_then(Value::as_str).unwrap_or_default()
}

/// Parses messages from an attribute, which holds them as a JSON text.
fn messages(attributes: &JsonObject, key: &str) -> Result<Option<Vec<JsonObject>>, String> {
    let bad = |_| format!("{key} is not an array of messages");
    match attributes.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => serde_json::from_str(text).map(Some).map_err(bad),
        Some(value) => serde_json::from_value(value.clone()).map(Some).map_err(bad),
    }
}

fn answer(attributes: &JsonObject) -> Result<Option<String>, String> {
    if let Some(Value::String(text)) = attributes.get("gen_ai.output.text") {
        return Ok(Some(text.clone()));
    }
    let messages = messages(attributes, "gen_ai.output.messages")?;
    Ok(messages.and_then(|messages| messages.first().map(|first| content(first).to_owned())))
}

/// Parses a token count.
fn tokens(attributes: &JsonObject, key: &str) -> Result<Option<u32>, String> {
    let Some(value) = attributes.get(key) else { return Ok(None) };
    let tokens = value.as_u64().and_then(|tokens| u32::try_from(tokens).ok());
    tokens.map(Some).ok_or_else(|| format!("{key} is not a token count: {value}"))
}

/// Returns the answer's token count as reported by the server. If neither the count nor the answer
/// is recorded, the request's limit is used.
fn output_tokens(attributes: &JsonObject, has_answer: bool) -> Result<Option<u32>, String> {
    let counted = tokens(attributes, "gen_ai.usage.output_tokens")?
        .or(tokens(attributes, "gen_ai.usage.completion_tokens")?);
    if counted.is_some() || has_answer {
        return Ok(counted);
    }
    let limit = tokens(attributes, "gen_ai.request.max_tokens")?;
    limit.map(Some).ok_or_else(|| UNTOLD.to_owned())
}

const UNTOLD: &str = "the answer and its length are both missing: gen_ai.output.text, \
    gen_ai.output.messages, gen_ai.usage.output_tokens and gen_ai.request.max_tokens are absent";
