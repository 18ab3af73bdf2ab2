//! SGLang's own layout of ranks: one JSON document with bytes as numbers.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use servemark_core::TokenizerError;

use super::byte_level::Split;
use super::encodings::SINGLE_DIGITS;
use super::read::Read;
use super::tiktoken::{check_ranks, of_ranks};
use crate::error::unusable;
use crate::limits::check_ids;

#[derive(Deserialize)]
struct Document {
    regular_tokens: Vec<Entry>,
    special_tokens: Vec<Entry>,
    word_split: String,
    pat_str: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    bytes: Vec<u8>,
    token: u32,
}

/// Converts the document.
pub(super) fn read(path: &Path, json: Value) -> Result<Read, TokenizerError> {
    let document: Document = serde_json::from_value(json).map_err(unusable(path))?;
    if document.word_split != "V1" {
        let why = format!("its word_split {:?} is unknown; V1 is known", document.word_split);
        return Err(unusable(path)(why));
    }
    let last = document.special_tokens.iter().map(|entry| entry.token).max();
    let ranks: HashMap<Vec<u8>, u32> =
        document.regular_tokens.into_iter().map(|entry| (entry.bytes, entry.token)).collect();
    let known: BTreeSet<String> = parsed_tokens().collect();
    let special = document
        .special_tokens
        .into_iter()
        .filter_map(|entry| Some((String::from_utf8(entry.bytes).ok()?, entry.token)));
    let special: Vec<(String, u32)> = special.filter(|(token, _)| known.contains(token)).collect();
    check_ranks(path, &ranks, &special)?;
    check_ids(path, last.map(u64::from))?;
    let pattern = document.pat_str.as_deref().unwrap_or(SINGLE_DIGITS);
    let mut read = of_ranks(&ranks, special, Split::Pattern(pattern), false);
    read.vocab_size = read.vocab_size.max(last.map(|last| last + 1));
    read.chat_template = Some(CHAT_TEMPLATE);
    Ok(read)
}

/// The special tokens that SGLang recognises in a text; all others are treated as plain text.
fn parsed_tokens() -> impl Iterator<Item = String> {
    let named = ["<|pad|>", "<|eos|>", "<|separator|>"].map(str::to_owned);
    let reserved = (3..128).map(|number| format!("<|reserved_{number}|>"));
    let control = (1..705).map(|number| format!("<|control{number}|>"));
    named.into_iter().chain(reserved).chain(control)
}

/// The template with which SGLang renders conversations for these files, which contain none.
const CHAT_TEMPLATE: &str = "\
{%- set names = {'user': 'Human', 'system': 'System', 'assistant': 'Assistant'} -%}
{%- for message in messages if message.role in names -%}
{%- set said = message.content if message.role == 'assistant' else message.content.strip() -%}
{{- names[message.role] ~ ': ' ~ said ~ '<|separator|>\\n\\n' -}}
{%- endfor -%}
{{- 'Assistant:' if add_generation_prompt -}}";
