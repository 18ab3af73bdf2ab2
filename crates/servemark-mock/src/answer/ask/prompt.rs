//! The size of a prompt, in any shape that a body may give it.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The size of a prompt. A token id counts as one token and text by its words, a number about a
/// third below that of most tokenizers on English text but cheap to find; of a message, the text of
/// its `content` counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Prompt {
    pub(crate) tokens: u32,
    /// The number of prompts: a list of ids is one, a list of texts is several.
    pub(crate) items: u32,
    /// Whether it is a list of prompts, possibly of only one.
    pub(super) is_list: bool,
}

/// Counts the words of a text; an empty text counts as one.
pub(super) fn words(text: &str) -> u32 {
    text.split_ascii_whitespace().count().max(1) as u32
}

/// The prompts of a batch one by one, under any of their keys.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Prompts {
    input_ids: Listed,
    prompt: Listed,
    text: Listed,
}

/// A list of prompts, or any other value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Listed {
    Prompts(Vec<Prompt>),
    Other(IgnoredAny),
}

impl Default for Listed {
    fn default() -> Self {
        Self::Prompts(Vec::new())
    }
}

impl Prompts {
    pub(super) fn sizes(&self) -> Vec<u32> {
        let names = [&self.input_ids, &self.prompt, &self.text];
        let listed = names.into_iter().filter_map(|name| match name {
            Listed::Prompts(prompts) => Some(prompts),
            Listed::Other(_) => None,
        });
        listed.flatten().map(|prompt| prompt.tokens).collect()
    }
}

impl Prompt {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            items: self.items.saturating_add(other.items),
            is_list: self.is_list || other.is_list,
        }
    }
}

impl<'de> Deserialize<'de> for Prompt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Count)
    }
}

struct Count;

impl<'de> Visitor<'de> for Count {
    type Value = Prompt;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, token ids, messages, or a list of them")
    }

    fn visit_unit<E>(self) -> Result<Prompt, E> {
        Ok(Prompt::default())
    }

    fn visit_u64<E>(self, _id: u64) -> Result<Prompt, E> {
        Ok(Prompt { tokens: 1, ..Prompt::default() })
    }

    fn visit_str<E>(self, text: &str) -> Result<Prompt, E> {
        Ok(Prompt { tokens: words(text), items: 1, is_list: false })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Prompt, A::Error> {
        let mut all = Prompt::default();
        while let Some(one) = list.next_element::<Prompt>()? {
            all = all.and(one);
        }
        // A list of only token ids is one prompt.
        Ok(Prompt { items: all.items.max(1), is_list: all.items > 0, ..all })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut message: A) -> Result<Prompt, A::Error> {
        let mut all = Prompt::default();
        while let Some(key) = message.next_key::<Key>()? {
            match key {
                Key::Content | Key::Messages | Key::Prompt | Key::Text => {
                    all = all.and(message.next_value()?);
                }
                Key::Other => drop(message.next_value::<IgnoredAny>()?),
            }
        }
        Ok(all)
    }
}

/// The keys of a message, of a content part, and of `DashScope`'s input.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Key {
    Content,
    Messages,
    Prompt,
    Text,
    #[serde(other)]
    Other,
}
