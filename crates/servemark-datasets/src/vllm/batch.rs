//! `bench latency`: prompts of any token ids, all of one length.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Prompt, Sample};

use super::fitting::as_ids;

/// Prompts of token ids, drawn from the run's own generator. What they mean does not matter, so no
/// tokenizer is needed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct VllmBatchSpec {
    /// Tokens of a prompt.
    pub input_tokens: u32,
    /// Tokens of an output.
    pub output_tokens: u32,
}

impl Default for VllmBatchSpec {
    fn default() -> Self {
        Self { input_tokens: 32, output_tokens: 128 }
    }
}

impl VllmBatchSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let length = self.input_tokens as usize;
        let ids = as_ids(context.random.numpy.randint_vec(0, IDS, count * length));
        let prompts = (0..count).map(|row| Prompt::TokenIds(ids[row * length..][..length].into()));
        let sample = |prompt| Sample::new(prompt, self.input_tokens, self.output_tokens);
        Ok(prompts.map(sample).collect())
    }
}

/// The ids are those below this, which every vocabulary is thought to have.
const IDS: i64 = 10_000;
