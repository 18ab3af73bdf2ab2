//! Sizes and lists of ids that describe a whole tokenizer.

use servemark_core::Tokenizer;
use servemark_tokenizer::{HfTokenizer, TokenizerSpec};

use crate::{BOTCHAN, GPT2, MISTRAL, QWEN, folder, tokenizer};

#[track_caller]
fn check(name: &str, vocab_size: u32, special_tokens: u32, bos_token: Option<&str>) {
    let tokenizer = tokenizer(name);
    assert_eq!(tokenizer.vocab_size(), vocab_size);
    assert_eq!(tokenizer.special_tokens_added(), special_tokens);
    assert_eq!(tokenizer.bos_token(), bos_token);
}

#[test]
fn vocabularies_are_counted_without_added_tokens() {
    check(GPT2, 50_257, 0, Some("<|endoftext|>"));
    check(MISTRAL, 32_000, 1, None);
    check(QWEN, 151_643, 0, None);
    check(BOTCHAN, 1000, 0, None);
}

#[test]
fn every_id_of_a_vocabulary_is_known_added_tokens_included() {
    for (name, ids) in [(GPT2, 50_257), (MISTRAL, 32_000), (QWEN, 151_665), (BOTCHAN, 1000)] {
        assert!(tokenizer(name).token_ids().iter().copied().eq(0..ids), "{name}");
    }
}

#[test]
fn a_file_stands_for_its_folder() {
    let file = folder(GPT2).join("tokenizer.json");
    let by_file = HfTokenizer::load(&file).unwrap();
    assert_eq!(by_file.bos_token(), Some("<|endoftext|>"));
    let by_spec = TokenizerSpec::new(folder(GPT2).to_str().unwrap()).load().unwrap();
    assert_eq!(format!("{by_file:?}"), format!("{by_spec:?}"));
}

#[test]
fn one_tokenizer_serves_all_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(tokenizer(GPT2));
}
