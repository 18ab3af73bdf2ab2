//! The trait of tokenizers, and their errors.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{ImageSize, JsonObject};

/// Converts text to token ids and back. One tokenizer is used by all cores at once.
///
/// ```
/// use servemark_core::{NoTokenizer, SpecialTokens, Tokenizer};
///
/// // A run without a tokenizer counts every text as one token.
/// assert_eq!(NoTokenizer.count("any text", SpecialTokens::Omit)?, 1);
/// # Ok::<(), servemark_core::TokenizerError>(())
/// ```
pub trait Tokenizer: Send + Sync {
    /// Returns the token ids of `text`.
    fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>, TokenizerError>;

    /// Returns the text of `ids`, special tokens included.
    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError>;

    /// Returns the size of the base vocabulary, without added tokens.
    fn vocab_size(&self) -> u32;

    /// Returns all ids of the vocabulary, added and special tokens included, in rising order.
    fn token_ids(&self) -> &[u32];

    /// Returns the ids of the special tokens, in rising order.
    fn special_ids(&self) -> &[u32] {
        &[]
    }

    /// Returns the ids of the byte fallback tokens, each of which encodes a single byte, in rising
    /// order.
    fn byte_ids(&self) -> &[u32] {
        &[]
    }

    /// Returns the ids of all special tokens that were added to the vocabulary, whatever their
    /// role, in rising order.
    fn added_special_ids(&self) -> Result<Vec<u32>, TokenizerError> {
        Ok(self.special_ids().to_vec())
    }

    /// Returns the id of the picture placeholder, if the model takes pictures and the id is known.
    fn image_token_id(&self) -> Option<u32> {
        None
    }

    /// Returns the number of tokens of a rendered prompt with pictures of these sizes, as the
    /// model's own processor counts them; `None` if it is not known how the model encodes pictures.
    fn count_with_images(
        &self,
        prompt: &str,
        images: &[ImageSize],
    ) -> Result<Option<u32>, TokenizerError> {
        let _ = (prompt, images);
        Ok(None)
    }

    /// Returns the number of special tokens that `encode` adds to a single text.
    fn special_tokens_added(&self) -> u32;

    /// Returns the text of the token that begins a sequence, if the model has one.
    fn bos_token(&self) -> Option<&str>;

    /// Renders a conversation with the model's own chat template, generation prompt included.
    fn apply_chat_template(&self, messages: &[JsonObject]) -> Result<String, TokenizerError> {
        self.render_chat(messages, &JsonObject::new())
    }

    /// Renders a conversation as [`apply_chat_template`](Self::apply_chat_template) does, with
    /// further template arguments: `tools`, or switches of the template such as `enable_thinking`.
    fn render_chat(
        &self,
        messages: &[JsonObject],
        arguments: &JsonObject,
    ) -> Result<String, TokenizerError>;

    /// Returns the number of tokens of `text`.
    fn count(&self, text: &str, special: SpecialTokens) -> Result<u32, TokenizerError> {
        self.encode(text, special).map(|ids| ids.len() as u32)
    }
}

/// The tokenizer of a run without one: it cannot encode or decode text, and counts every text as
/// one token, as vLLM's client does.
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

/// Whether `encode` adds the model's special tokens to a text. Closed: it adds them or it does not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SpecialTokens {
    /// Adds the special tokens that the model expects around a prompt.
    Add,
    /// Encodes the text alone.
    Omit,
}

fn missing(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return "the name of the tokenizer is empty".to_owned();
    }
    format!("{} is not there", path.display())
}

/// Errors of a tokenizer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The folder or the file does not exist.
    #[error("{}; give a folder that holds a tokenizer.json as the tokenizer", missing(path))]
    Missing {
        /// The path that was tried.
        path: PathBuf,
    },
    /// The file exists and cannot be used.
    #[error("{path} is not a usable tokenizer: {reason}", path = path.display())]
    Load {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with the file.
        reason: String,
    },
    /// A text could not be encoded.
    #[error("cannot tokenize a text of {bytes} bytes: {reason}")]
    Encode {
        /// Length of the text in bytes.
        bytes: usize,
        /// The tokenizer's own error.
        reason: String,
    },
    /// Token ids could not be decoded.
    #[error("cannot turn {count} token ids into text: {reason}")]
    Decode {
        /// Number of ids.
        count: usize,
        /// The tokenizer's own error.
        reason: String,
    },
    /// The model does not take a picture like this.
    #[error("{reason}")]
    Picture {
        /// The reason.
        reason: String,
    },
    /// The model has no chat template.
    #[error("this tokenizer has no chat template; give one that has, or apply none to the prompts")]
    NoChatTemplate,
    /// The chat template cannot be rendered.
    #[error("the chat template does not render: {reason}")]
    ChatTemplate {
        /// The template engine's own error.
        reason: String,
    },
}
