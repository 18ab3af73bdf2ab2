//! Mistral's own layout, compared with vLLM's `--tokenizer-mode mistral`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use servemark_core::{JsonObject, SpecialTokens, Tokenizer};
use servemark_tokenizer::{HfTokenizer, TokenizerSpec};
use tempfile::TempDir;

use crate::{GPT2, folder};

#[derive(Deserialize)]
struct Golden {
    vocab_size: u32,
    special_ids: usize,
    special_tokens_added: u32,
    texts: Vec<Sample>,
    rows: Vec<Ids>,
    rendered: Vec<Rendered>,
}

#[derive(Deserialize)]
struct Sample {
    text: String,
    ids: Vec<u32>,
    bare: Vec<u32>,
    decoded: String,
}

#[derive(Deserialize)]
struct Ids {
    ids: Vec<u32>,
    decoded: String,
}

#[derive(Deserialize)]
struct Rendered {
    content: String,
    text: String,
}

fn file(name: &str) -> Value {
    let path = folder("tekken").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Copies the file as another version, or without the names of its special tokens.
fn of_version(name: &str) -> (TempDir, PathBuf) {
    let mut document = file("tekken.json");
    if name == "unnamed" {
        document.as_object_mut().unwrap().remove("special_tokens");
    } else {
        document["config"]["version"] = json!(name);
    }
    let made = tempfile::tempdir().unwrap();
    let path = made.path().join("tekken.json");
    fs::write(&path, document.to_string()).unwrap();
    (made, path)
}

fn user_message(content: &str) -> Vec<JsonObject> {
    vec![json!({"role": "user", "content": content}).as_object().unwrap().clone()]
}

#[track_caller]
fn check(name: &str, golden: &Golden) {
    let (folder, _path) = of_version(name);
    let tokenizer = HfTokenizer::load(folder.path()).unwrap();
    assert_eq!(tokenizer.vocab_size(), golden.vocab_size);
    assert_eq!(tokenizer.special_tokens_added(), golden.special_tokens_added);
    assert_eq!(tokenizer.special_ids().len(), golden.special_ids);
    assert_eq!(tokenizer.added_special_ids().unwrap(), tokenizer.special_ids());
    for Sample { text, ids, bare, decoded } in &golden.texts {
        assert_eq!(&tokenizer.encode(text, SpecialTokens::Add).unwrap(), ids, "{text:?}");
        assert_eq!(&tokenizer.encode(text, SpecialTokens::Omit).unwrap(), bare, "{text:?}");
        assert_eq!(&tokenizer.decode(bare).unwrap(), decoded, "{text:?}");
    }
    for Ids { ids, decoded } in &golden.rows {
        assert_eq!(&tokenizer.decode(ids).unwrap(), decoded, "{ids:?}");
    }
    for Rendered { content, text } in &golden.rendered {
        assert_eq!(&tokenizer.apply_chat_template(&user_message(content)).unwrap(), text);
    }
}

#[test]
fn every_version_is_read_as_vllm_reads_it() {
    let goldens: BTreeMap<String, Golden> = serde_json::from_value(file("goldens.json")).unwrap();
    assert_eq!(goldens.len(), 5, "a version was added or lost");
    for (name, golden) in &goldens {
        check(name, golden);
    }
}

#[test]
fn what_versions_render_differently_is_refused() {
    let (_folder, path) = of_version("v3");
    let tokenizer = HfTokenizer::load(&path).unwrap();
    let two = [user_message("Hi"), user_message("Ho")].concat();
    let error = tokenizer.apply_chat_template(&two).unwrap_err().to_string();
    assert!(error.contains("only conversations of one user message can be rendered"), "{error}");
    let (_folder, path) = of_version("v15");
    let error =
        HfTokenizer::load(&path).unwrap().apply_chat_template(&user_message("Hi")).unwrap_err();
    assert!(error.to_string().contains("no chat template"), "{error}");
}

#[test]
fn what_is_beside_it_belongs_to_another_tokenizer() {
    let (made, path) = of_version("v3");
    fs::copy(folder(GPT2).join("tokenizer.json"), made.path().join("tokenizer.json")).unwrap();
    fs::write(made.path().join("chat_template.jinja"), "another").unwrap();
    let spec = TokenizerSpec::new(made.path().to_string_lossy());
    assert_eq!(spec.load().unwrap().vocab_size(), 50_257);
    assert_eq!(spec.mistrals().source(), path.to_string_lossy());
    let tokenizer = spec.mistrals().load().unwrap();
    assert_eq!(tokenizer.vocab_size(), 4000);
    assert_eq!(tokenizer.apply_chat_template(&user_message("Hi")).unwrap(), "<s>[INST]Hi[/INST]");
}

#[test]
fn a_folder_without_it_says_what_to_do() {
    let spec = TokenizerSpec::new(folder(GPT2).to_string_lossy()).mistrals();
    let error = spec.load().unwrap_err().to_string();
    assert!(error.contains("without `model.mistral_tokenizer`"), "{error}");
}

#[test]
fn broken_files_say_why() {
    let broken = |name: &str, change: fn(&mut Value)| {
        let (_folder, path) = of_version(name);
        let mut document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut document);
        fs::write(&path, document.to_string()).unwrap();
        HfTokenizer::load(&path).unwrap_err().to_string()
    };
    let error = broken("v3", |file| file["vocab"][7]["token_bytes"] = json!("?"));
    assert!(error.contains("token 1007 is not in base64"), "{error}");
    let error = broken("v3", |file| file["vocab"] = json!([]));
    assert!(error.contains("it has 0 tokens but declares 3000"), "{error}");
    let error = broken("v3", |file| file["special_tokens"] = json!([]));
    assert!(error.contains("it has no special token <s>"), "{error}");
}
