//! What stands in for a tokenizer where the plan does without one.

use servemark_core::{JsonObject, SpecialTokens, Tokenizer, TokenizerError};

/// Has no token and reads no text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoTokenizer;

impl Tokenizer for NoTokenizer {
    fn encode(&self, text: &str, _special: SpecialTokens) -> Result<Vec<u32>, TokenizerError> {
        Err(TokenizerError::Encode { bytes: text.len(), reason: NONE.to_owned() })
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        Err(TokenizerError::Decode { count: ids.len(), reason: NONE.to_owned() })
    }

    fn vocab_size(&self) -> u32 {
        0
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
        self.decode(&[])
    }
}

const NONE: &str = "the run does without a tokenizer";
