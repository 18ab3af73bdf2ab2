//! Words that are one token each in any position, so that a text of `n` words has `n` tokens.

use servemark_core::{DatasetError, Progress, SpecialTokens, Tokenizer, TokenizerError, parallel};
use servemark_rng::NumpyRandom;

/// A tokenizer's words in the order of their ids. In most vocabularies, common words come first.
#[derive(Debug)]
pub(crate) struct Words(Vec<Box<str>>);

impl Words {
    /// Collects the first usable words of a tokenizer's vocabulary.
    pub(crate) fn of(
        tokenizer: &dyn Tokenizer,
        progress: &dyn Progress,
    ) -> Result<Self, DatasetError> {
        let ids: Vec<u32> = (0..tokenizer.vocab_size()).collect();
        let word = |id: &u32| word(tokenizer, *id);
        let words = Self(parallel::first("choosing words", &ids, MOST, progress, word)?);
        let tokens = tokenizer.count(&words.0.join(" "), SpecialTokens::Omit)? as usize;
        if words.0.len() < FEWEST || tokens != words.0.len() {
            return Err(DatasetError::Settings(NO_WORDS.to_owned()));
        }
        Ok(words)
    }

    /// Draws a word uniformly.
    pub(crate) fn draw(&self, random: &mut NumpyRandom) -> &str {
        let count = i64::try_from(self.0.len()).unwrap_or(i64::MAX);
        let index = random.randint(0, count).unwrap_or_default();
        &self.0[index.unsigned_abs() as usize]
    }
}

/// Returns a token's word, if it remains one token both at the beginning of a text and after a
/// space.
fn word(tokenizer: &dyn Tokenizer, id: u32) -> Result<Option<Box<str>>, TokenizerError> {
    let text = tokenizer.decode(&[id])?;
    let word = text.trim();
    if word.len() < 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Ok(None);
    }
    let twice = tokenizer.encode(&format!("{word} {word}"), SpecialTokens::Omit)?;
    let is_whole = twice.len() == 2 && twice[1] == id;
    Ok(is_whole.then(|| word.into()))
}

/// Maximum number of words; enough for any two texts to differ.
const MOST: usize = 4096;

/// Minimum number of words; with fewer, texts that should differ might be equal.
const FEWEST: usize = 64;

const NO_WORDS: &str = "prompts of given lengths cannot be written with this tokenizer: too few of \
    its tokens are English words that stay whole beside each other; give another tokenizer";

#[cfg(test)]
mod tests {
    use servemark_core::NoProgress;
    use servemark_testkit::ByteTokenizer;

    use super::*;

    #[test]
    fn a_tokenizer_without_words_is_refused() {
        let error = Words::of(&ByteTokenizer, &NoProgress).unwrap_err();
        assert_eq!(error.to_string(), NO_WORDS);
    }
}
