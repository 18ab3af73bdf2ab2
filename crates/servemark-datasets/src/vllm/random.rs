//! Prompts of drawn lengths, counted up from a drawn token id.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Prompt, Sample, Tokenizer};
use servemark_rng::Pcg64;

use super::VllmLengths;
use super::fitting::{Fitted, Fitter, ids_of};
use super::lengths::Drawn;

/// Prompts of drawn lengths, counted up from a drawn token id.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct VllmRandomSpec {
    /// How long prompts and outputs are.
    pub lengths: VllmLengths,
    /// Tokens with which every prompt begins, besides its own.
    pub prefix_tokens: u32,
    /// How many prompts a request has; more than one asks for no output.
    pub batch: NonZero<u32>,
}

impl Default for VllmRandomSpec {
    fn default() -> Self {
        Self { lengths: VllmLengths::default(), prefix_tokens: 0, batch: NonZero::<u32>::MIN }
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
        let rows = self.lengths.draw(count, tokenizer, &mut random)?;
        let alphabet = Alphabet::of(tokenizer)?;
        let drawn = alphabet.draw(self.prefix_tokens as usize, &mut random);
        let vocabulary = tokenizer.vocab_size();
        let draw = |count| ids_of(&mut random, vocabulary, count);
        let mut fitter = Fitter { tokenizer, draw };
        let prefix = match drawn.len() {
            0 => Vec::new(),
            target => fitter.fit(drawn, target)?.ids,
        };
        let numbered: Vec<(u64, Drawn)> = (0..).zip(rows).collect();
        let texts = fitter.fit_all(&numbered, context.progress, |(number, row)| {
            let own = alphabet.count_up(row.offset + number, row.input_tokens);
            ([prefix.as_slice(), &own].concat(), self.prefix_tokens as usize + row.input_tokens)
        })?;
        let rows = texts.into_iter().zip(numbered.into_iter().map(|(_, row)| row));
        Ok(self.batched(rows.collect()))
    }

    fn batched(&self, rows: Vec<(Fitted, Drawn)>) -> Vec<Sample> {
        if self.batch.get() == 1 {
            let alone = |(made, row): (Fitted, Drawn)| {
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

/// The ids of which prompts are made: those of the base vocabulary that are not special.
pub(super) struct Alphabet(Vec<u32>);

impl Alphabet {
    pub(super) fn of(tokenizer: &dyn Tokenizer) -> Result<Self, DatasetError> {
        let special = tokenizer.special_ids();
        let is_plain = |id: &u32| special.binary_search(id).is_err();
        let ids: Vec<u32> = (0..tokenizer.vocab_size()).filter(is_plain).collect();
        if ids.is_empty() {
            return Err(DatasetError::Settings("the tokenizer has no plain tokens".to_owned()));
        }
        Ok(Self(ids))
    }

    /// Any of them, so many times.
    fn draw(&self, count: usize, random: &mut Pcg64) -> Vec<u32> {
        let places = ids_of(random, self.0.len() as u32, count);
        places.into_iter().map(|place| self.0[place as usize]).collect()
    }

    /// So many from a place on, round and round.
    pub(super) fn count_up(&self, start: u64, count: usize) -> Vec<u32> {
        let start = (start % self.0.len() as u64) as usize;
        self.0.iter().copied().cycle().skip(start).take(count).collect()
    }
}

const TOO_SHORT: &str = "a prompt could have no token at all: raise --random-input-len or \
    --random-prefix-len, or lower the input part of --random-range-ratio";
