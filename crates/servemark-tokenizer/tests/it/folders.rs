//! Loading of folders: unusable ones, and small ones made for a purpose.

use std::fs;
use std::path::Path;

use servemark_core::{JsonObject, SpecialTokens, Tokenizer, TokenizerError};
use servemark_tokenizer::{HfTokenizer, TokenizerSpec};
use tempfile::TempDir;

use crate::{GPT2, folder, tokenizer};

/// A word-level tokenizer that adds `<s>` and asks for truncation and padding to two tokens.
const TINY: &str = r#"{
    "version": "1.0",
    "truncation": {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
    "padding": {"strategy": {"Fixed": 2}, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"},
    "added_tokens": [
        {"id": 4, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true},
        {"id": 5, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}}},
    "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1, "b": 2, "c": 3},
        "unk_token": "<unk>"}
}"#;

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[track_caller]
fn fails(path: &Path, expected: &str) {
    let error = HfTokenizer::load(path).unwrap_err().to_string();
    let expected = expected.replace("DIR", path.to_str().unwrap());
    assert_eq!(error, expected.replace("OPTION", "as the tokenizer"));
}

#[test]
fn what_is_missing_is_named() {
    let missing = "DIR is not there; give a folder that holds a tokenizer.json OPTION";
    fails(Path::new("/absent/folder"), missing);
    let empty = folder_with(&[]);
    fails(empty.path(), &missing.replace("DIR", "DIR/tokenizer.json"));
}

#[test]
fn garbage_is_named() {
    let garbage = folder_with(&[("tokenizer.json", "not JSON")]);
    fails(
        garbage.path(),
        "DIR/tokenizer.json is not a usable tokenizer: expected ident at line 1 column 2",
    );
    let other = folder_with(&[("tokenizer.json", "{}")]);
    fails(other.path(), "DIR/tokenizer.json is not a usable tokenizer: the config has no `model`");
    let config = folder_with(&[("tokenizer.json", TINY), ("tokenizer_config.json", "{")]);
    fails(
        config.path(),
        "DIR/tokenizer_config.json is not a usable tokenizer: EOF while parsing an object at \
         line 1 column 1",
    );
}

#[test]
fn nothing_is_truncated_or_padded() {
    let folder = folder_with(&[("tokenizer.json", TINY)]);
    let tokenizer = HfTokenizer::load(folder.path()).unwrap();
    assert_eq!(tokenizer.encode("a b c a", SpecialTokens::Add).unwrap(), [4, 1, 2, 3, 1]);
    assert_eq!(tokenizer.encode("a", SpecialTokens::Omit).unwrap(), [1]);
}

#[track_caller]
fn wraps(config: &str, expected: &[u32]) {
    let folder = folder_with(&[("tokenizer.json", TINY), ("tokenizer_config.json", config)]);
    let tokenizer = HfTokenizer::load(folder.path()).unwrap();
    assert_eq!(tokenizer.encode("b", SpecialTokens::Add).unwrap(), expected);
    assert_eq!(tokenizer.special_tokens_added() as usize, expected.len() - 1);
}

#[test]
fn the_configuration_overrides_what_is_added() {
    wraps("{}", &[4, 2]);
    wraps(r#"{"add_bos_token": false}"#, &[2]);
    wraps(r#"{"add_eos_token": true, "eos_token": "</s>"}"#, &[2, 5]);
    wraps(r#"{"add_bos_token": true, "bos_token": {"content": "<s>"}}"#, &[4, 2]);
    wraps(r#"{"add_bos_token": true, "bos_token": null}"#, &[2]);
}

#[test]
fn a_special_token_is_one_token() {
    let config = r#"{"add_bos_token": true, "bos_token": "a b"}"#;
    let folder = folder_with(&[("tokenizer.json", TINY), ("tokenizer_config.json", config)]);
    fails(
        folder.path(),
        "DIR/tokenizer.json is not a usable tokenizer: the special token \"a b\" of its \
         tokenizer_config.json is 2 tokens",
    );
}

#[test]
fn a_template_file_wins_over_the_configuration() {
    let named = r#"{"chat_template": [{"name": "tools", "template": "no"},
        {"name": "default", "template": "{{ messages[0].content }}!"}]}"#;
    let mut files = vec![("tokenizer.json", TINY), ("tokenizer_config.json", named)];
    assert_eq!(rendered(&files), "hi!");
    files.push(("chat_template.jinja", "<{{ messages[0].content }}>"));
    assert_eq!(rendered(&files), "<hi>");
}

fn rendered(files: &[(&str, &str)]) -> String {
    let message: JsonObject = serde_json::from_str(r#"{"role":"user","content":"hi"}"#).unwrap();
    let folder = folder_with(files);
    HfTokenizer::load(folder.path()).unwrap().apply_chat_template(&[message]).unwrap()
}

#[test]
fn without_a_template_nothing_renders() {
    let error = tokenizer(GPT2).apply_chat_template(&[]).unwrap_err();
    assert!(matches!(error, TokenizerError::NoChatTemplate), "{error}");
    assert!(!folder(GPT2).join("chat_template.jinja").exists());
}

#[test]
fn a_chat_template_is_found_without_loading() {
    let message: JsonObject =
        serde_json::from_str(r#"{"role": "user", "content": "hello"}"#).unwrap();
    let of_files = |files: &[(&str, &str)]| folder_with(files);
    let beside = of_files(&[("tokenizer.json", TINY), ("chat_template.jinja", "{{ 1 }}")]);
    let configured = r#"{"chat_template": [{"name": "default", "template": "{{ 2 }}"}]}"#;
    let configured = of_files(&[("tokenizer.json", TINY), ("tokenizer_config.json", configured)]);
    let without = of_files(&[("tokenizer.json", TINY)]);
    let made = [&beside, &configured, &without].map(|folder| folder.path().to_owned());
    let stored = ["gpt2", "qwen2.5-small", "tiktoken/sglang.json", "tekken"].map(folder);
    let mut found = Vec::new();
    for path in made.iter().chain(&stored) {
        let spec = TokenizerSpec::new(path.to_string_lossy());
        let rendered = spec.load().unwrap().apply_chat_template(std::slice::from_ref(&message));
        let has_one = spec.has_chat_template().unwrap();
        assert_eq!(has_one, !matches!(rendered, Err(TokenizerError::NoChatTemplate)), "{path:?}");
        found.push(has_one);
    }
    assert_eq!(found[..5], [true, true, false, false, true]);
    assert!(found[5], "a part of SGLang's layout");
    let empty = of_files(&[]);
    let spec = TokenizerSpec::new(empty.path().to_string_lossy());
    for error in [spec.find().unwrap_err(), spec.has_chat_template().unwrap_err()] {
        assert!(matches!(error, TokenizerError::Missing { .. }), "{error}");
    }
}
