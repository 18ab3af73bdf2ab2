//! The tokenizer of a run, as a plan stores it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use servemark_core::TokenizerError;

use crate::HfTokenizer;
use crate::files::Folder;
use crate::layout::TEKKEN;

/// The location of a tokenizer: a folder with its files, one of these files, or a name on a hub.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(transparent)]
pub struct TokenizerSpec {
    source: String,
}

impl TokenizerSpec {
    /// Returns a spec for the tokenizer at `source`.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into() }
    }

    /// Returns the path or name.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the source if it looks like the name of a model on a hub and does not exist on this
    /// machine.
    pub fn hub_name(&self) -> Option<&str> {
        hub_name(&self.source)
    }

    /// Returns the spec of the tokenizer in Mistral's own layout, `tekken.json`, in the same
    /// folder; this spec if its source is not a folder.
    #[must_use]
    pub fn mistrals(&self) -> Self {
        match Path::new(&self.source) {
            folder if folder.is_dir() => Self::new(folder.join(TEKKEN).to_string_lossy()),
            _ => self.clone(),
        }
    }

    /// Loads the tokenizer. One on a hub must have been downloaded before.
    pub fn load(&self) -> Result<HfTokenizer, TokenizerError> {
        HfTokenizer::load(self.path()?)
    }

    /// Loads the tokenizer [for decoding](HfTokenizer::load_to_decode).
    pub fn load_to_decode(&self) -> Result<HfTokenizer, TokenizerError> {
        HfTokenizer::load_to_decode(self.path()?)
    }

    /// Checks that the tokenizer's files exist. One on a hub must have been downloaded before.
    pub fn find(&self) -> Result<(), TokenizerError> {
        Folder::at(self.path()?).map(drop)
    }

    /// Returns whether the tokenizer has a chat template. Its files are read, and nothing is built
    /// of them.
    pub fn has_chat_template(&self) -> Result<bool, TokenizerError> {
        Folder::at(self.path()?)?.has_chat_template()
    }

    fn path(&self) -> Result<&Path, TokenizerError> {
        let path = Path::new(&self.source);
        match self.hub_name() {
            Some(_) => Err(TokenizerError::Missing { path: path.to_owned() }),
            None => Ok(path),
        }
    }
}

/// Returns a source that is a name on a hub, `name` or `owner/name`. `None` if the source exists on
/// this machine or looks like a path.
pub fn hub_name(source: &str) -> Option<&str> {
    (is_hub_name(source) && !Path::new(source).exists()).then_some(source)
}

/// Whether a source looks like a name on a hub, `name` or `owner/name`, rather than a path.
fn is_hub_name(source: &str) -> bool {
    !source.is_empty()
        && source.split('/').count() <= 2
        && source.split('/').all(|part| part.starts_with(char::is_alphanumeric))
        && !FILES.iter().any(|ending| source.ends_with(ending))
}

/// File extensions of tokenizers and models; a source that ends with one is a path.
const FILES: [&str; 4] = [".gguf", ".json", ".model", ".tiktoken"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_name_is_told_from_a_path() {
        for name in ["Qwen/Qwen2.5-7B-Instruct", "gpt2"] {
            assert_eq!(TokenizerSpec::new(name).hub_name(), Some(name));
        }
        for path in ["./absent", "/absent", "a/b/c", "a/", "", "src", "a/absent.json"] {
            assert_eq!(TokenizerSpec::new(path).hub_name(), None);
        }
    }

    #[test]
    fn what_is_not_here_is_named() {
        for path in ["Qwen/Qwen2.5-7B-Instruct", "./absent", "/absent", "a/b/c", "a/", ""] {
            let error = TokenizerSpec::new(path).load().unwrap_err();
            assert!(matches!(error, TokenizerError::Missing { .. }), "{path}: {error}");
            let named = if path.is_empty() { "the name of the tokenizer is empty" } else { path };
            assert!(error.to_string().starts_with(named), "{error}");
        }
    }

    #[test]
    fn a_plan_holds_it_as_a_string() {
        let spec = TokenizerSpec::new("models/x");
        assert_eq!(serde_json::to_string(&spec).unwrap(), r#""models/x""#);
        assert_eq!(serde_json::from_str::<TokenizerSpec>(r#""models/x""#).unwrap(), spec);
    }
}
