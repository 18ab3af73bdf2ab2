//! Files from a hub that would exhaust the memory are refused with the file and the limit.

use std::fs;

use serde_json::{Value, json};
use servemark_core::{JsonObject, Tokenizer};
use servemark_tokenizer::HfTokenizer;
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Checks that both ways of loading refuse the folder and name the file.
#[track_caller]
fn refuses(files: &[(&str, &str)], expected: &str) {
    let folder = folder(files);
    for load in [HfTokenizer::load, HfTokenizer::load_to_decode] {
        let error = load(folder.path()).unwrap_err().to_string();
        assert!(error.contains(files[0].0) && error.contains(expected), "{error}");
    }
}

/// Returns a small tokenizer in today's layout.
fn document() -> Value {
    let vocab = json!({"a": 0, "b": 1, "ab": 2});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": false, "vocab": vocab, "merges": [["a", "b"]],
        },
    })
}

#[test]
fn a_huge_token_id_is_refused_wherever_it_stands() {
    let huge = u64::from(u32::MAX);
    for id in [huge, huge + 1, 4_000_001] {
        let expected = format!("it has a token with the id {id}, and 4000000 is the largest");
        let mut of_vocabulary = document();
        of_vocabulary["model"]["vocab"]["c"] = json!(id);
        refuses(&[("tokenizer.json", &of_vocabulary.to_string())], &expected);
        let mut added = document();
        added["added_tokens"] = json!([{
            "id": id, "content": "<x>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        }]);
        refuses(&[("tokenizer.json", &added.to_string())], &expected);
        // The form of merges in older files.
        added["model"]["merges"] = json!(["a b"]);
        refuses(&[("tokenizer.json", &added.to_string())], &expected);
    }
    let expected = "it has a token with the id 4294967295, and 4000000 is the largest";
    refuses(&[("qwen.tiktoken", "YQ== 0\nYg== 4294967295\n")], expected);
    let tekken = |vocabulary: u32, special: u32| {
        let config = json!({
            "pattern": "a", "default_vocab_size": vocabulary,
            "default_num_special_tokens": special, "version": "v3",
        });
        json!({"config": config, "vocab": []}).to_string()
    };
    refuses(&[("tekken.json", &tekken(u32::MAX, 1000))], expected);
    refuses(&[("tekken.json", &tekken(1000, u32::MAX))], expected);
    let entry = |id: u32| json!({"bytes": [97], "token": id});
    let ranks = json!({
        "regular_tokens": [entry(0)], "special_tokens": [entry(u32::MAX)], "word_split": "V1",
    });
    refuses(&[("tokenizer.json", &ranks.to_string())], expected);
}

#[test]
fn replacements_that_double_a_text_are_refused() {
    let double = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
    let steps = json!({"type": "Sequence", "normalizers": vec![double.clone(); 40]});
    let mut normalizing = document();
    normalizing["normalizer"] = steps;
    let expected = "its replacements make a text more than 10000 times longer";
    refuses(&[("tokenizer.json", &normalizing.to_string())], expected);
    let mut few = document();
    few["normalizer"] = double;
    HfTokenizer::load(folder(&[("tokenizer.json", &few.to_string())]).path()).unwrap();
}

#[test]
fn deep_nesting_in_a_tokenizer_is_refused() {
    let deep = format!("{{\"normalizer\": {}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    refuses(&[("tokenizer.json", &deep)], "recursion limit exceeded");
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = folder(&[("tokenizer.json", "{")]);
    let file = fs::OpenOptions::new().write(true).open(folder.path().join("tokenizer.json"));
    // A sparse file takes no space on the disk.
    file.unwrap().set_len(300 << 20).unwrap();
    let error = HfTokenizer::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("it has more than 268435456 bytes, which is the limit"), "{error}");
}

#[test]
fn a_chat_template_that_doubles_a_text_is_refused() {
    let template = "{% set ns = namespace(x=messages[0].content) %}{% for i in range(60) %}\
                    {% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}";
    let folder =
        folder(&[("tokenizer.json", &document().to_string()), ("chat_template.jinja", template)]);
    let tokenizer = HfTokenizer::load(folder.path()).unwrap();
    let message = json!({"role": "user", "content": "ab"}).as_object().unwrap().clone();
    let error = tokenizer.render_chat(&[message], &JsonObject::new()).unwrap_err().to_string();
    assert!(error.contains("it makes a text of more than 33554432 bytes"), "{error}");
}
