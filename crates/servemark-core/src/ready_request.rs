//! A request that is encoded before the run.

use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A request that is encoded before the run: its path, its headers and its body. Clones share them.
///
/// ```
/// use servemark_core::{Prompt, ReadyRequest, Sample};
///
/// let ready = ReadyRequest::new("/ask", Vec::new(), b"[1]".to_vec());
/// let sample = Sample::new(Prompt::Ready(ready.clone()), 1, 16);
/// assert_eq!((ready.path(), ready.body()), ("/ask", &b"[1]"[..]));
/// assert_eq!(sample.prompt.text(), None);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReadyRequest(Arc<Parts>);

#[derive(Debug, Eq, PartialEq)]
struct Parts {
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl ReadyRequest {
    /// Creates a request from a path, relative to the base URL of the server, headers and a body.
    pub fn new(path: impl Into<String>, headers: Vec<(String, Vec<u8>)>, body: Vec<u8>) -> Self {
        Self(Arc::new(Parts { path: path.into(), headers, body }))
    }

    /// Returns the path, relative to the base URL of the server.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns the headers of this request alone.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Returns the body.
    pub fn body(&self) -> &[u8] {
        &self.0.body
    }
}

/// The body, which is shared and not copied.
impl AsRef<[u8]> for ReadyRequest {
    fn as_ref(&self) -> &[u8] {
        self.body()
    }
}

/// Writes the body as text; bytes that are not UTF-8 are replaced.
impl Serialize for ReadyRequest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        String::from_utf8_lossy(self.body()).serialize(to)
    }
}
