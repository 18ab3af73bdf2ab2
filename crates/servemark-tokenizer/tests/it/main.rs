//! Real tokenizers, compared with transformers 5.23 on the same folders.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chat_templates;
mod folders;
mod hostile;
mod layouts;
mod sizes;
mod tekken;
mod texts;

use std::path::PathBuf;
use std::sync::LazyLock;

use servemark_tokenizer::HfTokenizer;

const GPT2: &str = "gpt2";
const MISTRAL: &str = "mistral-v1-spm-bpe";
const QWEN: &str = "qwen2.5";
const BOTCHAN: &str = "spm-unigram-botchan-1000";

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures/tokenizers", name].iter().collect()
}

/// The tokenizers by name, each loaded once.
fn tokenizer(name: &str) -> &'static HfTokenizer {
    static ALL: LazyLock<[(&str, HfTokenizer); 4]> = LazyLock::new(|| {
        [GPT2, MISTRAL, QWEN, BOTCHAN].map(|name| (name, HfTokenizer::load(&folder(name)).unwrap()))
    });
    &ALL.iter().find(|(known, _)| *known == name).unwrap().1
}
