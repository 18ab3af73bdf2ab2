//! Mistral's own layout, `tekken.json`: ranks as in tiktoken, with ids after those of the special
//! tokens.
//!
//! Special tokens are never recognised in a text; they come only from ids and from conversations.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use servemark_core::TokenizerError;

use super::byte_level::{ByteLevel, Split, merges_of};
use super::read::Read;
use super::tiktoken::check_ranks;
use crate::document::Document;
use crate::error::unusable;
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
    /// The number of tokens, including special ones; the file may hold more.
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

/// Converts the document.
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
    /// Returns the special tokens with their ids, which precede all others.
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

    /// Returns the other tokens with their ids, up to the size of the vocabulary.
    fn ranks(&self) -> Result<HashMap<Vec<u8>, u32>, String> {
        let ids = self.config.default_num_special_tokens..self.config.default_vocab_size;
        let rank = |(entry, id): (&Entry, u32)| {
            let token = STANDARD.decode(&entry.token_bytes);
            Ok((token.map_err(|_| format!("token {id} is not in base64"))?, id))
        };
        if self.vocab.len() < ids.len() {
            return Err(format!("it has {} tokens but declares {}", self.vocab.len(), ids.len()));
        }
        self.vocab.iter().zip(ids).map(rank).collect()
    }

    /// Returns the chat template. Mistral's code renders conversations by version, so it depends on
    /// that.
    fn chat_template(&self) -> Option<&'static str> {
        RENDERED_ALIKE.contains(&self.config.version.as_str()).then_some(CHAT_TEMPLATE)
    }
}

/// Returns the step that puts the token `<s>` with this id before a text.
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

/// The token before every text.
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

/// Versions that render the first message of a user identically.
const RENDERED_ALIKE: [&str; 4] = ["v3", "v7", "v11", "v13"];

/// A template for the first message of a user. Later messages and tools differ between versions.
const CHAT_TEMPLATE: &str = "\
{%- if tools or messages | length != 1 or messages[0].role != 'user' -%}
{{- raise_exception('with tekken.json only conversations of one user message can be rendered') -}}
{%- endif -%}
{{- '<s>[INST]' ~ messages[0].content ~ '[/INST]' -}}";
