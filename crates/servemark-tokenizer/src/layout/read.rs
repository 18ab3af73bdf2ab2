//! The result of reading a tokenizer in any layout.

use crate::document::Document;

/// A tokenizer in the layout of `tokenizer.json`, and additional facts from its own layout.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) tokenizer: Document,
    /// The vocabulary size that the model's own tokenizer reports, where it includes added tokens.
    pub(crate) vocab_size: Option<u32>,
    pub(crate) chat_template: Option<&'static str>,
    /// The ids of the special tokens, where they are not recognised in a text.
    pub(crate) special_ids: Option<Vec<u32>>,
}

impl Read {
    /// Returns a tokenizer without additional facts.
    pub(super) fn without_config(tokenizer: Document) -> Self {
        Self { tokenizer, vocab_size: None, chat_template: None, special_ids: None }
    }
}
