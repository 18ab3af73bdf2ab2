//! Tests data sets against recordings of the real clients, SGLang 0.5.23 and vLLM 0.33.0, and
//! against malformed input.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aisbench;
mod bad_input;
mod bad_traces;
mod draws;
mod evalscope;
mod evalscope_flags;
mod goldens;
mod mooncake;
mod pictures;
mod sglang_flags;
mod traces;
mod vllm;
mod vllm_batch;
mod vllm_conversations;
mod vllm_flags;
mod vllm_media;

use std::path::PathBuf;
use std::sync::LazyLock;

use servemark_core::{DatasetError, DrawContext, NoProgress, Prompt, Tokenizer};
use servemark_datasets::{DatasetSpec, Draw};
use servemark_rng::RandomState;
use servemark_tokenizer::HfTokenizer;

fn fixture(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", path].iter().collect()
}

/// Returns a tokenizer of the fixtures, loaded once.
fn tokenizer(folder: &str) -> &'static HfTokenizer {
    const FOLDERS: [&str; 4] =
        ["gpt2", "mistral-v1-spm-bpe", "qwen2.5", "spm-unigram-botchan-1000"];
    static ALL: [LazyLock<HfTokenizer>; 4] = [
        LazyLock::new(|| HfTokenizer::load(&fixture("tokenizers/gpt2")).unwrap()),
        LazyLock::new(|| HfTokenizer::load(&fixture("tokenizers/mistral-v1-spm-bpe")).unwrap()),
        LazyLock::new(|| HfTokenizer::load(&fixture("tokenizers/qwen2.5")).unwrap()),
        LazyLock::new(|| {
            HfTokenizer::load(&fixture("tokenizers/spm-unigram-botchan-1000")).unwrap()
        }),
    ];
    &ALL[FOLDERS.iter().position(|known| *known == folder).unwrap()]
}

/// Returns the text of a prompt.
fn text(prompt: &Prompt) -> String {
    prompt.text().unwrap().into_owned()
}

fn draw(
    spec: &DatasetSpec,
    count: usize,
    tokenizer: &dyn Tokenizer,
    random: &mut RandomState,
) -> Result<Draw, DatasetError> {
    spec.draw(count, &mut DrawContext::new(tokenizer, random, &NoProgress))
}
