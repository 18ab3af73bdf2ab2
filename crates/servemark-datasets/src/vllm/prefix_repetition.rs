//! Groups of prompts with a common prefix.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, Task, TokenizerError};
use servemark_rng::RandomState;

use super::rows::RowOrder;
use crate::fitting::{Fitter, as_ids};

/// Groups of prompts: each has a common prefix and different suffixes, all of random tokens.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct PrefixRepetitionSpec {
    /// Number of prefixes.
    pub prefixes: NonZero<u32>,
    /// Length of each prefix, in tokens.
    pub prefix_tokens: u32,
    /// Length of each suffix, in tokens.
    pub suffix_tokens: u32,
    /// Output length, in tokens.
    pub output_tokens: u32,
    /// Order in which prompts are sent: shuffled, or one prefix after the other.
    pub order: RowOrder,
}

impl Default for PrefixRepetitionSpec {
    fn default() -> Self {
        Self {
            prefixes: NonZero::<u32>::MIN.saturating_add(9),
            prefix_tokens: 256,
            suffix_tokens: 256,
            output_tokens: 128,
            order: RowOrder::default(),
        }
    }
}

impl PrefixRepetitionSpec {
    /// Draws the prompts. All prefixes have the same number of prompts, so there may be fewer than
    /// `count`.
    ///
    /// Everything is drawn from the run's random state, and each text's additional ids are drawn
    /// before the next text, so nothing can run in parallel.
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let each = count / self.prefixes.get() as usize;
        if each == 0 {
            return Err(DatasetError::Settings(format!(
                "{count} requests are too few for {} prefixes: raise `workload.requests` or lower \
                 `workload.dataset.prefixes`",
                self.prefixes
            )));
        }
        *context.random = RandomState::seeded(seed.into());
        let total = (each * self.prefixes.get() as usize) as u64;
        let task = Task::begin(context.progress, "making prompts", total);
        let mut samples = Vec::new();
        for _ in 0..self.prefixes.get() {
            let prefix = exactly(self.prefix_tokens, context)?;
            for _ in 0..each {
                let ids = [prefix.as_slice(), &exactly(self.suffix_tokens, context)?].concat();
                let prompt = context.tokenizer.decode(&ids)?;
                samples.push(Sample::new(prompt, ids.len() as u32, self.output_tokens));
                task.advance(1);
            }
        }
        self.order.arrange(&mut samples, &mut context.random.python);
        Ok(samples)
    }
}

/// Draws the ids of a text of `tokens` tokens.
fn exactly(tokens: u32, context: &mut DrawContext<'_>) -> Result<Vec<u32>, TokenizerError> {
    let (tokenizer, numpy) = (context.tokenizer, &mut context.random.numpy);
    let vocabulary = i64::from(tokenizer.vocab_size());
    let mut draw = |count| as_ids(numpy.randint_vec(0, vocabulary, count));
    let ids = draw(tokens as usize);
    Ok(Fitter { tokenizer, draw }.fit(ids, tokens as usize)?.ids)
}
