//! Texts of exactly so many tokens, written when they are sent.
//!
//! A trace tells lengths and which prompts begin alike, not words. A [`Book`] has endlessly many
//! texts, each of which goes on for ever and is the same in every run with the same seed; a prompt
//! is put together of their beginnings.

use std::sync::Arc;

use servemark_core::{DatasetError, DrawContext, LazyText, Prose, Sample};
use servemark_rng::NumpyRandom;

use crate::words::Words;

/// Endlessly many texts.
#[derive(Debug)]
pub(crate) struct Book {
    words: Words,
    seed: u32,
    /// How many tokens the model puts around a prompt.
    special_tokens: u32,
}

/// The beginning of one of the texts, of so many tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extract {
    text: [u32; 3],
    tokens: u32,
}

impl Extract {
    /// Of a text that many prompts may share: the trace's own number names it.
    pub(crate) fn shared(id: u64, tokens: u32) -> Self {
        Self::numbered(0, id, tokens)
    }

    /// Of a text that no other row of the trace has.
    pub(crate) fn of_row(row: u64, tokens: u32) -> Self {
        Self::numbered(1, row, tokens)
    }

    /// Of what stands for the answer to a row in the prompts behind it.
    pub(crate) fn of_answer(row: u64, tokens: u32) -> Self {
        Self::numbered(2, row, tokens)
    }

    fn numbered(kind: u32, number: u64, tokens: u32) -> Self {
        Self { text: [kind, number as u32, (number >> 32) as u32], tokens }
    }
}

impl Book {
    /// The book of a run: in the tokenizer's own words. It draws nothing from the run's state, for
    /// SGLang does not either.
    pub(crate) fn open(context: &DrawContext<'_>) -> Result<Arc<Self>, DatasetError> {
        Ok(Arc::new(Self {
            words: Words::of(context.tokenizer, context.progress)?,
            seed: context.random.python.clone().getrandbits(32) as u32,
            special_tokens: context.tokenizer.special_tokens_added(),
        }))
    }

    /// A request whose prompt is all that `extracts` say, one after the other.
    ///
    /// The prompt has as many tokens as they have together, what the model puts around it included;
    /// it has one word at least.
    pub(crate) fn sample(self: &Arc<Self>, extracts: Vec<Extract>, output_tokens: u32) -> Sample {
        let asked: u32 = extracts.iter().map(|extract| extract.tokens).sum();
        let words = asked.saturating_sub(self.special_tokens).max(1);
        let passage = Passage { book: Arc::clone(self), extracts, words };
        Sample::new(LazyText::new(passage), words + self.special_tokens, output_tokens)
    }

    /// A request that adds so many tokens to a conversation; nothing is put around them.
    pub(crate) fn addition(self: &Arc<Self>, extract: Extract, output_tokens: u32) -> Sample {
        let words = extract.tokens.max(1);
        let passage = Passage { book: Arc::clone(self), extracts: vec![extract], words };
        Sample::new(LazyText::new(passage), words, output_tokens)
    }

    /// The words of a text, without end.
    fn text(&self, name: [u32; 3]) -> impl Iterator<Item = &str> {
        let [kind, low, high] = name;
        let mut random = NumpyRandom::from_key(&[self.seed, kind, low, high]);
        std::iter::repeat_with(move || self.words.draw(&mut random))
    }
}

/// Extracts one after the other, of so many words in all.
#[derive(Debug)]
struct Passage {
    book: Arc<Book>,
    extracts: Vec<Extract>,
    words: u32,
}

impl Prose for Passage {
    fn text(&self) -> String {
        let words = (self.extracts.iter())
            .flat_map(|extract| self.book.text(extract.text).take(extract.tokens as usize))
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

/// The bytes of a word and the blank behind it, more or less.
const USUAL_WORD: usize = 7;
