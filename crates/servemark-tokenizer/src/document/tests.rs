//! Both ways of loading give the same tokenizer, id by id.

use std::fs;
use std::path::PathBuf;

use tokenizers::pipeline::{EncodeOptions, Override, PipelineToken};

use super::*;
use crate::signs::sign;

fn plain(text: &str) -> Result<Loaded, TokenizerError> {
    let whole = of_value(Path::new("x.json"), serde_json::from_str(text).unwrap());
    Ok(whole?.map(Pipeline::Whole))
}

fn over_text(text: &str) -> Option<Loaded> {
    let canonical = Outline::of(text).and_then(Outline::whole)?;
    Some(canonical.parse()?.load()?.map(Pipeline::Whole))
}

fn encoded(loaded: &Loaded, text: &str) -> Vec<u32> {
    let options = EncodeOptions {
        add_special_tokens: true,
        encode_special_tokens: false,
        padding: Override::Off,
        truncation: Override::Off,
    };
    let mut tokens = Vec::new();
    loaded.pipeline.encoding().unwrap().encode_into(text, &options, &mut tokens).unwrap();
    tokens.into_iter().map(PipelineToken::id).collect()
}

fn in_two_steps(text: &str) -> Loaded {
    let document = Document::Text(text.to_owned());
    let loaded = document.load_to_decode(Path::new("x.json")).unwrap();
    assert!(!matches!(loaded.pipeline, Pipeline::Whole(_)));
    loaded
}

/// Returns pseudo-random ids that are the same in every run.
fn some_ids(count: usize, below: u32) -> Vec<u32> {
    let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    let states = std::iter::successors(Some(7_u64), next).skip(1).take(count);
    states.map(|state| ((state >> 33) % u64::from(below)) as u32).collect()
}

#[track_caller]
fn same(one: &Loaded, other: &Loaded) {
    assert_eq!((one.base_size, &one.ids), (other.base_size, &other.ids));
    for text in TEXTS {
        assert_eq!(encoded(one, text), encoded(other, text), "{text:?}");
    }
    let known = one.ids.len() as u32;
    for ids in some_ids(5_000, known).chunks(100) {
        let ids: Vec<u32> = ids.iter().map(|place| one.ids[*place as usize]).collect();
        let decoded = one.pipeline.decode(&ids).unwrap();
        assert_eq!(decoded, other.pipeline.decode(&ids).unwrap(), "{ids:?}");
        assert_eq!(encoded(one, &decoded), encoded(other, &decoded), "{ids:?}");
    }
}

#[test]
fn published_files_load_the_same_both_ways() {
    for name in ["gpt2", "mistral-v1-spm-bpe", "qwen2.5"] {
        let folder: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "../../fixtures/tokenizers", name].iter().collect();
        let text = fs::read_to_string(folder.join("tokenizer.json")).unwrap();
        let loaded = over_text(&text).unwrap_or_else(|| panic!("{name} took the plain way"));
        let plain = plain(&text).unwrap();
        same(&loaded, &plain);
        let in_steps = in_two_steps(&text);
        assert_eq!(is_of_bytes(&in_steps), name != "mistral-v1-spm-bpe", "{name}");
        same(&in_steps, &plain);
    }
}

fn is_of_bytes(loaded: &Loaded) -> bool {
    matches!(loaded.pipeline, Pipeline::Bytes(..))
}

/// Returns a small document around a model.
fn document(model: &str) -> String {
    format!(
        r#"{{"version": "1.0", "added_tokens": [{{"id": 9, "content": "<s>", "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false, "special": true}}],
            "normalizer": {{"type": "NFC"}}, "pre_tokenizer": {{"type": "Whitespace"}},
            "post_processor": null, "decoder": null, "model": {model}}}"#
    )
}

#[track_caller]
fn check(model: &str) {
    let text = document(model);
    let loaded = over_text(&text).unwrap_or_else(|| panic!("the plain way: {model}"));
    let plain = plain(&text).unwrap();
    same(&loaded, &plain);
    if model.contains("merges") {
        same(&in_two_steps(&text), &plain);
    }
}

