//! The layouts in which models ship their tokenizers, each converted to that of `tokenizer.json`.

mod byte_level;
mod encodings;
mod read;
mod sglang_json;
mod tekken;
mod tiktoken;
mod word_pairs;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use servemark_core::TokenizerError;

pub(crate) use self::read::Read;
pub(crate) use self::tekken::FILE as TEKKEN;
use crate::config::Config;
use crate::document::Document;
use crate::error::{unsupported, unusable};
use crate::limits;

/// Returns the file of a folder that defines its tokens. Earlier names are preferred.
pub(crate) fn vocabulary_of(folder: &Path) -> Option<PathBuf> {
    let named = |name: &str| Some(folder.join(name)).filter(|path| path.is_file());
    named("tokenizer.json")
        .or_else(|| named("tiktoken.model"))
        .or_else(|| first_ending_with(folder, ".tiktoken"))
        .or_else(|| named("vocab.json"))
        .or_else(|| named("tokenizer.model"))
        .or_else(|| named(TEKKEN))
}

/// Reads a tokenizer in any supported layout.
pub(crate) fn read(path: &Path, config: &Config) -> Result<Read, TokenizerError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".gguf") {
        return Err(unsupported(path, "GGUF files are not read"));
    }
    if name.ends_with(".tiktoken") || name.ends_with(".model") {
        let bytes = limits::read(path)?;
        return tiktoken::read(path, &name, bytes, config);
    }
    let text = limits::read_text(path)?;
    if name != "vocab.json" && name != TEKKEN && !text.contains("\"regular_tokens\"") {
        return Ok(Read::without_config(Document::Text(text)));
    }
    let json: Value = serde_json::from_str(&text).map_err(unusable(path))?;
    match &*name {
        TEKKEN => tekken::read(path, json),
        "vocab.json" => word_pairs::read(path, json, config),
        _ if json.get("regular_tokens").is_some() => sglang_json::read(path, json),
        _ => Ok(Read::without_config(Document::Value(json))),
    }
}

fn first_ending_with(folder: &Path, ending: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().ends_with(ending) && path.is_file()).min()
}
