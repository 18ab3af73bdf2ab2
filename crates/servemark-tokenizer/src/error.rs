//! Errors about a file of a tokenizer.

use std::path::Path;

use servemark_core::TokenizerError;

/// Wraps an error about the file at `path`.
pub(crate) fn unusable<E: ToString>(path: &Path) -> impl FnOnce(E) -> TokenizerError + '_ {
    |error| TokenizerError::Load { path: path.to_owned(), reason: error.to_string() }
}

/// Returns the error for a file that is valid but not supported here.
pub(crate) fn unsupported(path: &Path, why: &str) -> TokenizerError {
    unusable(path)(format!(
        "{why}; give a folder that holds a tokenizer.json as the tokenizer, as transformers' \
         AutoTokenizer.from_pretrained(…).save_pretrained(DIR) writes it"
    ))
}