#[test]
fn every_spelling_of_merges_is_read() {
    let vocabulary = r#""vocab": {"a": 0, "b": 1, "ab": 2, "\"": 3, "a\"": 4, "\u00e9": 5, "aé": 6,
        "abab": 7, "<unk>": 8}"#;
    for merges in [
        r#"["a b", "ab ab"]"#,
        r#"[["a", "b"], ["ab", "ab"]]"#,
        r##"["#version: 0.2", "a b", ["ab", "ab"], "a \""]"##,
        r#"["a\u0020b", "a \u00e9", "a é"]"#,
        "[]",
    ] {
        check(&format!(r#"{{"type": "BPE", {vocabulary}, "merges": {merges}}}"#));
        check(&format!(
            r#"{{"type": "BPE", "dropout": null, "unk_token": "<unk>", "fuse_unk": true,
                "byte_fallback": false, "ignore_merges": true, "continuing_subword_prefix": null,
                "end_of_word_suffix": "", "merges": {merges}, {vocabulary}}}"#
        ));
    }
}

#[test]
fn other_models_with_such_a_vocabulary_are_read() {
    let vocabulary = r###""vocab": {"[UNK]": 0, "a": 1, "##b": 2, "ab": 3, "a": 4}"###;
    check(&format!(r#"{{"type": "WordLevel", {vocabulary}, "unk_token": "[UNK]"}}"#));
    check(&format!(
        r###"{{"type": "WordPiece", {vocabulary}, "unk_token": "[UNK]",
            "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}}"###
    ));
}

#[test]
fn whatever_is_unusual_takes_the_plain_way() {
    for model in [
        // A missing type, scores in place of ids, an id that is a string, and an id that is a
        // fraction.
        r#"{"vocab": {"a": 0}, "merges": []}"#,
        r#"{"type": "Unigram", "vocab": [["a", -1.5]], "unk_id": 0}"#,
        r#"{"type": "BPE", "vocab": {"a": "0"}, "merges": []}"#,
        r#"{"type": "BPE", "vocab": {"a": 0.0}, "merges": []}"#,
        // A merge of three tokens, one that is a number, one outside the vocabulary, and no merges.
        r#"{"type": "BPE", "vocab": {"a": 0}, "merges": ["a a a"]}"#,
        r#"{"type": "BPE", "vocab": {"a": 0}, "merges": [7]}"#,
        r#"{"type": "BPE", "vocab": {"a": 0, "bbb": 1}, "merges": ["a a"]}"#,
        r#"{"type": "BPE", "vocab": {"a": 0}}"#,
        r#"{"type": "Unheard", "vocab": {"a": 0}}"#,
    ] {
        let text = document(model);
        assert!(over_text(&text).is_none(), "{model}");
        let loaded = of_text(Path::new("x.json"), &text).map(|whole| whole.map(Pipeline::Whole));
        let expected = plain(&text);
        match (loaded, expected) {
            (Ok(loaded), Ok(expected)) => same(&loaded, &expected),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected.to_string()),
            (loaded, _) => panic!("{model}: only one way fails: {:?}", loaded.err()),
        }
    }
}

/// Returns a byte-level BPE with `more` tokens after the 256 of one byte each, and the `added`
/// tokens, which are matched in a text before it is split.
fn byte_level(more: &Value, added: &Value) -> String {
    let mut vocab: JsonObject =
        (0..=u8::MAX).map(|byte| (sign(byte).to_string(), byte.into())).collect();
    vocab.extend(more.as_object().unwrap().clone());
    json!({
        "version": "1.0",
        "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [258], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocab, "merges": [["a", "b"]]},
    })
    .to_string()
}

fn added(id: u32, content: &str, normalized: bool) -> Value {
    json!({
        "id": id, "content": content, "normalized": normalized, "special": true,
        "single_word": false, "lstrip": false, "rstrip": false,
    })
}

#[track_caller]
fn takes_bytes(text: &str, expected: bool) {
    let (loaded, plain) = (in_two_steps(text), plain(text).unwrap());
    assert_eq!(is_of_bytes(&loaded), expected);
    same(&loaded, &plain);
    for token in ["<s>", "<é>", "ab", "nothing"] {
        let ids = |loaded: &Loaded| loaded.pipeline.token_ids(token).unwrap();
        assert_eq!(ids(&loaded), ids(&plain), "{token}");
    }
    assert_eq!(loaded.pipeline.wrapping(), plain.pipeline.wrapping());
    let beyond = [0, 4_000_000, 97];
    assert_eq!(loaded.pipeline.decode(&beyond).unwrap(), plain.pipeline.decode(&beyond).unwrap());
}

#[test]
fn a_byte_level_vocabulary_is_a_table() {
    let more = json!({"ab": 256, "Ġa\u{a0}東": 257});
    let usual = json!([added(258, "<s>", false), added(259, "<é>", false)]);
    takes_bytes(&byte_level(&more, &usual), true);
    takes_bytes(&byte_level(&more, &json!([])), true);
    // An added token that is also in the vocabulary, and one that is contained in another.
    let known = json!([added(256, "ab", false), added(258, "<s>", false), added(259, "s>", false)]);
    takes_bytes(&byte_level(&more, &known), true);
    // A normalized token in a document whose normalizer changes nothing.
    let normalized = json!([added(258, "<e\u{301}>", true)]);
    let nothing = json!({"type": "Sequence", "normalizers": []}).to_string();
    let unchanged = byte_level(&more, &normalized).replace(r#"{"type":"NFC"}"#, &nothing);
    takes_bytes(&unchanged, true);
    // Ids without a token.
    takes_bytes(&byte_level(&json!({"ab": 256, "abab": 300}), &json!([])), true);
}

#[test]
fn what_the_library_numbers_or_spells_otherwise_is_left_to_it() {
    let more = json!({"ab": 256, "abab": 257});
    for unusual in [
        json!([added(300, "<s>", false)]),
        json!([added(258, "<s>", false), added(259, "<s>", false)]),
        json!([added(258, "<e\u{301}>", true)]),
        json!([added(258, "ab", false)]),
    ] {
        takes_bytes(&byte_level(&more, &unusual), false);
    }
    // The library does not always decode the same one of two tokens with one id.
    let twice = byte_level(&json!({"ab": 256, "abab": 256}), &json!([]));
    assert!(!is_of_bytes(&in_two_steps(&twice)));
}

const TEXTS: [&str; 8] = [
    "",
    "ab abab a\" é aé <s> zz a b",
    "The quick brown fox, jumping over 12345 lazy dogs!\n\n\tdef f(x):  return x**2  # done",
    "Grüße, Señor Ñandú — naïve café; \u{1f600}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "こんにちは世界。東京都の天気は？ 안녕하세요 Привет мир שלום مرحبا",
    "<|im_start|>user\nHi<|im_end|>\n<|endoftext|><s></s>[INST] x [/INST]",
    " \u{a0}\u{2003} spaces   and\ttabs\r\n\u{0}\u{7f}\u{ad}",
    "Combining: e\u{301} and ﬁ, ① ½, 𝒳, ＡＢＣ",
];

#[test]
fn what_is_wrong_with_merges_is_told_when_they_are_needed() {
    let text = document(r#"{"type": "BPE", "vocab": {"a": 0, "bbb": 1}, "merges": ["a a"]}"#);
    let loaded = in_two_steps(&text);
    assert_eq!(loaded.pipeline.decode(&[1]).unwrap(), "bbb");
    let (late, at_once) = (loaded.pipeline.encoding().err(), plain(&text).err());
    assert_eq!(late.map(|error| error.to_string()), at_once.map(|error| error.to_string()));
}
