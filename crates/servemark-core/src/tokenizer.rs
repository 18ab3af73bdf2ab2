//! What a data set and the token counts need of a tokenizer.

use std::path::PathBuf;

use thiserror::Error;

use crate::{ImageSize, JsonObject};

/// Text to token ids and back. One tokenizer serves all cores at once.
pub trait Tokenizer: Send + Sync {
    /// The token ids of `text`.
    fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>, TokenizerError>;

    /// The text of `ids`, special tokens included.
    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError>;

    /// The size of the base vocabulary, without added tokens.
    fn vocab_size(&self) -> u32;

    /// Every id of the whole vocabulary, added and special tokens included, in rising order.
    fn token_ids(&self) -> &[u32];

    /// The ids of the special tokens, in rising order.
    fn special_ids(&self) -> &[u32] {
        &[]
    }

    /// The ids of the tokens that stand for a byte of what no other token says, in rising order.
    fn byte_ids(&self) -> &[u32] {
        &[]
    }

    /// The ids of the special tokens among those that were added to the vocabulary, whatever their
    /// role, in rising order.
    fn added_special_ids(&self) -> Result<Vec<u32>, TokenizerError> {
        Ok(self.special_ids().to_vec())
    }

    /// The id that stands for a picture, if the model takes pictures and it is known how.
    fn image_token_id(&self) -> Option<u32> {
        None
    }

    /// How many tokens a rendered prompt with pictures of these sizes is, as the model's own
    /// processor counts them; `None` if it is not known how the model sees pictures.
    fn count_with_images(
        &self,
        prompt: &str,
        images: &[ImageSize],
    ) -> Result<Option<u32>, TokenizerError> {
        let _ = (prompt, images);
        Ok(None)
    }

    /// How many special tokens `encode` adds to a single text.
    fn special_tokens_added(&self) -> u32;

    /// The text that begins a sequence, if the model has one.
    fn bos_token(&self) -> Option<&str>;

    /// Renders a conversation with the model's own template, generation prompt included.
    fn apply_chat_template(&self, messages: &[JsonObject]) -> Result<String, TokenizerError> {
        self.render_chat(messages, &JsonObject::new())
    }

    /// The same with what the template is told besides: `tools`, or switches of its own such as
    /// `enable_thinking`.
    fn render_chat(
        &self,
        messages: &[JsonObject],
        arguments: &JsonObject,
    ) -> Result<String, TokenizerError>;

    /// How many tokens `text` has.
    fn count(&self, text: &str, special: SpecialTokens) -> Result<u32, TokenizerError> {
        self.encode(text, special).map(|ids| ids.len() as u32)
    }
}

/// What stands in for a tokenizer where a run does without one: it reads and writes no text, and
/// any text counts for one token, as to vLLM's client.
#[derive(Clone, Copy, Debug)]
pub struct NoTokenizer;

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

    fn count(&self, _text: &str, _special: SpecialTokens) -> Result<u32, TokenizerError> {
        Ok(1)
    }
}

const NONE: &str = "the run does without a tokenizer";

/// Whether the model's special tokens are put around a text. Closed: a text is wrapped or it is not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SpecialTokens {
    /// As the model expects a prompt.
    Add,
    /// The text alone.
    Omit,
}

/// What can go wrong with a tokenizer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The folder or the file is not there.
    #[error(
        "{path} is not there; give a folder that holds a tokenizer.json as the tokenizer",
        path = path.display()
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is there and cannot be used.
    #[error("{path} is not a usable tokenizer: {reason}", path = path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A text could not be encoded.
    #[error("cannot tokenize a text of {bytes} bytes: {reason}")]
    Encode {
        /// The length of the text.
        bytes: usize,
        /// What the tokenizer says.
        reason: String,
    },
    /// Ids could not be decoded.
    #[error("cannot turn {count} token ids into text: {reason}")]
    Decode {
        /// How many ids.
        count: usize,
        /// What the tokenizer says.
        reason: String,
    },
    /// The model takes no such picture.
    #[error("{reason}")]
    Picture {
        /// Why.
        reason: String,
    },
    /// The model ships no chat template.
    #[error("this tokenizer has no chat template; give one that has, or apply none to the prompts")]
    NoChatTemplate,
    /// The chat template does not render.
    #[error("the chat template does not render: {reason}")]
    ChatTemplate {
        /// What the template engine says.
        reason: String,
    },
}
