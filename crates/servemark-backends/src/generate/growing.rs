//! A fast path for frames that differ from the one before them only in growing fields.
//!
//! SGLang repeats all text and all token ids with every token. Between constant bytes, the text and
//! the list of ids become longer and the count rises; of such a frame only the new parts are
//! decoded, and any other frame is parsed.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A frame that was parsed, split at the fields that grow.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameTemplate {
    before: Vec<u8>,
    /// All text so far, with JSON escapes.
    text: Vec<u8>,
    to_ids: Vec<u8>,
    /// All token ids so far; empty if the server sends none.
    ids: Vec<u8>,
    id_count: Option<u32>,
    to_count: Vec<u8>,
    after: Vec<u8>,
    /// The number of frames stored since the last one that matched its successor.
    wasted: u8,
}

/// The new parts of a frame.
#[derive(Debug, PartialEq)]
pub(super) struct NewParts<'a> {
    /// The text after the known text.
    pub(super) text: Cow<'a, str>,
    /// The number of tokens in the answer so far.
    pub(super) tokens: u32,
}

impl FrameTemplate {
    /// Stores a frame to match the next one against. Stops doing so for a server whose frames also
    /// differ in other fields.
    pub(super) fn learn(&mut self, frame: &[u8]) {
        let wasted = self.wasted.saturating_add(1);
        self.forget();
        if wasted <= MOST_WASTED
            && let Some(places) = FieldPositions::of(frame)
        {
            *self = places.cut(frame);
        }
        self.wasted = wasted;
    }

    /// Discards the stored frame, so that no frame matches.
    pub(super) fn forget(&mut self) {
        *self = Self { wasted: self.wasted, ..Self::default() };
    }

    /// Returns the new parts of a frame that differs only in growing fields.
    pub(super) fn read<'a>(&mut self, frame: &'a [u8]) -> Option<NewParts<'a>> {
        if self.before.is_empty() {
            return None;
        }
        let rest = frame.strip_prefix(&*self.before)?.strip_prefix(&*self.text)?;
        let (text, rest) = rest.split_at(string_end(rest)?);
        let rest = rest.strip_prefix(&*self.to_ids)?.strip_prefix(&*self.ids)?;
        let (ids, rest) = rest.split_at(rest.iter().take_while(|byte| is_of_list(**byte)).count());
        let rest = rest.strip_prefix(&*self.to_count)?;
        let (count, rest) = rest.split_at(rest.iter().take_while(|b| b.is_ascii_digit()).count());
        let (tokens, new_ids) = (number(count)?, numbers(ids)?);
        let id_count = self.id_count.map(|known| known.saturating_add(new_ids));
        // With as many ids as tokens the frame holds the whole output rather than a piece.
        let is_whole = id_count.map_or(ids.is_empty(), |ids| ids == tokens);
        if rest != self.after || !is_whole {
            return None;
        }
        let grown = NewParts { text: unescaped(text)?, tokens };
        self.text.extend_from_slice(text);
        self.ids.extend_from_slice(ids);
        (self.id_count, self.wasted) = (id_count, 0);
        Some(grown)
    }
}

/// The byte ranges of the growing fields in a frame, in this order.
#[derive(Debug)]
struct FieldPositions {
    text: Range<usize>,
    ids: Option<Range<usize>>,
    count: Range<usize>,
}

impl FieldPositions {
    fn of(frame: &[u8]) -> Option<Self> {
        let shape: Shape<'_> = serde_json::from_slice(frame).ok()?;
        let inside = |raw: &RawValue| {
            let whole = place(frame, raw)?;
            (whole.len() >= 2).then(|| whole.start + 1..whole.end - 1)
        };
        let (text, count) = (inside(shape.text)?, place(frame, shape.meta_info.completion_tokens)?);
        let ids = match shape.output_ids {
            Some(ids) => Some(inside(ids).filter(|ids| !ids.is_empty())?),
            None => None,
        };
        let is_ordered = match &ids {
            Some(ids) => text.end <= ids.start && ids.end <= count.start,
            None => text.end <= count.start,
        };
        is_ordered.then_some(Self { text, ids, count })
    }

    fn cut(self, frame: &[u8]) -> FrameTemplate {
        let Self { text, ids, count } = self;
        let id_count = ids.as_ref().map(|ids| commas(&frame[ids.clone()]) + 1);
        let ids = ids.unwrap_or(text.end..text.end);
        let bytes = |range: Range<usize>| frame[range].to_vec();
        FrameTemplate {
            before: bytes(0..text.start),
            to_ids: bytes(text.end..ids.start),
            to_count: bytes(ids.end..count.start),
            after: bytes(count.end..frame.len()),
            text: bytes(text),
            ids: bytes(ids),
            id_count,
            wasted: 0,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Shape<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
    #[serde(borrow)]
    output_ids: Option<&'a RawValue>,
    #[serde(borrow)]
    meta_info: Counts<'a>,
}

#[derive(Debug, Deserialize)]
struct Counts<'a> {
    #[serde(borrow)]
    completion_tokens: &'a RawValue,
}

/// Returns the range of a value in the frame that it is borrowed from.
fn place(frame: &[u8], raw: &RawValue) -> Option<Range<usize>> {
    let start = (raw.get().as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
    let range = start..start + raw.get().len();
    (frame.get(range.clone())? == raw.get().as_bytes()).then_some(range)
}

/// Returns the end of a JSON string, given the rest of the string.
fn string_end(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match rest.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            0..b' ' => return None,
            _ => at += 1,
        }
    }
}

/// Decodes a part of the contents of a JSON string.
fn unescaped(text: &[u8]) -> Option<Cow<'_, str>> {
    if text.contains(&b'\\') {
        let string = [b"\"", text, b"\""].concat();
        return serde_json::from_slice(&string).ok().map(Cow::Owned);
    }
    std::str::from_utf8(text).ok().map(Cow::Borrowed)
}

fn is_of_list(byte: u8) -> bool {
    byte == b',' || byte.is_ascii_digit()
}

/// Returns the number of integers in a list, each preceded by a comma.
fn numbers(list: &[u8]) -> Option<u32> {
    let mut items = list.split(|&byte| byte == b',');
    let is_begun = items.next()?.is_empty();
    (is_begun && items.all(|item| number(item).is_some())).then(|| commas(list))
}

fn commas(list: &[u8]) -> u32 {
    list.iter().map(|&byte| u32::from(byte == b',')).sum()
}

/// Parses a JSON integer, which has no leading zeros.
fn number(digits: &[u8]) -> Option<u32> {
    let is_plain = digits == b"0" || digits.first().is_some_and(|digit| *digit != b'0');
    std::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()
}

/// The largest number of stored frames without a match before no more are stored.
const MOST_WASTED: u8 = 8;
