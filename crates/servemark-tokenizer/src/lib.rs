//! Tokenizer and chat-template loading, and token counting.
//!
//! A [`TokenizerSpec`] says which tokenizer, an [`HfTokenizer`] is one: text to ids and back, and
//! conversations to text, as transformers' `AutoTokenizer` does it for the same folder. Lengths
//! are never cut or padded, whatever the file asks for, because they are what is measured.
//!
//! This is the only crate that links the `tokenizers` library and the template engine; everybody
//! else knows core's `Tokenizer`. It reads local files and downloads nothing.
//!
//! ```no_run
//! use servemark_core::{SpecialTokens, Tokenizer, TokenizerError};
//! use servemark_tokenizer::TokenizerSpec;
//!
//! let tokenizer = TokenizerSpec::new("models/Qwen2.5-7B-Instruct").load()?;
//! let tokens = tokenizer.count("How long is this?", SpecialTokens::Add)?;
//! # Ok::<(), TokenizerError>(())
//! ```

mod byte_tokens;
mod chat_limits;
mod chat_template;
mod date;
mod document;
mod files;
mod generation_tag;
mod hasher;
mod hf;
mod layout;
mod limits;
mod pipeline;
mod python_text;
mod signs;
mod spec;
mod special;
mod vision;

pub use chat_template::{ChatTemplate, Conversation};
pub use hf::HfTokenizer;
pub use spec::{TokenizerSpec, hub_name};
