//! Which tokenizer a run uses, as a plan stores it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use servemark_core::TokenizerError;

use crate::HfTokenizer;

/// Which tokenizer: a folder with a `tokenizer.json`, or that file.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(transparent)]
pub struct TokenizerSpec {
    source: String,
}

impl TokenizerSpec {
    /// The tokenizer at `source`.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into() }
    }

    /// Where it comes from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Loads it.
    pub fn load(&self) -> Result<HfTokenizer, TokenizerError> {
        let path = Path::new(&self.source);
        if !path.exists() && is_hub_name(&self.source) {
            return Err(TokenizerError::Load { path: path.to_owned(), reason: NO_HUB.to_owned() });
        }
        HfTokenizer::load(path)
    }
}

/// Whether a source reads like a name on a hub, `name` or `owner/name`, and not like a path.
fn is_hub_name(source: &str) -> bool {
    !source.is_empty()
        && source.split('/').count() <= 2
        && source.split('/').all(|part| part.starts_with(char::is_alphanumeric))
}

const NO_HUB: &str = "there is no such local path, and downloading from a hub is not built yet; \
    give a folder that holds a tokenizer.json (--tokenizer DIR)";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fails(source: &str, message: &str) {
        assert_eq!(TokenizerSpec::new(source).load().unwrap_err().to_string(), message);
    }

    #[test]
    fn a_hub_name_is_told_from_a_path() {
        fails(
            "Qwen/Qwen2.5-7B-Instruct",
            "Qwen/Qwen2.5-7B-Instruct is not a usable tokenizer: there is no such local path, and \
             downloading from a hub is not built yet; give a folder that holds a tokenizer.json \
             (--tokenizer DIR)",
        );
        for path in ["./absent", "/absent", "a/b/c", "a/", ""] {
            let error = TokenizerSpec::new(path).load().unwrap_err();
            assert!(matches!(error, TokenizerError::Missing { .. }), "{path}: {error}");
        }
    }

    #[test]
    fn a_plan_holds_it_as_a_string() {
        let spec = TokenizerSpec::new("models/x");
        assert_eq!(serde_json::to_string(&spec).unwrap(), r#""models/x""#);
        assert_eq!(serde_json::from_str::<TokenizerSpec>(r#""models/x""#).unwrap(), spec);
    }
}
