//! GPT-2's layout: the vocabulary in `vocab.json`, and pairs of tokens to merge in `merges.txt`.

use std::path::Path;

use serde_json::Value;
use servemark_core::TokenizerError;

use super::byte_level::{ByteLevel, Split};
use super::encodings::SINGLE_DIGITS;
use super::read::Read;
use crate::config::Config;
use crate::document::Document;
use crate::error::{unsupported, unusable};
use crate::limits;

/// Reads `vocab.json`, given as `json`, and `merges.txt` beside it.
pub(super) fn read(path: &Path, json: Value, config: &Config) -> Result<Read, TokenizerError> {
    let Value::Object(vocabulary) = json else {
        return Err(unusable(path)("expected an object of tokens and their ids"));
    };
    let class = config.text("tokenizer_class").unwrap_or("GPT2Tokenizer");
    let (split, composes) = match class.trim_end_matches("Fast") {
        "GPT2Tokenizer" => (Split::Gpt2, false),
        "Qwen2Tokenizer" => (Split::Pattern(SINGLE_DIGITS), true),
        other => return Err(unsupported(path, &format!("the layout of a {other} is not read"))),
    };
    let merges = merges(&path.with_file_name("merges.txt"))?;
    let special = config.added_tokens().map(|(id, content)| (content, id)).collect();
    let special = known_or(special, &vocabulary);
    let tokenizer =
        ByteLevel { split, composes, ignores_merges: false, vocabulary, merges, special };
    Ok(Read::without_config(Document::Value(tokenizer.into_json())))
}

/// Makes the end token of GPT-2's texts special if the configuration has no special tokens.
fn known_or(
    special: Vec<(String, u32)>,
    vocabulary: &serde_json::Map<String, Value>,
) -> Vec<(String, u32)> {
    let id = vocabulary.get(END).and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
    match id {
        Some(id) if special.is_empty() => vec![(END.to_owned(), id)],
        _ => special,
    }
}

fn merges(path: &Path) -> Result<Vec<(String, String)>, TokenizerError> {
    let text = limits::read_text(path)?;
    let lines = text.lines().enumerate();
    let pairs = lines.filter(|(_, line)| !line.starts_with("#version") && !line.is_empty());
    pairs
        .map(|(index, line)| {
            let pair =
                line.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned()));
            pair.ok_or_else(|| {
                unusable(path)(format!("line {} is not a pair of tokens", index + 1))
            })
        })
        .collect()
}

const END: &str = "<|endoftext|>";
