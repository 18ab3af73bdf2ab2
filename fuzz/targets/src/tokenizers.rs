//! Target for files of tokenizers.

use std::fs;

use servemark::core::{SpecialTokens, Tokenizer};
use servemark::tokenizer::HfTokenizer;

use crate::scratch;

/// Reads any bytes as a tokenizer: it is loaded or refused, and neither encoding nor decoding
/// panics. The first byte chooses the kind of file; the bytes after a line `----` are its
/// configuration.
pub fn tokenizers(bytes: &[u8]) {
    let Some((name, rest)) = scratch::choice(bytes, FILES.len()) else { return };
    let folder = scratch::folder().join("tokenizer");
    // A missing folder is as good as an empty one.
    let _ = fs::remove_dir_all(&folder);
    let cut = rest.windows(MARK.len()).position(|bytes| bytes == MARK);
    let (file, config) = match cut {
        Some(at) => (&rest[..at], Some(&rest[at + MARK.len()..])),
        None => (rest, None),
    };
    scratch::file(&format!("tokenizer/{}", FILES[name]), file);
    if let Some(config) = config {
        scratch::file("tokenizer/tokenizer_config.json", config);
    }
    scratch::file("tokenizer/merges.txt", b"#version: 0.2\na b\n");
    for load in [HfTokenizer::load, HfTokenizer::load_to_decode] {
        let Ok(tokenizer) = load(&folder) else { continue };
        let ids = tokenizer.encode("ab a\u{e9}\n  <s>", SpecialTokens::Add);
        let known = tokenizer.token_ids().iter().copied().take(64);
        let ids = ids.unwrap_or_default().into_iter().chain(known).chain([0, u32::MAX]);
        let _ = tokenizer.decode(&ids.collect::<Vec<u32>>());
        let _ = tokenizer.added_special_ids();
    }
}

const FILES: [&str; 6] = [
    "tokenizer.json",
    "qwen.tiktoken",
    "tekken.json",
    "vocab.json",
    "tokenizer.model",
    "cl100k_base.tiktoken",
];
const MARK: &[u8] = b"\n----\n";
