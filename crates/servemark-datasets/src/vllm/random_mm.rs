//! Random prompts with random-noise images and videos.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample};
use servemark_rng::Pcg64;

use super::buckets::MediaDraws;
use super::random::TokenIdPrompts;
use super::{PromptShape, VllmLengths, shape};
use crate::alphabet::Alphabet;
use crate::fitting::{Fitter, ids_of};

/// Prompts like those of `random`, each with random-noise images and videos.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmRandomMmSpec {
    /// Lengths of prompts and outputs, without images and videos.
    pub lengths: VllmLengths,
    /// Number of tokens in the common prefix, in addition to each prompt's own tokens.
    pub prefix_tokens: u32,
    /// Images and videos of the prompts.
    pub media: MediaDraws,
    /// Whether a prompt is a text or a message.
    #[serde(skip_serializing_if = "PromptShape::is_text")]
    pub shape: PromptShape,
}

impl VllmRandomMmSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let mut random = Pcg64::seeded(seed.into());
        let source = self.media.source()?;
        let (lengths, prefix_tokens) = (self.lengths, self.prefix_tokens);
        let counted = TokenIdPrompts { lengths, prefix_tokens, alphabet: Alphabet::of_text };
        let begun = counted.begin(count, &mut random, context)?;
        let tokenizer = context.tokenizer;
        let vocabulary = tokenizer.vocab_size();
        let sample = |(begun, row): super::random::PartialPrompt| {
            let draw = |count| ids_of(&mut random, vocabulary, count);
            let text = Fitter { tokenizer, draw }.finish(begun?)?;
            let tokens = text.tokens();
            let mut sample = Sample::new(text.text, tokens, row.output_tokens);
            sample.media = source.draw(&mut random);
            Ok(shape(sample, self.shape))
        };
        begun.into_iter().map(sample).collect()
    }
}
