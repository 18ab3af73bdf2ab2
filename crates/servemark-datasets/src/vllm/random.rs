//! Prompts of drawn lengths, with consecutive token ids from a drawn one on.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Prompt, Sample, Tokenizer, TokenizerError};
use servemark_rng::Pcg64;

use super::VllmLengths;
use super::lengths::DrawnLengths;
use super::token_ids::{TokenIds, WarmPrompts};
use crate::alphabet::Alphabet;
use crate::fitting::{Fitted, Fitter, Progressed, begin_all, ids_of};

/// Prompts of drawn lengths, with consecutive token ids from a drawn one on.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmRandomSpec {
    /// Lengths of prompts and outputs.
    pub lengths: VllmLengths,
    /// Number of tokens in the common prefix, in addition to each prompt's own tokens.
    pub prefix_tokens: u32,
    /// Number of prompts per request; with more than one, no output is requested.
    pub batch: NonZero<u32>,
    /// Whether prompts are sent as the drawn ids. They then have exactly the drawn length, and
    /// `batch` is ignored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub as_token_ids: bool,
    /// Shares of prompts with a common prefix, for prompts of token ids; replaces `prefix_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm: Option<WarmPrompts>,
}

impl Default for VllmRandomSpec {
    fn default() -> Self {
        Self {
            lengths: VllmLengths::default(),
            prefix_tokens: 0,
            batch: NonZero::<u32>::MIN,
            as_token_ids: false,
            warm: None,
        }
    }
}

impl VllmRandomSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let tokenizer = context.tokenizer;
        if i64::from(self.prefix_tokens) + self.lengths.shortest_input(tokenizer) < 1 {
            return Err(DatasetError::Settings(TOO_SHORT.to_owned()));
        }
        let mut random = Pcg64::seeded(seed.into());
        let (lengths, prefix_tokens, warm) = (self.lengths, self.prefix_tokens, self.warm);
        if self.as_token_ids {
            let ids = TokenIds { lengths, prefix_tokens, warm };
            return ids.draw(count, &mut random, tokenizer);
        }
        let counted = TokenIdPrompts {
            lengths: self.lengths,
            prefix_tokens: self.prefix_tokens,
            alphabet: Alphabet::of,
        };
        let begun = counted.begin(count, &mut random, context)?;
        let vocabulary = tokenizer.vocab_size();
        let mut fitter = Fitter { tokenizer, draw: |count| ids_of(&mut random, vocabulary, count) };
        let rows = begun.into_iter().map(|(begun, row)| Ok((fitter.finish(begun?)?, row)));
        Ok(self.batched(rows.collect::<Result<_, TokenizerError>>()?))
    }

    fn batched(&self, rows: Vec<(Fitted, DrawnLengths)>) -> Vec<Sample> {
        if self.batch.get() == 1 {
            let alone = |(made, row): (Fitted, DrawnLengths)| {
                let tokens = made.tokens();
                Sample::new(made.text, tokens, row.output_tokens)
            };
            return rows.into_iter().map(alone).collect();
        }
        let batches = rows.chunks(self.batch.get() as usize);
        let together = batches.map(|batch| {
            let tokens = batch.iter().map(|(made, _)| made.tokens()).sum();
            let texts = batch.iter().map(|(made, _)| made.text.clone()).collect();
            Sample::new(Prompt::Texts(texts), tokens, 0)
        });
        together.collect()
    }
}

/// Prompts of consecutive token ids from a drawn one on, after a common prefix.
pub(super) struct TokenIdPrompts {
    pub(super) lengths: VllmLengths,
    pub(super) prefix_tokens: u32,
    /// Function that returns the ids that prompts are made of.
    pub(super) alphabet: fn(&dyn Tokenizer) -> Result<Alphabet, DatasetError>,
}

/// A prompt as far as it can be built without draws, with its drawn lengths.
pub(super) type PartialPrompt = (Result<Progressed, TokenizerError>, DrawnLengths);

impl TokenIdPrompts {
    /// Makes the draws of all prompts and of their prefix. The caller draws each prompt's
    /// additional ids in order.
    pub(super) fn begin(
        &self,
        count: usize,
        random: &mut Pcg64,
        context: &DrawContext<'_>,
    ) -> Result<Vec<PartialPrompt>, DatasetError> {
        let tokenizer = context.tokenizer;
        let rows = self.lengths.draw(count, tokenizer, random)?;
        let alphabet = (self.alphabet)(tokenizer)?;
        let prefix = self.prefix(&alphabet, random, tokenizer)?;
        let numbered: Vec<(u64, DrawnLengths)> = (0..).zip(rows).collect();
        let begun = begin_all(tokenizer, &numbered, context.progress, |(number, row)| {
            let own = alphabet.count_up(row.offset + number, row.input_tokens);
            ([prefix.as_slice(), &own].concat(), self.prefix_tokens as usize + row.input_tokens)
        });
        Ok(begun.into_iter().zip(numbered.into_iter().map(|(_, row)| row)).collect())
    }

    fn prefix(
        &self,
        alphabet: &Alphabet,
        random: &mut Pcg64,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Vec<u32>, TokenizerError> {
        let places = ids_of(random, alphabet.len(), self.prefix_tokens as usize);
        let drawn = alphabet.pick(places);
        let vocabulary = tokenizer.vocab_size();
        match drawn.len() {
            0 => Ok(Vec::new()),
            target => {
                let draw = |count| ids_of(random, vocabulary, count);
                Ok(Fitter { tokenizer, draw }.fit(drawn, target)?.ids)
            }
        }
    }
}

const TOO_SHORT: &str = "a prompt could have no token at all: raise `workload.dataset.lengths.input_tokens` or \
    `workload.dataset.prefix_tokens`, or lower `workload.dataset.lengths.input_spread`";
