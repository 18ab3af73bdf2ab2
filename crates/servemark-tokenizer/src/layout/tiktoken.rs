//! Files of ranks, as OpenAI's tiktoken reads them: each line holds a token in base64 and its rank.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use servemark_core::TokenizerError;

use super::byte_level::{ByteLevel, Split, merges_of};
use super::encodings::{self, Encoding};
use super::read::Read;
use crate::config::Config;
use crate::document::Document;
use crate::error::{unsupported, unusable};
use crate::limits::{MOST_TOKEN_BYTES, check_ids};
use crate::signs::signs;

/// Reads a file. Its name tells which model's encoding it has.
pub(super) fn read(
    path: &Path,
    name: &str,
    bytes: Vec<u8>,
    config: &Config,
) -> Result<Read, TokenizerError> {
    let text = String::from_utf8(bytes).ok();
    let Some(text) =
        text.filter(|text| text.lines().next().is_some_and(|line| rank(line).is_some()))
    else {
        return Err(unsupported(path, "SentencePiece models are not read"));
    };
    let Some(encoding) = encodings::of_file(name) else {
        let why =
            format!("how its model splits text is known only for {}", encodings::file_names());
        return Err(unsupported(path, &why));
    };
    let ranks = ranks(path, &text)?;
    let special = special(encoding, &ranks, config);
    check_ranks(path, &ranks, &special)?;
    Ok(of_ranks(&ranks, special, Split::Pattern(encoding.pattern), encoding.composes))
}

/// Fails if an id or a token is too large.
pub(super) fn check_ranks(
    path: &Path,
    ranks: &HashMap<Vec<u8>, u32>,
    special: &[(String, u32)],
) -> Result<(), TokenizerError> {
    let ids = ranks.values().chain(special.iter().map(|(_, id)| id));
    check_ids(path, ids.map(|id| u64::from(*id)))?;
    if ranks.keys().any(|token| token.len() > MOST_TOKEN_BYTES) {
        let why =
            format!("it has a token of more than {MOST_TOKEN_BYTES} bytes, which is the limit");
        return Err(unusable(path)(why));
    }
    Ok(())
}

/// Builds a tokenizer from ranks and special tokens.
pub(super) fn of_ranks(
    ranks: &HashMap<Vec<u8>, u32>,
    special: Vec<(String, u32)>,
    split: Split<'_>,
    composes: bool,
) -> Read {
    let last = ranks.values().copied().chain(special.iter().map(|(_, id)| *id)).max();
    // The library would give a special token outside the vocabulary the next free id instead of its
    // own.
    let tokens = ranks.iter().map(|(token, rank)| (signs(token), *rank)).chain(special.clone());
    let vocabulary = tokens.map(|(token, id)| (token, id.into())).collect();
    let merges = merges_of(ranks);
    let tokenizer =
        ByteLevel { split, composes, ignores_merges: true, vocabulary, merges, special };
    Read {
        tokenizer: Document::Value(tokenizer.into_json()),
        vocab_size: Some(last.map_or(0, |last| last + 1)),
        chat_template: None,
        special_ids: None,
    }
}

/// Returns the encoding's special tokens, renamed as the model's configuration says, and the
/// configuration's own added tokens.
fn special(
    encoding: &Encoding,
    ranks: &HashMap<Vec<u8>, u32>,
    config: &Config,
) -> Vec<(String, u32)> {
    let mut tokens = encoding.special.tokens(ranks.len() as u32);
    for (id, content) in config.added_tokens() {
        match tokens.iter_mut().find(|(_, known)| *known == id) {
            Some((name, _)) => *name = content,
            None => tokens.push((content, id)),
        }
    }
    tokens
}

fn ranks(path: &Path, text: &str) -> Result<HashMap<Vec<u8>, u32>, TokenizerError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(index, line)| {
            let place = index + 1;
            rank(line).ok_or_else(|| {
                unusable(path)(format!("line {place} is not a token in base64 and its rank"))
            })
        })
        .collect()
}

fn rank(line: &str) -> Option<(Vec<u8>, u32)> {
    let (token, rank) = line.split_once(' ')?;
    Some((STANDARD.decode(token).ok()?, rank.trim_end().parse().ok()?))
}
