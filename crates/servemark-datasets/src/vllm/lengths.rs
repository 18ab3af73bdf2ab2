//! How long each prompt and each output is to be.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, Tokenizer};
use servemark_rng::Pcg64;

use crate::SpecError;

/// How far a length may lie from its mean, as a share of it: 0 or more and below 1.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Spread(f64);

impl Spread {
    /// A share from 0 to below 1.
    pub fn new(share: f64) -> Result<Self, SpecError> {
        (0.0..1.0).contains(&share).then_some(Self(share)).ok_or(SpecError::Spread(share))
    }

    /// The share.
    pub const fn share(self) -> f64 {
        self.0
    }

    /// The shortest and the longest length around a mean.
    fn around(self, mean: u32) -> (i64, i64) {
        let mean = f64::from(mean);
        ((mean * (1.0 - self.0)).floor() as i64, (mean * (1.0 + self.0)).ceil() as i64)
    }
}

impl TryFrom<f64> for Spread {
    type Error = SpecError;

    fn try_from(share: f64) -> Result<Self, SpecError> {
        Self::new(share)
    }
}

impl From<Spread> for f64 {
    fn from(spread: Spread) -> Self {
        spread.0
    }
}

/// The lengths that prompts and outputs have on average, and how far they lie from that.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct VllmLengths {
    /// Tokens of a prompt, those included that the tokenizer puts around it.
    pub input_tokens: u32,
    /// Tokens of an output.
    pub output_tokens: u32,
    /// How far prompts lie from their mean.
    pub input_spread: Spread,
    /// How far outputs lie from theirs.
    pub output_spread: Spread,
}

impl Default for VllmLengths {
    fn default() -> Self {
        Self {
            input_tokens: 1024,
            output_tokens: 128,
            input_spread: Spread::default(),
            output_spread: Spread::default(),
        }
    }
}

/// What is drawn for a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Drawn {
    pub(super) input_tokens: usize,
    pub(super) output_tokens: u32,
    /// Where its tokens begin in the vocabulary.
    pub(super) offset: u64,
}

impl VllmLengths {
    /// The shortest prompt there may be, without what the tokenizer puts around it.
    pub(super) fn shortest_input(&self, tokenizer: &dyn Tokenizer) -> i64 {
        self.inputs(tokenizer).0
    }

    /// What is drawn for each request: all prompts' lengths, all outputs', all offsets.
    pub(super) fn draw(
        &self,
        count: usize,
        tokenizer: &dyn Tokenizer,
        random: &mut Pcg64,
    ) -> Result<Vec<Drawn>, DatasetError> {
        let (inputs, outputs) = (self.inputs(tokenizer), self.outputs());
        let mut within = |(low, high): (i64, i64)| random.integers_vec(low, high + 1, count);
        let (inputs, outputs) = (within(inputs), within(outputs));
        let offsets = within((0, i64::from(tokenizer.vocab_size()) - 1));
        let (Some(inputs), Some(outputs), Some(offsets)) = (inputs, outputs, offsets) else {
            return Err(DatasetError::Settings("the tokenizer's base vocabulary is empty".into()));
        };
        let rows = inputs.into_iter().zip(outputs).zip(offsets);
        let drawn = rows.map(|((input, output), offset)| Drawn {
            input_tokens: input.unsigned_abs() as usize,
            output_tokens: output.unsigned_abs() as u32,
            offset: offset.unsigned_abs(),
        });
        Ok(drawn.collect())
    }

    fn inputs(&self, tokenizer: &dyn Tokenizer) -> (i64, i64) {
        let bare = self.input_tokens.saturating_sub(tokenizer.special_tokens_added());
        self.input_spread.around(bare)
    }

    /// An output has at least one token.
    fn outputs(&self) -> (i64, i64) {
        let (shortest, longest) = self.output_spread.around(self.output_tokens);
        (shortest.max(1), longest.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_below_one() {
        for bad in [-0.1, 1.0, f64::NAN] {
            assert!(matches!(Spread::new(bad), Err(SpecError::Spread(_))));
        }
        assert!(serde_json::from_str::<Spread>("1").is_err());
    }

    #[test]
    fn lengths_lie_around_their_mean() {
        let spread = Spread::new(0.3).unwrap();
        assert_eq!(spread.around(1023), (716, 1330));
        assert_eq!(Spread::default().around(7), (7, 7));
        let lengths = VllmLengths { output_tokens: 0, ..VllmLengths::default() };
        assert_eq!(lengths.outputs(), (1, 1));
    }
}
