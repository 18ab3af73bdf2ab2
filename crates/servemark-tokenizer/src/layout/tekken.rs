//! Mistral's own layout, `tekken.json`: ranks as tiktoken reads them, behind the special tokens.
//!
//! Special tokens are never found in a text; they come from ids and from conversations alone.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use servemark_core::TokenizerError;

use super::Read;
use super::byte_level::{ByteLevel, Split, merges_of};
use super::tiktoken::check_ranks;
use crate::document::Document;
use crate::files::unusable;
use crate::limits::check_ids;
use crate::signs::signs;

/// The name of the file.
pub(crate) const FILE: &str = "tekken.json";

#[derive(Deserialize)]
struct Tekken {
    config: Settings,
    vocab: Vec<Entry>,
    special_tokens: Option<Vec<Special>>,
}

#[derive(Deserialize)]
struct Settings {
    pattern: String,
    /// How many tokens there are, special ones included; the file may hold more.
    default_vocab_size: u32,
    default_num_special_tokens: u32,
    version: String,
}

#[derive(Deserialize)]
struct Entry {
    token_bytes: String,
}

#[derive(Deserialize)]
struct Special {
    rank: u32,
    token_str: String,
}

/// Reads the document.
pub(super) fn read(path: &Path, json: Value) -> Result<Read, TokenizerError> {
    let tekken: Tekken = serde_json::from_value(json).map_err(unusable(path))?;
    let Settings { default_vocab_size, default_num_special_tokens, .. } = tekken.config;
    let numbers = [default_vocab_size, default_num_special_tokens];
    check_ids(path, numbers.map(u64::from))?;
    let special = tekken.special();
    let ranks = tekken.ranks().map_err(unusable(path))?;
    check_ranks(path, &ranks, &special)?;
    let begin = special.iter().find(|(token, _)| token == BEGIN).map(|(_, id)| *id);
    let begin = begin.ok_or_else(|| unusable(path)(format!("it has no special token {BEGIN}")))?;
    let tokens = ranks.iter().map(|(token, id)| (signs(token), *id)).chain(special);
    let model = ByteLevel {
        split: Split::Pattern(&tekken.config.pattern),
        composes: false,
        ignores_merges: true,
        vocabulary: tokens.map(|(token, id)| (token, id.into())).collect(),
        merges: merges_of(&ranks),
        special: Vec::new(),
    };
    let mut document = model.into_json();
    document["post_processor"] = beginning_with(begin);
    Ok(Read {
        tokenizer: Document::Value(document),
        vocab_size: Some(tekken.config.default_vocab_size),
        chat_template: tekken.chat_template(),
        special_ids: Some((0..tekken.config.default_num_special_tokens).collect()),
    })
}

impl Tekken {
    /// The special tokens with their ids, which are the first.
    fn special(&self) -> Vec<(String, u32)> {
        let mut tokens: Vec<(String, u32)> = match &self.special_tokens {
            Some(named) => {
                named.iter().map(|token| (token.token_str.clone(), token.rank)).collect()
            }
            None => USUAL.into_iter().map(str::to_owned).zip(0..).collect(),
        };
        let unnamed = tokens.len() as u32..self.config.default_num_special_tokens;
        tokens.extend(unnamed.map(|id| (format!("<SPECIAL_{id}>"), id)));
        tokens
    }

    /// The other tokens with their ids, as many as there are to be.
    fn ranks(&self) -> Result<HashMap<Vec<u8>, u32>, String> {
        let ids = self.config.default_num_special_tokens..self.config.default_vocab_size;
        let rank = |(entry, id): (&Entry, u32)| {
            let token = STANDARD.decode(&entry.token_bytes);
            Ok((token.map_err(|_| format!("token {id} is not in base64"))?, id))
        };
        if self.vocab.len() < ids.len() {
            return Err(format!("it has {} tokens and says {}", self.vocab.len(), ids.len()));
        }
        self.vocab.iter().zip(ids).map(rank).collect()
    }

    /// How a conversation is rendered is in Mistral's code, by version.
    fn chat_template(&self) -> Option<&'static str> {
        RENDERED_ALIKE.contains(&self.config.version.as_str()).then_some(CHAT_TEMPLATE)
    }
}

/// What puts the first special token before a text.
fn beginning_with(id: u32) -> Value {
    json!({
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": BEGIN, "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [
            {"Sequence": {"id": "A", "type_id": 0}},
            {"Sequence": {"id": "B", "type_id": 0}},
        ],
        "special_tokens": {BEGIN: {"id": BEGIN, "ids": [id], "tokens": [BEGIN]}},
    })
}

/// Before every text.
const BEGIN: &str = "<s>";

/// The special tokens of files that do not name theirs.
const USUAL: [&str; 20] = [
    "<unk>",
    BEGIN,
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// Versions that put what a user says first in the same way.
const RENDERED_ALIKE: [&str; 4] = ["v3", "v7", "v11", "v13"];

/// What a user says first. What comes later, and tools, differ between versions.
const CHAT_TEMPLATE: &str = "\
{%- if tools or messages | length != 1 or messages[0].role != 'user' -%}
{{- raise_exception('of tekken.json only conversations of one user message are rendered') -}}
{%- endif -%}
{{- '<s>[INST]' ~ messages[0].content ~ '[/INST]' -}}";
