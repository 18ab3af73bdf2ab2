//! Prompt text that is generated when its request is prepared.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Generates a text, which is identical on every call.
///
/// A trace of twenty thousand long prompts is a gigabyte of text, while the data that generates it
/// takes a few megabytes. The text is generated when its request is prepared and dropped when the
/// request is sent.
///
/// ```
/// use servemark_core::{LazyText, Sample, TextSource};
///
/// /// A word that is repeated until the prompt is long enough.
/// #[derive(Debug)]
/// struct Repeated(&'static str, usize);
///
/// impl TextSource for Repeated {
///     fn text(&self) -> String {
///         vec![self.0; self.1].join(" ")
///     }
/// }
///
/// let sample = Sample::new(LazyText::new(Repeated("word", 3)), 3, 16);
/// assert_eq!(sample.prompt.text().as_deref(), Some("word word word"));
/// ```
pub trait TextSource: fmt::Debug + Send + Sync {
    /// Returns the whole text.
    fn text(&self) -> String;
}

/// A text described by what generates it; clones share the generator.
#[derive(Clone, Debug)]
pub struct LazyText(Arc<dyn TextSource>);

impl LazyText {
    /// Creates a text that `source` generates.
    pub fn new(source: impl TextSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Generates the whole text.
    pub fn text(&self) -> String {
        self.0.text()
    }
}

/// Two texts are equal if their characters are.
impl PartialEq for LazyText {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.text() == other.text()
    }
}

impl Serialize for LazyText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(to)
    }
}
