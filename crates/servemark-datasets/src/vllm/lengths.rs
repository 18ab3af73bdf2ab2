//! Drawn lengths of prompts and outputs.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, Tokenizer};
use servemark_rng::Pcg64;

use crate::SpecError;

/// Maximum deviation of a length from its mean, as a share of the mean: 0 or more and below 1.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Spread(f64);

impl Spread {
    /// Creates a spread, which must be 0 or more and below 1.
    pub fn new(share: f64) -> Result<Self, SpecError> {
        (0.0..1.0).contains(&share).then_some(Self(share)).ok_or(SpecError::Spread(share))
    }

    /// Returns the share.
    pub const fn share(self) -> f64 {
        self.0
    }

    /// Returns the minimum and maximum length around a mean.
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

/// Mean lengths of prompts and outputs, with their spreads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmLengths {
    /// Mean prompt length in tokens, including the tokenizer's special tokens.
    pub input_tokens: u32,
    /// Mean output length, in tokens.
    pub output_tokens: u32,
    /// Spread of the prompt lengths.
    pub input_spread: Spread,
    /// Spread of the output lengths.
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

/// The draws for one request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct DrawnLengths {
    pub(super) input_tokens: usize,
    pub(super) output_tokens: u32,
    /// Position in the vocabulary at which the prompt's tokens begin.
    pub(super) offset: u64,
}

impl VllmLengths {
    /// Returns the minimum prompt length, without special tokens.
    pub(super) fn shortest_input(&self, tokenizer: &dyn Tokenizer) -> i64 {
        self.inputs(tokenizer).0
    }

    /// Draws the lengths of all prompts, then those of all outputs, then all offsets.
    pub(super) fn draw(
        &self,
        count: usize,
        tokenizer: &dyn Tokenizer,
        random: &mut Pcg64,
    ) -> Result<Vec<DrawnLengths>, DatasetError> {
        let (inputs, outputs) = (self.inputs(tokenizer), self.outputs());
        let mut within = |(low, high): (i64, i64)| random.integers_vec(low, high + 1, count);
        let (inputs, outputs) = (within(inputs), within(outputs));
        let offsets = within((0, i64::from(tokenizer.vocab_size()) - 1));
        let (Some(inputs), Some(outputs), Some(offsets)) = (inputs, outputs, offsets) else {
            return Err(DatasetError::Settings("the tokenizer's base vocabulary is empty".into()));
        };
        let rows = inputs.into_iter().zip(outputs).zip(offsets);
        let drawn = rows.map(|((input, output), offset)| DrawnLengths {
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

    /// Returns the range of output lengths; an output has at least one token.
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
