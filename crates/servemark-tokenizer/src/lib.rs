//! Tokenizers, chat templates and token counts.
//!
//! A [`TokenizerSpec`] selects a tokenizer and an [`HfTokenizer`] is a loaded one: it converts text
//! to ids and back, and conversations to text, like transformers' `AutoTokenizer` for the same
//! folder. Texts are never truncated or padded, whatever the file asks for, because their lengths
//! are what is measured.
//!
//! This is the only crate that links the `tokenizers` library and the template engine; all other
//! crates use core's `Tokenizer` trait. It reads local files and downloads nothing.
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
mod config;
mod date;
mod document;
mod error;
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
mod vocabulary;

pub use chat_template::{ChatTemplate, Conversation};
pub use hf::HfTokenizer;
pub use spec::{TokenizerSpec, hub_name};
