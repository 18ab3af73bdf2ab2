//! Text that is written only when it is sent.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Writes a text, the same one each time.
///
/// A trace of twenty thousand long prompts is a gigabyte of text, and a few megabytes of what makes
/// it. The text is written when its request is prepared and forgotten when it is sent.
pub trait Prose: fmt::Debug + Send + Sync {
    /// The whole text.
    fn text(&self) -> String;
}

/// A text described by what makes it; clones share that.
#[derive(Clone, Debug)]
pub struct LazyText(Arc<dyn Prose>);

impl LazyText {
    /// The text that `prose` writes.
    pub fn new(prose: impl Prose + 'static) -> Self {
        Self(Arc::new(prose))
    }

    /// The whole text.
    pub fn text(&self) -> String {
        self.0.text()
    }
}

/// Two texts are equal if they read the same.
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
