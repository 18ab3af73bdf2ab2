//! Words of which each is one token wherever it stands, so that a text of so many words has so many
//! tokens.

use servemark_core::{DatasetError, Progress, SpecialTokens, Tokenizer, TokenizerError, parallel};
use servemark_rng::NumpyRandom;

/// A tokenizer's words, in the order of their ids: in most vocabularies the commonest come first.
#[derive(Debug)]
pub(crate) struct Words(Vec<Box<str>>);

impl Words {
    /// The first words of a tokenizer's vocabulary.
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

    /// Any of them.
    pub(crate) fn draw(&self, random: &mut NumpyRandom) -> &str {
        let count = i64::try_from(self.0.len()).unwrap_or(i64::MAX);
        let index = random.randint(0, count).unwrap_or_default();
        &self.0[index.unsigned_abs() as usize]
    }
}

/// What a token says, if it is a word that stays one token at the beginning and behind a blank.
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

/// Enough that no two texts look alike.
const MOST: usize = 4096;

/// With fewer than these, texts that should differ might not.
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
