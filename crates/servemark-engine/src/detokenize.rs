//! Incremental decoding of tokens to text.

use servemark_core::TokenizerError;

/// Decodes tokens that arrive one at a time. A character may be spread over several tokens; its
/// text is returned with the last of them.
#[derive(Debug, Default)]
pub(crate) struct Detokenizer {
    ids: Vec<u32>,
    /// The first token that is decoded again, because earlier tokens affect the text of later ones.
    window: usize,
    /// The number of tokens whose text was returned.
    given: usize,
}

impl Detokenizer {
    /// Adds a token and returns the text that it completes, which may be empty.
    pub(crate) fn push(&mut self, id: u32, decode: impl Decode) -> Result<String, TokenizerError> {
        self.ids.push(id);
        let text = self.since_given(decode)?;
        if text.ends_with(char::REPLACEMENT_CHARACTER) {
            return Ok(String::new());
        }
        (self.window, self.given) = (self.given, self.ids.len());
        Ok(text)
    }

    /// Returns the text that is still incomplete at the end.
    pub(crate) fn rest(self, decode: impl Decode) -> Result<String, TokenizerError> {
        self.since_given(decode)
    }

    fn since_given(&self, decode: impl Decode) -> Result<String, TokenizerError> {
        let before = decode(&self.ids[self.window..self.given])?;
        let text = decode(&self.ids[self.window..])?;
        Ok(text.strip_prefix(&before).unwrap_or_default().to_owned())
    }
}

/// A function from token ids to text.
pub(crate) trait Decode: Fn(&[u32]) -> Result<String, TokenizerError> {}

impl<T: Fn(&[u32]) -> Result<String, TokenizerError>> Decode for T {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tokenizer in which every byte is a token.
    #[expect(clippy::unnecessary_wraps, reason = "tokenizers can fail")]
    fn decode(ids: &[u32]) -> Result<String, TokenizerError> {
        let bytes: Vec<u8> = ids.iter().map(|id| *id as u8).collect();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn a_letter_of_several_tokens_comes_with_its_last() {
        let mut detokenizer = Detokenizer::default();
        let pieces = "né!".bytes().map(|byte| detokenizer.push(byte.into(), decode).unwrap());
        assert_eq!(pieces.collect::<Vec<_>>(), ["n", "", "é", "!"]);
        assert_eq!(detokenizer.rest(decode).unwrap(), "");
    }

    #[test]
    fn what_never_became_whole_is_shown_in_the_end() {
        let mut detokenizer = Detokenizer::default();
        assert_eq!(detokenizer.push(0xC3, decode).unwrap(), "");
        assert_eq!(detokenizer.rest(decode).unwrap(), "\u{FFFD}");
    }
}
