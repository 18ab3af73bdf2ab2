//! A tokenizer that needs no file.

use servemark_core::{JsonObject, SpecialTokens, Tokenizer, TokenizerError};

/// A tokenizer whose tokens are bytes. It has no words, no special tokens and no chat template.
#[derive(Clone, Copy, Debug)]
pub struct ByteTokenizer;

impl Tokenizer for ByteTokenizer {
    fn encode(&self, text: &str, _special: SpecialTokens) -> Result<Vec<u32>, TokenizerError> {
        Ok(text.bytes().map(u32::from).collect())
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        Ok(ids.iter().filter_map(|id| char::from_u32(*id)).collect())
    }

    fn vocab_size(&self) -> u32 {
        256
    }

    fn token_ids(&self) -> &[u32] {
        &[]
    }

    fn special_tokens_added(&self) -> u32 {
        0
    }

    fn bos_token(&self) -> Option<&str> {
        None
    }

    fn render_chat(
        &self,
        _messages: &[JsonObject],
        _arguments: &JsonObject,
    ) -> Result<String, TokenizerError> {
        Err(TokenizerError::NoChatTemplate)
    }
}
