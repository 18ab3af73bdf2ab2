//! Parts of the wire format that all dialects share: frames, borrowed text, errors in successful
//! responses.
//!
//! Each dialect defines the fields of its own frames.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use servemark_core::{CachedDetails, ErrorKind, RequestError, Sink, Usage};
use servemark_sse::Event;

use crate::count::Count;
use crate::error_message::{error_message, excerpt};

/// The data of an event or document.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Frame<'a> {
    /// No data: an empty event, or the `null` with which llama-server starts a batch.
    Blank,
    /// The end mark `[DONE]`.
    Done,
    /// Data that should be JSON.
    Json(&'a [u8]),
}

impl<'a> Frame<'a> {
    /// Classifies an event. Fails if the event is named `error`.
    pub(crate) fn of_event(event: Event<'a>) -> Result<Self, RequestError> {
        if event.event() == b"error" {
            return Err(in_stream(event.data()));
        }
        Ok(Self::of(event.data()))
    }

    /// Classifies data.
    pub(crate) fn of(data: &'a [u8]) -> Self {
        match data.trim_ascii() {
            b"" | b"null" => Self::Blank,
            b"[DONE]" => Self::Done,
            json => Self::Json(json),
        }
    }
}

/// Parses a frame into a dialect's own type.
pub(crate) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, RequestError> {
    serde_json::from_slice(json).map_err(|error| undecodable(json, &error))
}

/// Returns the error for an error object in a response with status 200.
pub(crate) fn in_stream(body: &[u8]) -> RequestError {
    RequestError::new(ErrorKind::InStream, error_message(body))
}

fn undecodable(data: &[u8], error: &serde_json::Error) -> RequestError {
    if is_plain_text(data) {
        return in_stream(data);
    }
    let excerpt = excerpt(data, LONGEST_EXCERPT);
    RequestError::new(ErrorKind::Decode, format!("{error} in {excerpt}"))
}

/// Whether a frame is UTF-8 that does not begin like JSON: a message of the server or of a proxy.
fn is_plain_text(data: &[u8]) -> bool {
    let is_text = std::str::from_utf8(data).is_ok();
    is_text && !data.starts_with(b"{") && !data.starts_with(b"[")
}

/// A text that is borrowed from its frame unless it contains escapes.
///
/// serde borrows a bare `Cow` but copies one inside an `Option`; with this wrapper `Option<Text>`
/// is borrowed as well.
#[derive(Clone, Debug, Default, serde::Deserialize, PartialEq)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A list that allocates memory only from its second item on.
#[derive(Debug)]
pub(crate) struct SmallList<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> SmallList<T> {
    /// Returns the items in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SmallList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor(PhantomData))
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = SmallList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<SmallList<T>, A::Error> {
        let mut few = SmallList { first: items.next_element()?, rest: Vec::new() };
        while let Some(item) = items.next_element()? {
            few.rest.push(item);
        }
        Ok(few)
    }
}

/// Where SGLang stored cached prompt tokens, in the form common to its routes.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Cached<'a> {
    #[serde(default)]
    device: Count,
    #[serde(default)]
    host: Count,
    #[serde(default)]
    storage: Count,
    #[serde(borrow)]
    storage_backend: Option<Text<'a>>,
}

impl Cached<'_> {
    pub(crate) fn details(&self) -> CachedDetails {
        CachedDetails::new(self.device.tokens(), self.host.tokens(), self.storage.tokens())
    }

    /// Reports counts that are not JSON integers to `out`.
    pub(crate) fn report(&self, out: &mut dyn Sink) {
        self.device.report("device", out);
        self.host.report("host", out);
        self.storage.report("storage", out);
    }

    /// Returns the name of the storage.
    pub(crate) fn storage_name(&self) -> Option<&str> {
        self.storage_backend.as_ref().map(|name| &*name.0)
    }
}

/// Returns the server's counts unless they are placeholders. litellm sends zeros with every frame
/// of a stream that it has not counted; a prompt of zero tokens is believed only beside output
/// tokens.
pub(crate) fn believable(usage: Usage) -> Option<Usage> {
    let answered = usage.completion_tokens.is_some_and(|tokens| tokens > 0);
    (answered || usage.prompt_tokens != Some(0)).then_some(usage)
}

const LONGEST_EXCERPT: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_no_counts_but_beside_an_answer() {
        let kept = |prompt, output| believable(Usage::new(prompt, output)).is_some();
        assert!(kept(Some(0), Some(16)) && kept(Some(3), Some(0)) && kept(None, None));
        assert!(!kept(Some(0), Some(0)) && !kept(Some(0), None));
    }

    #[test]
    fn text_in_an_option_borrows() {
        let parsed: Option<Text<'_>> = serde_json::from_str(r#""plain""#).unwrap();
        assert!(matches!(parsed, Some(Text(Cow::Borrowed("plain")))));
        let parsed: Option<Text<'_>> = serde_json::from_str(r#""a\nb""#).unwrap();
        assert!(matches!(parsed, Some(Text(Cow::Owned(text))) if text == "a\nb"));
    }

    #[test]
    fn a_few_are_kept_in_order() {
        for json in ["[]", "[1]", "[1,2,3]"] {
            let few: SmallList<u8> = serde_json::from_str(json).unwrap();
            let list: Vec<u8> = serde_json::from_str(json).unwrap();
            assert!(few.iter().eq(&list), "{json}");
        }
    }

    #[test]
    fn a_cut_frame_is_undecodable_and_is_shown() {
        let json = br#"{"choices":[{"index"#;
        let error = parse::<Vec<u8>>(json).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Decode);
        assert!(error.message.contains(r#"{"choices":[{"index"#), "{error}");
    }

    #[test]
    fn a_long_frame_is_shown_in_part() {
        let json = [b'['; 5_000];
        let error = parse::<Vec<u8>>(&json).unwrap_err();
        assert!(error.message.len() < 300, "{error}");
    }

    #[test]
    fn plain_text_is_the_servers_own_word() {
        let error = parse::<Vec<u8>>(b"upstream gone").unwrap_err();
        assert_eq!(error, RequestError::new(ErrorKind::InStream, "upstream gone"));
    }

    #[test]
    fn bytes_that_are_no_text_are_undecodable() {
        assert_eq!(parse::<Vec<u8>>(b"\xff\xfe").unwrap_err().kind, ErrorKind::Decode);
    }
}
