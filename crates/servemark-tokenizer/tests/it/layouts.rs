//! Tokenizers without a `tokenizer.json`, compared with recordings of the Python libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use servemark_core::{JsonObject, SpecialTokens, Tokenizer};
use servemark_tokenizer::HfTokenizer;
use tempfile::TempDir;

use crate::{GPT2, QWEN, folder, tokenizer};

#[derive(Deserialize)]
struct Golden {
    vocab_size: u32,
    rows: Vec<Row>,
    #[serde(default)]
    rendered: Vec<Rendered>,
}

#[derive(Deserialize)]
struct Row {
    text: String,
    ids: Vec<u32>,
    decoded: String,
}

#[derive(Deserialize)]
struct Rendered {
    messages: Vec<JsonObject>,
    text: String,
}

/// Kimi names its tokens in the configuration.
const KIMI: &str = r#"{"added_tokens_decoder": {"12000": {"content": "[BOS]"},
    "12001": {"content": "[EOS]"}, "12002": {"content": "<|im_end|>"}}}"#;

fn recorded(name: &str) -> Golden {
    let text = fs::read_to_string(folder("tiktoken").join("goldens.json")).unwrap();
    let mut goldens: BTreeMap<String, Golden> = serde_json::from_str(&text).unwrap();
    goldens.remove(name).unwrap()
}

/// Creates a folder with the file of ranks under this name.
fn folder_of(name: &str, config: &str) -> TempDir {
    let made = tempfile::tempdir().unwrap();
    fs::copy(folder("tiktoken").join("ranks.tiktoken"), made.path().join(name)).unwrap();
    fs::write(made.path().join("tokenizer_config.json"), config).unwrap();
    made
}

#[track_caller]
fn check(path: &Path, golden: &Golden) {
    let tokenizer = HfTokenizer::load(path).unwrap();
    assert_eq!(tokenizer.vocab_size(), golden.vocab_size);
    assert_eq!(tokenizer.special_tokens_added(), 0);
    for Row { text, ids, decoded } in &golden.rows {
        assert_eq!(&tokenizer.encode(text, SpecialTokens::Add).unwrap(), ids, "{text:?}");
        assert_eq!(&tokenizer.decode(ids).unwrap(), decoded, "{text:?}");
    }
}

#[track_caller]
fn check_ranks(name: &str, config: &str) {
    check(folder_of(name, config).path(), &recorded(name));
}

#[test]
fn qwens_first_models() {
    check_ranks("qwen.tiktoken", "{}");
}

#[test]
fn kimi() {
    check_ranks("tiktoken.model", KIMI);
}

#[test]
fn ranks_in_a_tokenizer_model() {
    check_ranks("tokenizer.model", "{}");
}

#[test]
fn encodings_of_the_python_library() {
    for name in ["cl100k_base.tiktoken", "o200k_base.tiktoken", "r50k_base.tiktoken"] {
        check_ranks(name, "{}");
    }
}

#[test]
fn sglangs_json() {
    let (path, golden) = (folder("tiktoken").join("sglang.json"), recorded("sglang.json"));
    check(&path, &golden);
    let tokenizer = HfTokenizer::load(&path).unwrap();
    assert_eq!(golden.rendered.len(), 2);
    for Rendered { messages, text } in &golden.rendered {
        assert_eq!(&tokenizer.apply_chat_template(messages).unwrap(), text);
    }
}

/// Creates a folder with `vocab.json` and `merges.txt` from the contents of a `tokenizer.json`.
fn pairs_of(name: &str, config: &str) -> TempDir {
    let text = fs::read_to_string(folder(name).join("tokenizer.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let made = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(made.path().join(name), text).unwrap();
    write("vocab.json", &json["model"]["vocab"].to_string());
    let pairs = json["model"]["merges"].as_array().unwrap().iter().map(|pair| match pair {
        serde_json::Value::String(pair) => pair.clone(),
        pair => format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
    });
    write("merges.txt", &format!("#version: 0.2\n{}\n", pairs.collect::<Vec<_>>().join("\n")));
    write("tokenizer_config.json", config);
    made
}

#[test]
fn vocabulary_and_merges_make_the_same_tokenizer() {
    let texts = recorded("qwen.tiktoken").rows.into_iter().map(|row| row.text);
    let texts: Vec<String> = texts.collect();
    let qwen = fs::read_to_string(folder(QWEN).join("tokenizer_config.json")).unwrap();
    for (name, config) in [(GPT2, "{}"), (QWEN, qwen.as_str())] {
        let loaded = HfTokenizer::load(pairs_of(name, config).path()).unwrap();
        assert_eq!(loaded.vocab_size(), tokenizer(name).vocab_size());
        for text in &texts {
            let ids = loaded.encode(text, SpecialTokens::Add).unwrap();
            assert_eq!(ids, tokenizer(name).encode(text, SpecialTokens::Add).unwrap(), "{text:?}");
        }
    }
}

#[track_caller]
fn fails(path: &Path, words: &[&str]) {
    let error = HfTokenizer::load(path).unwrap_err().to_string();
    for word in words.iter().chain([&path.to_str().unwrap()]) {
        assert!(error.contains(word), "{word:?} is not in {error}");
    }
}

/// Creates a folder with one file.
fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let made = tempfile::tempdir().unwrap();
    let path = made.path().join(name);
    fs::write(&path, bytes).unwrap();
    (made, path)
}

#[test]
fn layouts_that_are_not_read_say_what_to_do() {
    let cure = "save_pretrained(DIR)";
    for (name, bytes, why) in [
        ("tokenizer.model", &b"\n\x0e\n\x05<unk>\x15"[..], "SentencePiece models are not read"),
        ("tokenizer.model", b"\xff\xfe", "SentencePiece models are not read"),
        ("model.gguf", b"GGUF", "GGUF files are not read"),
        (
            "unheard.tiktoken",
            b"YQ== 0\n",
            "known only for cl100k_base.tiktoken, o200k_base.tiktoken",
        ),
    ] {
        let (_folder, path) = file(name, bytes);
        fails(&path, &[why, cure]);
    }
}

#[test]
fn broken_files_are_named_with_their_line() {
    let (_folder, path) = file("qwen.tiktoken", b"YQ== 0\nYg==\n");
    fails(&path, &["line 2 is not a token in base64 and its rank"]);
    let (_folder, path) =
        file("own.json", br#"{"regular_tokens": [], "special_tokens": [], "word_split": "V2"}"#);
    fails(&path, &["word_split \"V2\""]);
    let (folder, path) = file("vocab.json", br#"{"a": 0}"#);
    let merges = folder.path().join("merges.txt");
    let error = HfTokenizer::load(&path).unwrap_err().to_string();
    assert!(error.contains(merges.to_str().unwrap()), "{error}");
    fs::write(&merges, "#version: 0.2\na\n").unwrap();
    let error = HfTokenizer::load(&path).unwrap_err().to_string();
    assert!(error.contains("merges.txt") && error.contains("line 2 is not a pair"), "{error}");
    fs::write(&merges, "").unwrap();
    fs::write(
        folder.path().join("tokenizer_config.json"),
        r#"{"tokenizer_class": "RobertaTokenizer"}"#,
    )
    .unwrap();
    fails(&path, &["the layout of a RobertaTokenizer is not read"]);
}
