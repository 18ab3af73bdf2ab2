//! A vocabulary as it stands in a file.

use std::borrow::{Borrow, Cow};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use serde::Deserialize;

use crate::hasher::WordHasher;

/// A token, borrowed if its JSON has no escapes.
#[derive(Deserialize, Eq, Hash, PartialEq)]
#[serde(transparent)]
pub(crate) struct Token<'a>(#[serde(borrow)] Cow<'a, str>);

/// A map from tokens to their ids.
pub(crate) type Vocabulary<'a> = HashMap<Token<'a>, u32, BuildHasherDefault<WordHasher>>;

impl Token<'_> {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Token<'_> {
    fn borrow(&self) -> &str {
        self.text()
    }
}
