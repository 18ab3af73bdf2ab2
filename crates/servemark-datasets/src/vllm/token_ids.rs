//! Random prompts sent as token ids, as in vLLM's Rust client.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, Prompt, Sample, Tokenizer};
use servemark_rng::Pcg64;

use super::VllmLengths;
use super::lengths::DrawnLengths;
use crate::SpecError;
use crate::alphabet::Alphabet;
use crate::fitting::ids_of;

/// Shares that define prompts with a common prefix, which the server may have in its cache, among
/// prompts without it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(into = "[f64; 2]", try_from = "[f64; 2]")]
pub struct WarmPrompts {
    /// Share of prompts with the common prefix, from 0 to 1.
    share: f64,
    /// Share of such a prompt's tokens that belong to the prefix, from 0 to 1.
    prefix: f64,
}

impl WarmPrompts {
    /// Creates the shares, which must be in 0 to 1.
    pub fn new(share: f64, prefix: f64) -> Result<Self, SpecError> {
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        match [share, prefix].into_iter().find(|share| !is_share(share)) {
            None => Ok(Self { share, prefix }),
            Some(other) => Err(SpecError::Share(other)),
        }
    }

    /// Returns the number of prefix tokens of a prompt with `tokens` tokens.
    fn alike(self, tokens: usize) -> usize {
        #[expect(clippy::cast_sign_loss, reason = "no share is below zero")]
        let alike = (tokens as f64 * self.prefix).floor() as usize;
        alike
    }
}

impl TryFrom<[f64; 2]> for WarmPrompts {
    type Error = SpecError;

    fn try_from([share, prefix]: [f64; 2]) -> Result<Self, SpecError> {
        Self::new(share, prefix)
    }
}

impl From<WarmPrompts> for [f64; 2] {
    fn from(warm: WarmPrompts) -> Self {
        [warm.share, warm.prefix]
    }
}

/// Prompts of consecutive ids after a common prefix.
pub(super) struct TokenIds {
    pub(super) lengths: VllmLengths,
    /// Number of tokens in the common prefix, in addition to each prompt's own; ignored if `warm`
    /// is set.
    pub(super) prefix_tokens: u32,
    pub(super) warm: Option<WarmPrompts>,
}

impl TokenIds {
    pub(super) fn draw(
        &self,
        count: usize,
        random: &mut Pcg64,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Vec<Sample>, DatasetError> {
        let rows = self.lengths.draw(count, tokenizer, random)?;
        let alphabet = Alphabet::of(tokenizer)?;
        let places = ids_of(random, alphabet.len(), self.shared_tokens(&rows));
        let shared = alphabet.pick(places);
        let sample = |(number, row): (u64, DrawnLengths)| {
            let (alike, own) = self.parts(row.input_tokens, random);
            let own = alphabet.count_up(row.offset + number, own);
            let ids = [&shared[..alike], own.as_slice()].concat();
            let tokens = ids.len() as u32;
            Sample::new(Prompt::TokenIds(ids), tokens, row.output_tokens)
        };
        Ok((0..).zip(rows).map(sample).collect())
    }

    fn shared_tokens(&self, rows: &[DrawnLengths]) -> usize {
        let longest = rows.iter().map(|row| row.input_tokens).max().unwrap_or_default();
        self.warm.map_or(self.prefix_tokens as usize, |warm| warm.alike(longest))
    }

    /// Returns the number of prefix ids and the number of own ids of a prompt.
    fn parts(&self, tokens: usize, random: &mut Pcg64) -> (usize, usize) {
        let Some(warm) = self.warm else { return (self.prefix_tokens as usize, tokens) };
        let alike = if random.random() < warm.share { warm.alike(tokens) } else { 0 };
        (alike, tokens - alike)
    }
}

#[cfg(test)]
mod tests {
    use servemark_testkit::ByteTokenizer;

    use super::*;

    fn ids(warm: Option<WarmPrompts>, prefix_tokens: u32) -> Vec<Vec<u32>> {
        let lengths = VllmLengths { input_tokens: 20, ..VllmLengths::default() };
        let source = TokenIds { lengths, prefix_tokens, warm };
        let samples = source.draw(40, &mut Pcg64::seeded(3), &ByteTokenizer).unwrap();
        let ids = |sample: Sample| match sample.prompt {
            Prompt::TokenIds(ids) => ids,
            other => panic!("{other:?}"),
        };
        samples.into_iter().map(ids).collect()
    }

    #[test]
    fn a_prefix_comes_before_as_many_ids_as_were_asked_for() {
        let prompts = ids(None, 4);
        assert!(prompts.iter().all(|ids| ids.len() == 24 && ids[..4] == prompts[0][..4]));
        assert_ne!(prompts[0][4..], prompts[1][4..]);
    }

    #[test]
    fn some_prompts_begin_alike_and_none_is_longer_for_it() {
        let prompts = ids(Some(WarmPrompts::new(0.5, 0.25).unwrap()), 0);
        assert!(prompts.iter().all(|ids| ids.len() == 20));
        let alike = |first: &Vec<u32>| prompts.iter().filter(|ids| ids[..5] == first[..5]).count();
        let warm = prompts.iter().map(alike).max().unwrap();
        assert!((10..=30).contains(&warm), "{warm}");
    }

    #[test]
    fn all_or_none_may_begin_alike() {
        for (share, expected) in [(1.0, true), (0.0, false)] {
            let prompts = ids(Some(WarmPrompts::new(share, 1.0).unwrap()), 0);
            assert_eq!(prompts[0] == prompts[1], expected);
        }
        assert!(WarmPrompts::new(0.5, 1.1).is_err());
    }
}
