//! Shared parts of routes whose answer is one document about several items: embeddings and
//! rankings.

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{ErrorKind, RequestError, Sink, Usage};

use crate::count::Count;
use crate::wire::{Text, believable, in_stream, parse};

/// Parses a document of items of type `T`. Passes the server's counts on to `out` and returns the
/// items.
pub(crate) fn items<'a, T: Deserialize<'a>>(
    json: &'a [u8],
    out: &mut dyn Sink,
) -> Result<Vec<T>, RequestError> {
    let document: Document<'a, T> = parse(json)?;
    if document.is_error() {
        return Err(in_stream(json));
    }
    if let Some(counts) = &document.usage {
        counts.prompt_tokens.report("prompt_tokens", out);
        counts.total_tokens.report("total_tokens", out);
        if let Some(usage) = counts.usage() {
            out.usage(usage);
        }
    }
    Ok(document.items.unwrap_or_default())
}

/// Returns an error unless the answer has exactly the expected number of items.
pub(crate) fn expect(found: usize, expected: usize, items: &str) -> Result<(), RequestError> {
    if found == 0 {
        return Err(RequestError::new(ErrorKind::Empty, format!("the answer holds no {items}")));
    }
    if found != expected {
        let message = format!("the answer holds {found} {items}, {expected} were asked for");
        return Err(RequestError::new(ErrorKind::Decode, message));
    }
    Ok(())
}

/// Returns the error for a stream in place of a document.
pub(crate) fn no_stream() -> RequestError {
    RequestError::new(ErrorKind::Decode, "expected one document, got an event stream")
}

/// A document of items; embeddings are under `data`, scores under `results`.
#[derive(Debug, Deserialize)]
struct Document<'a, T> {
    #[serde(alias = "data", alias = "results")]
    items: Option<Vec<T>>,
    usage: Option<InputUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<Text<'a>>,
}

impl<T> Document<'_, T> {
    /// Whether this is an error object, wrapped or flat.
    fn is_error(&self) -> bool {
        self.error.is_some() || self.object.as_ref().is_some_and(|object| object.0 == "error")
    }
}

/// The server's counts. Some servers send only the total, which equals the prompt's because there
/// is no output.
#[derive(Debug, Deserialize)]
struct InputUsage {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    total_tokens: Count,
}

impl InputUsage {
    fn usage(&self) -> Option<Usage> {
        let tokens = self.prompt_tokens.tokens().or(self.total_tokens.tokens())?;
        believable(Usage::new(Some(tokens), None))
    }
}
