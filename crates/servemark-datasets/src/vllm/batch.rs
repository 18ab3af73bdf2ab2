//! Prompts of `vllm bench latency`: arbitrary token ids, all of one length.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{DrawContext, Prompt, Sample};

use crate::fitting::as_ids;

/// A repeated batch of prompts made of token ids, drawn from the run's generator. Their text is
/// irrelevant, so no tokenizer is needed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmBatchSpec {
    /// Number of prompts in the batch.
    pub size: NonZero<u32>,
    /// Length of each prompt, in tokens.
    pub input_tokens: u32,
    /// Length of each output, in tokens.
    pub output_tokens: u32,
}

impl Default for VllmBatchSpec {
    fn default() -> Self {
        let size = NonZero::<u32>::MIN.saturating_add(7);
        Self { size, input_tokens: 32, output_tokens: 128 }
    }
}

impl VllmBatchSpec {
    pub(super) fn draw(&self, count: usize, context: &mut DrawContext<'_>) -> Vec<Sample> {
        let (size, length) = (self.size.get() as usize, self.input_tokens as usize);
        let ids = as_ids(context.random.numpy.randint_vec(0, IDS, size * length));
        let prompt = |row: usize| Prompt::TokenIds(ids[row % size * length..][..length].into());
        let sample = |row| Sample::new(prompt(row), self.input_tokens, self.output_tokens);
        (0..count).map(sample).collect()
    }
}

/// Upper bound (exclusive) of the drawn ids; vLLM assumes that every vocabulary has them.
const IDS: i64 = 10_000;
