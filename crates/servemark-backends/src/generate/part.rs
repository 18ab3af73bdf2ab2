//! A frame of `/generate`, with only the fields that concern the output.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use servemark_core::Sink;

use crate::count::Count;
use crate::wire::{Cached, Text};

/// A frame of a stream, or a document of one choice.
#[derive(Debug, serde::Deserialize)]
pub(super) struct GenerateFrame<'a> {
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

/// The server's counts and its finish reason.
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

/// A finish reason: an object with a type, or a string from some gateways.
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

/// The match that ended the output: a text, or a token whose id is ignored.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
enum Matched<'a> {
    Text(#[serde(borrow)] Text<'a>),
    Token(IgnoredAny),
}

impl GenerateFrame<'_> {
    /// Whether this is an error object, wrapped or flat.
    pub(super) fn is_error(&self) -> bool {
        self.error.is_some() || self.object.as_ref().is_some_and(|object| object.0 == "error")
    }

    /// Returns the text, whole or a piece; empty from a server without a tokenizer.
    pub(super) fn text(&self) -> &str {
        self.text.as_ref().map_or("", |text| &text.0)
    }

    /// Returns the number of tokens in the answer so far.
    pub(super) fn completion_tokens(&self) -> Option<u32> {
        self.meta_info.as_ref()?.completion_tokens.tokens()
    }

    /// Reports counts that are not JSON integers to `out`.
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

    /// Returns where cached tokens were stored.
    pub(super) fn cached(&self) -> Option<&Cached<'_>> {
        self.meta_info.as_ref()?.cached_tokens_details.as_ref()
    }

    /// Whether the frame has only growing fields: text, ids and the count of tokens.
    pub(super) fn is_growing(&self) -> bool {
        let info = self.meta_info.as_ref();
        let counts_tokens = info.is_some_and(|info| {
            info.completion_tokens.tokens().is_some() && info.spec_verify_ct.tokens().is_none()
        });
        let names_storage = self.cached().is_some_and(|cached| cached.storage_name().is_some());
        counts_tokens && !names_storage && self.finish_reason().is_none()
    }

    /// Whether the number of token ids equals `new`, the number of new tokens, and is below the
    /// number of all tokens. The text is then a piece, too, even if it looks like the whole.
    pub(super) fn ids_are_a_piece(&self, new: Option<u32>) -> bool {
        let ids = self.output_ids.as_ref().map(|ids| ids.0);
        ids.is_some() && ids == new && ids < self.completion_tokens()
    }

    /// Returns the finish reason of the choice, with the server's explanation if there is one.
    pub(super) fn finish_reason(&self) -> Option<(&str, Option<&str>)> {
        Some(match self.meta_info.as_ref()?.finish_reason.as_ref()? {
            FinishReason::Word(word) => (&word.0, None),
            // SGLang's scheduler reports a numerical failure as an ordinary stop with this match.
            FinishReason::Object { matched: Some(Matched::Text(text)), .. } if text.0 == NAN => {
                ("error", Some(NAN))
            }
            FinishReason::Object { kind, message, .. } => {
                (&kind.0, message.as_ref().map(|message| &*message.0))
            }
        })
    }
}

/// The match that SGLang's scheduler reports if the model's output became NaN.
const NAN: &str = "NaN happened";

/// The number of items in a list; the items are skipped.
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
