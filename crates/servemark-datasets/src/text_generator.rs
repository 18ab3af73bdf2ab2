//! Texts of an exact token count, generated when they are sent.
//!
//! A trace records lengths and which prompts share a beginning, but no words. A [`TextGenerator`]
//! generates an unlimited number of texts of unlimited length from the run's seed, so equal seeds
//! give equal texts. A prompt is a concatenation of beginnings of such texts.

use std::sync::Arc;

use servemark_core::{DatasetError, DrawContext, LazyText, Sample, TextSource};
use servemark_rng::NumpyRandom;

use crate::words::Words;

/// Generator of an unlimited number of texts.
#[derive(Debug)]
pub(crate) struct TextGenerator {
    words: Words,
    seed: u32,
    /// Number of special tokens that the tokenizer adds to a prompt.
    special_tokens: u32,
}

/// The first `tokens` tokens of one generated text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extract {
    text: [u32; 3],
    tokens: u32,
}

impl Extract {
    /// Returns an extract of a text that several prompts may share; `id` is the trace's own id of
    /// it.
    pub(crate) fn shared(id: u64, tokens: u32) -> Self {
        Self::numbered(0, id, tokens)
    }

    /// Returns an extract of a text that belongs to one row of the trace only.
    pub(crate) fn of_row(row: u64, tokens: u32) -> Self {
        Self::numbered(1, row, tokens)
    }

    /// Returns an extract of the text that stands in for the answer to `row` in later prompts.
    pub(crate) fn of_answer(row: u64, tokens: u32) -> Self {
        Self::numbered(2, row, tokens)
    }

    fn numbered(kind: u32, number: u64, tokens: u32) -> Self {
        Self { text: [kind, number as u32, (number >> 32) as u32], tokens }
    }
}

impl TextGenerator {
    /// Creates the generator of a run from the tokenizer's vocabulary. It copies the run's
    /// generator for its seed and leaves the run's state unchanged, because SGLang draws nothing
    /// here either.
    pub(crate) fn open(context: &DrawContext<'_>) -> Result<Arc<Self>, DatasetError> {
        Ok(Arc::new(Self {
            words: Words::of(context.tokenizer, context.progress)?,
            seed: context.random.python.clone().getrandbits(32) as u32,
            special_tokens: context.tokenizer.special_tokens_added(),
        }))
    }

    /// Returns a sample whose prompt is the concatenation of `extracts`.
    ///
    /// The prompt's token count is the sum of the extracts' counts, special tokens included. The
    /// text has at least one word.
    pub(crate) fn sample(self: &Arc<Self>, extracts: Vec<Extract>, output_tokens: u32) -> Sample {
        let drafts: u32 = extracts.iter().map(|extract| extract.tokens).sum();
        let words = drafts.saturating_sub(self.special_tokens).max(1);
        let passage = Passage { generator: Arc::clone(self), extracts, words };
        Sample::new(LazyText::new(passage), words + self.special_tokens, output_tokens)
    }

    /// Returns a follow-up sample that adds one extract to a conversation, without special tokens.
    pub(crate) fn addition(self: &Arc<Self>, extract: Extract, output_tokens: u32) -> Sample {
        let words = extract.tokens.max(1);
        let passage = Passage { generator: Arc::clone(self), extracts: vec![extract], words };
        Sample::new(LazyText::new(passage), words, output_tokens)
    }

    /// Returns an endless iterator over the words of a text.
    fn text(&self, name: [u32; 3]) -> impl Iterator<Item = &str> {
        let [kind, low, high] = name;
        let mut random = NumpyRandom::from_key(&[self.seed, kind, low, high]);
        std::iter::repeat_with(move || self.words.draw(&mut random))
    }
}

/// Concatenated extracts, limited to `words` words in total.
#[derive(Debug)]
struct Passage {
    generator: Arc<TextGenerator>,
    extracts: Vec<Extract>,
    words: u32,
}

impl TextSource for Passage {
    fn text(&self) -> String {
        let words = (self.extracts.iter())
            .flat_map(|extract| self.generator.text(extract.text).take(extract.tokens as usize))
            .take(self.words as usize);
        let mut text = String::with_capacity(self.words as usize * USUAL_WORD);
        for word in words {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }
}

/// Typical size of a word and the following space, in bytes; used to reserve memory.
const USUAL_WORD: usize = 7;
