//! One frame of `/generate`, with only the fields that say something about the output.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use servemark_core::Sink;

use crate::count::Count;
use crate::wire::{Cached, Text};

/// A frame of a stream, or a whole document about one choice.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Part<'a> {
    pub(super) index: Option<u32>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    output_ids: Option<Length>,
    #[serde(borrow)]
    pub(super) meta_info: Option<MetaInfo<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<Text<'a>>,
}

/// What the server counted, and why it stopped.
#[derive(Debug, serde::Deserialize)]
pub(super) struct MetaInfo<'a> {
    #[serde(default)]
    pub(super) prompt_tokens: Count,
    #[serde(default)]
    pub(super) completion_tokens: Count,
    #[serde(default)]
    pub(super) cached_tokens: Count,
    #[serde(borrow)]
    pub(super) cached_tokens_details: Option<Cached<'a>>,
    #[serde(default)]
    pub(super) spec_verify_ct: Count,
    #[serde(borrow)]
    finish_reason: Option<FinishReason<'a>>,
}

/// An object that names its type; gateways make a word of it.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
enum FinishReason<'a> {
    Word(#[serde(borrow)] Text<'a>),
    Object {
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
        #[serde(borrow)]
        message: Option<Text<'a>>,
        #[serde(borrow, default)]
        matched: Option<Matched<'a>>,
    },
}

/// What made the model stop: a text, or a token of which nobody here wants the number.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
enum Matched<'a> {
    Text(#[serde(borrow)] Text<'a>),
    Token(IgnoredAny),
}

impl Part<'_> {
    /// Whether it is an error object instead, wrapped or flat.
    pub(super) fn is_error(&self) -> bool {
        self.error.is_some() || self.object.as_ref().is_some_and(|object| object.0 == "error")
    }

    /// The text, whole or a piece; a server without a tokenizer sends none.
    pub(super) fn text(&self) -> &str {
        self.text.as_ref().map_or("", |text| &text.0)
    }

    /// The tokens of the answer so far.
    pub(super) fn completion_tokens(&self) -> Option<u32> {
        self.meta_info.as_ref()?.completion_tokens.tokens()
    }

    /// Tells `out` of counts that are no JSON integers.
    pub(super) fn report_counts(&self, out: &mut dyn Sink) {
        let Some(info) = &self.meta_info else { return };
        info.prompt_tokens.report("prompt_tokens", out);
        info.completion_tokens.report("completion_tokens", out);
        info.cached_tokens.report("cached_tokens", out);
        info.spec_verify_ct.report("spec_verify_ct", out);
        if let Some(cached) = &info.cached_tokens_details {
            cached.report(out);
        }
    }

    /// Where cached tokens were.
    pub(super) fn cached(&self) -> Option<&Cached<'_>> {
        self.meta_info.as_ref()?.cached_tokens_details.as_ref()
    }

    /// Whether nothing in it counts but what grows: text, ids and the count of tokens.
    pub(super) fn is_growing(&self) -> bool {
        let info = self.meta_info.as_ref();
        let counts_tokens = info.is_some_and(|info| {
            info.completion_tokens.tokens().is_some() && info.spec_verify_ct.tokens().is_none()
        });
        let names_storage = self.cached().is_some_and(|cached| cached.storage_name().is_some());
        counts_tokens && !names_storage && self.finish_reason().is_none()
    }

    /// Whether there are as many token ids as tokens are `new` and not as many as there are in
    /// all. Then the text is a piece too, even where it looks like the whole.
    pub(super) fn ids_are_a_piece(&self, new: Option<u32>) -> bool {
        let ids = self.output_ids.as_ref().map(|ids| ids.0);
        ids.is_some() && ids == new && ids < self.completion_tokens()
    }

    /// Why the choice stopped, with the server's explanation if it has one.
    pub(super) fn finish_reason(&self) -> Option<(&str, Option<&str>)> {
        Some(match self.meta_info.as_ref()?.finish_reason.as_ref()? {
            FinishReason::Word(word) => (&word.0, None),
            // To SGLang's scheduler that is a stop like any other.
            FinishReason::Object { matched: Some(Matched::Text(text)), .. } if text.0 == NAN => {
                ("error", Some(NAN))
            }
            FinishReason::Object { kind, message, .. } => {
                (&kind.0, message.as_ref().map(|message| &*message.0))
            }
        })
    }
}

/// What SGLang's scheduler says has matched where the model computed no numbers any more.
const NAN: &str = "NaN happened";

/// How many items a list has; the items are not kept.
#[derive(Debug)]
struct Length(u32);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(LengthVisitor)
    }
}

struct LengthVisitor;

impl<'de> Visitor<'de> for LengthVisitor {
    type Value = Length;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Length, A::Error> {
        let mut length = 0;
        while items.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(Length(length))
    }
}
