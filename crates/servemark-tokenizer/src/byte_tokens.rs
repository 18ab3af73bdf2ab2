//! A decoder for byte-level BPE tokenizers.
//!
//! Nearly every newer model has such a tokenizer. Decoding concatenates the bytes that a table
//! holds for each id, and this table is built in a tenth of the time that the library needs to
//! prepare encoding. If the library would number or spell any token differently from the file, this
//! decoder is not used.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::signs::{Signs, sign};
use crate::special::Wrapping;
use crate::vocabulary::Vocabulary;

/// The bytes of each token id.
#[derive(Debug)]
pub(crate) struct ByteTokens {
    bytes: Vec<u8>,
    /// The end of each id's bytes; they begin at the end of the id before it.
    ends: Vec<usize>,
    /// The tokens that are matched in a text before it is split.
    added: BTreeMap<String, u32>,
    /// The special tokens around a text.
    pub(crate) wrapping: Wrapping,
}

/// A token that is matched in a text before it is split.
#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
    normalized: bool,
}

impl ByteTokens {
    /// Builds the table from a document in the newest spelling and its vocabulary, which is stored
    /// separately. Returns `None` if the document is not a plain byte-level BPE.
    pub(crate) fn of(vocabulary: &Vocabulary<'_>, document: &Value) -> Option<Self> {
        let is_there = |byte: u8| vocabulary.contains_key(sign(byte).encode_utf8(&mut [0; 4]));
        if document["model"]["byte_level"] != true || !(0..=u8::MAX).all(is_there) {
            return None;
        }
        let added = added(vocabulary, document)?;
        let (bytes, ends) = table(vocabulary, &added)?;
        let around = document["post_processor"].to_string();
        let around = tokenizers::post_processor_from_json(&around).ok()?;
        Some(Self { bytes, ends, added, wrapping: Wrapping::of(&around.single) })
    }

    /// Returns the text of `ids`. Invalid UTF-8 becomes replacement characters, and unknown ids are
    /// skipped.
    pub(crate) fn decode(&self, ids: &[u32]) -> String {
        let mut bytes = Vec::with_capacity(ids.len() * USUAL);
        for id in ids {
            bytes.extend_from_slice(self.token(*id));
        }
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Returns the id of `text` if it is an added token and no other added token occurs in it.
    pub(crate) fn single(&self, text: &str) -> Option<u32> {
        let within = |other: &&String| text.contains(other.as_str());
        let is_whole = self.added.keys().filter(within).count() == 1;
        self.added.get(text).copied().filter(|_| is_whole)
    }

    fn token(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let Some(end) = self.ends.get(id) else { return &[] };
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..*end]
    }
}

/// Returns the added tokens, provided that the library would give them the file's ids: the id of
/// the vocabulary's equal token, or the next id after the vocabulary. Returns `None` also for a
/// token that the library normalizes, because it does not keep the original spelling.
fn added(vocabulary: &Vocabulary<'_>, document: &Value) -> Option<BTreeMap<String, u32>> {
    let mut listed: Vec<Added> = match &document["added_tokens"] {
        Value::Null => Vec::new(),
        listed => Vec::deserialize(listed).ok()?,
    };
    listed.sort_by_key(|token| token.id);
    let (normalizes, mut next) = (normalizes(document), vocabulary.len() as u32..);
    let mut added = BTreeMap::new();
    for Added { id, content, normalized } in listed {
        let known = vocabulary.get(content.as_str()).copied();
        let is_usual = known.or_else(|| next.next()) == Some(id);
        if !is_usual || content.is_empty() || (normalized && normalizes) {
            return None;
        }
        if added.insert(content, id).is_some() {
            return None;
        }
    }
    Some(added)
}

/// Whether a text is changed before it is split. An empty sequence of normalizers changes nothing.
fn normalizes(document: &Value) -> bool {
    let normalizer = &document["normalizer"];
    let steps = normalizer["normalizers"].as_array();
    steps.map_or(!normalizer.is_null(), |steps| !steps.is_empty())
}

/// Returns the bytes of all tokens in the order of their ids, and the end of each token's bytes.
fn table(
    vocabulary: &Vocabulary<'_>,
    added: &BTreeMap<String, u32>,
) -> Option<(Vec<u8>, Vec<usize>)> {
    let ids = || vocabulary.values().chain(added.values());
    let ids_end = ids().max()?.checked_add(1)? as usize;
    if ids_end > ids().count() * MOST_IDS_A_TOKEN {
        return None;
    }
    let mut tokens: Vec<Option<&str>> = vec![None; ids_end];
    for (token, id) in vocabulary {
        if tokens[*id as usize].replace(token.text()).is_some() {
            return None;
        }
    }
    let as_they_are: BTreeMap<u32, &str> =
        added.iter().map(|(content, id)| (*id, content.as_str())).collect();
    let (signs, mut bytes, mut ends) = (Signs::new(), Vec::new(), Vec::with_capacity(ids_end));
    for (id, token) in (0..).zip(tokens) {
        match (as_they_are.get(&id), token) {
            (Some(content), _) => bytes.extend_from_slice(content.as_bytes()),
            (None, Some(token)) => signs.read(token, &mut bytes),
            (None, None) => {}
        }
        ends.push(bytes.len());
    }
    Some((bytes, ends))
}

/// The usual number of bytes in a token.
const USUAL: usize = 5;

/// The largest ratio of the table's size to the number of tokens; beyond it, a table would be
/// mostly empty.
const MOST_IDS_A_TOKEN: usize = 16;
