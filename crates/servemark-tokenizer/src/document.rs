//! A tokenizer's document, converted to the one spelling that the library reads.
//!
//! Most published files are older than that spelling and are rewritten first. Nine tenths of a file
//! are its vocabulary and its merges, and at most the merges need rewriting; so these parts stay
//! text and are not parsed into values and back. A document that differs from the expected form
//! goes through the general path, which is several times slower but handles everything.

use std::borrow::Cow;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use servemark_core::{JsonObject, TokenizerError};
use tokenizers::pipeline::PipelineTokenizer;

use crate::byte_tokens::ByteTokens;
use crate::error::unusable;
use crate::limits::{check_growth, check_ids};
use crate::pipeline::{DecodingPart, Later, Pipeline};
use crate::vocabulary::Vocabulary;

/// A tokenizer in the layout of `tokenizer.json`.
#[derive(Debug)]
pub(crate) enum Document {
    Text(String),
    Value(Value),
}

impl Document {
    /// Loads the whole document.
    pub(crate) fn load(self, file: &Path) -> Result<Loaded, TokenizerError> {
        let whole = match self {
            Self::Text(text) => of_text(file, &text),
            Self::Value(value) => of_value(file, value),
        };
        Ok(whole?.map(Pipeline::Whole))
    }

    /// Loads what decoding needs; the rest is loaded when something is encoded for the first time.
    pub(crate) fn load_to_decode(self, file: &Path) -> Result<Loaded, TokenizerError> {
        let Self::Text(text) = self else { return self.load(file) };
        let canonical = Outline::of(&text).and_then(Outline::without_merges);
        let parsed = canonical.and_then(Canonical::parse);
        if let Some(parsed) = &parsed {
            parsed.check(file)?;
        }
        match parsed.and_then(Parsed::load_to_decode) {
            Some(part) => Ok(part.map(|part| part.and(Later::of(file, text, whole)))),
            None => Self::Text(text).load(file),
        }
    }
}

/// A loaded tokenizer or a part of one, and its ids.
pub(crate) struct Loaded<P = Pipeline> {
    pub(crate) pipeline: P,
    /// The number of tokens in the model's own vocabulary.
    pub(crate) base_size: u32,
    /// All ids in increasing order, including those of added tokens.
    pub(crate) ids: Vec<u32>,
    /// The ids of the model's own vocabulary that stand for a single byte, in increasing order.
    pub(crate) bytes: Vec<u32>,
}

impl<P> Loaded<P> {
    fn map<Q>(self, into: impl FnOnce(P) -> Q) -> Loaded<Q> {
        let Self { pipeline, base_size, ids, bytes } = self;
        Loaded { pipeline: into(pipeline), base_size, ids, bytes }
    }
}

/// Loads the library's tokenizer from the text of a document. The part that decodes was loaded from
/// this text before, so its ids have been checked.
fn whole(file: &Path, text: &str) -> Result<PipelineTokenizer, TokenizerError> {
    let canonical = Outline::of(text).and_then(Outline::whole);
    match canonical.and_then(|canonical| canonical.library()) {
        Some(library) => Ok(library),
        None => Ok(general(file, text)?.pipeline),
    }
}

/// Loads a document from its text. Anything unusual goes through the general path, so that all
/// errors come from there.
fn of_text(file: &Path, text: &str) -> Result<Loaded<PipelineTokenizer>, TokenizerError> {
    let parsed = Outline::of(text).and_then(Outline::whole).and_then(Canonical::parse);
    if let Some(parsed) = &parsed {
        parsed.check(file)?;
    }
    match parsed.and_then(Parsed::load) {
        Some(loaded) => Ok(loaded),
        None => general(file, text),
    }
}

/// Loads a document from its text by the general path.
fn general(file: &Path, text: &str) -> Result<Loaded<PipelineTokenizer>, TokenizerError> {
    of_value(file, serde_json::from_str(text).map_err(unusable(file))?)
}

/// Loads a document from its JSON value. This is the general path.
fn of_value(file: &Path, mut document: Value) -> Result<Loaded<PipelineTokenizer>, TokenizerError> {
    tokenizers::canonicalize_value(&mut document).map_err(unusable(file))?;
    check_ids(file, all_ids(&document))?;
    check_growth(file, &document)?;
    let pipeline = tokenizers::from_json(&document.to_string()).map_err(unusable(file))?;
    let base = base_ids(&document);
    let base_size = base.len() as u32;
    let bytes = bytes_among(named_ids(&document));
    let ids = with_added(base, &document["added_tokens"]);
    Ok(Loaded { pipeline, base_size, ids, bytes })
}

/// A document with its vocabulary and merges unparsed.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    model: ModelOutline<'a>,
    #[serde(flatten)]
    rest: JsonObject,
}

#[derive(Deserialize)]
struct ModelOutline<'a> {
    #[serde(borrow)]
    vocab: &'a RawValue,
    #[serde(borrow)]
    merges: Option<&'a RawValue>,
    #[serde(flatten)]
    settings: JsonObject,
}

/// A document in the newest spelling, with its vocabulary and merges separate and unparsed.
struct Canonical<'a> {
    vocab: &'a str,
    merges: Option<String>,
    document: Value,
}

/// A document in the newest spelling, with its vocabulary parsed.
struct Parsed<'a> {
    canonical: Canonical<'a>,
    vocabulary: Vocabulary<'a>,
}

impl<'a> Outline<'a> {
    fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Converts the document to the newest spelling.
    fn whole(self) -> Option<Canonical<'a>> {
        let merges = match self.model.merges {
            Some(merges) => Some(pairs(merges)?),
            None => None,
        };
        self.canonical(merges)
    }

    /// Converts the document to the newest spelling, for decoding. With `ignore_merges` set, the
    /// library does not check that each token of the vocabulary can be built by merges, so the
    /// merges can be left out.
    fn without_merges(mut self) -> Option<Canonical<'a>> {
        self.model.merges?;
        self.model.settings.insert("ignore_merges".to_owned(), true.into());
        self.canonical(Some("[]".to_owned()))
    }

    /// Converts the document, with these merges, to the newest spelling. This needs no vocabulary if
    /// the model states its type.
    fn canonical(self, merges: Option<String>) -> Option<Canonical<'a>> {
        let ModelOutline { vocab, mut settings, .. } = self.model;
        settings.get("type")?.as_str()?;
        settings.insert("vocab".to_owned(), json!({}));
        if merges.is_some() {
            settings.insert("merges".to_owned(), json!([]));
        }
        let mut document = Value::Object(self.rest);
        document["model"] = settings.into();
        tokenizers::canonicalize_value(&mut document).ok()?;
        Some(Canonical { vocab: vocab.get(), merges, document })
    }
}

impl<'a> Canonical<'a> {
    fn parse(self) -> Option<Parsed<'a>> {
        let vocabulary = serde_json::from_str(self.vocab).ok()?;
        Some(Parsed { canonical: self, vocabulary })
    }

    /// Builds the library's tokenizer.
    fn library(&self) -> Option<PipelineTokenizer> {
        let mut document = self.document.clone();
        let mut model = document.as_object_mut()?.remove("model")?;
        let settings = model.as_object_mut()?;
        settings.remove("vocab");
        settings.remove("merges");
        let mut model = model.to_string();
        add(&mut model, "vocab", self.vocab);
        if let Some(merges) = &self.merges {
            add(&mut model, "merges", merges);
        }
        let mut text = document.to_string();
        add(&mut text, "model", &model);
        tokenizers::from_json(&text).ok()
    }
}

impl Parsed<'_> {
    /// Fails if the document would exhaust the memory, before anything is built from it.
    fn check(&self, file: &Path) -> Result<(), TokenizerError> {
        let ids = self.vocabulary.values().map(|id| u64::from(*id));
        check_ids(file, ids.chain(added_ids(&self.canonical.document)))?;
        check_growth(file, &self.canonical.document)
    }

    fn load(self) -> Option<Loaded<PipelineTokenizer>> {
        let library = self.canonical.library()?;
        Some(self.loaded(library))
    }

    /// Loads what decoding needs.
    fn load_to_decode(self) -> Option<Loaded<DecodingPart>> {
        let part = match ByteTokens::of(&self.vocabulary, &self.canonical.document) {
            Some(tokens) => DecodingPart::Bytes(tokens),
            None => DecodingPart::Unmerged(self.canonical.library()?),
        };
        Some(self.loaded(part))
    }

    fn loaded<P>(self, pipeline: P) -> Loaded<P> {
        let Self { canonical, vocabulary } = self;
        let base_size = vocabulary.len() as u32;
        let bytes = bytes_among(vocabulary.iter().map(|(token, id)| (token.text(), *id)));
        let ids =
            with_added(vocabulary.into_values().collect(), &canonical.document["added_tokens"]);
        Loaded { pipeline, base_size, ids, bytes }
    }
}

/// Adds a member to the text of a non-empty object.
fn add(object: &mut String, key: &str, value: &str) {
    object.pop();
    for part in [",\"", key, "\":", value, "}"] {
        object.push_str(part);
    }
}

/// Rewrites merges such as `"a b"` to `["a","b"]`; `None` if one of them has neither form.
fn pairs(merges: &RawValue) -> Option<String> {
    let merges_text = merges.get();
    let merges: Vec<&RawValue> = serde_json::from_str(merges_text).ok()?;
    let mut text = String::with_capacity(merges_text.len() + merges.len() * 4);
    text.push('[');
    for merge in merges.iter().map(|merge| merge.get()) {
        // The first line of a `merges.txt` was mistaken for a merge.
        if merge.starts_with("\"#version") {
            continue;
        }
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&pair(merge)?);
    }
    text.push(']');
    Some(text)
}

fn pair(merge: &str) -> Option<Cow<'_, str>> {
    if merge.starts_with('[') {
        return Some(merge.into());
    }
    // The space between the two tokens may be written as an escape.
    if merge.contains('\\') {
        let merge: String = serde_json::from_str(merge).ok()?;
        return Some(json!(two(&merge)?).to_string().into());
    }
    let (left, right) = two(merge)?;
    Some(format!("[{left}\",\"{right}]").into())
}

/// Splits at the only space.
fn two(merge: &str) -> Option<(&str, &str)> {
    merge.split_once(' ').filter(|(_, right)| !right.contains(' '))
}

/// Returns the ids of the model's own vocabulary: the values of an object or, for Unigram, the
/// indices of an array.
fn base_ids(document: &Value) -> Vec<u32> {
    match &document["model"]["vocab"] {
        Value::Object(vocabulary) => vocabulary.values().filter_map(id).collect(),
        Value::Array(vocabulary) => (0..vocabulary.len() as u32).collect(),
        _ => Vec::new(),
    }
}

/// Returns every id in a document, of any size.
fn all_ids(document: &Value) -> impl Iterator<Item = u64> {
    let vocabulary = document["model"]["vocab"].as_object();
    let vocabulary = vocabulary.into_iter().flat_map(|vocabulary| vocabulary.values());
    vocabulary.filter_map(Value::as_u64).chain(added_ids(document))
}

/// Returns the ids of the added tokens, of any size.
fn added_ids(document: &Value) -> impl Iterator<Item = u64> {
    let added = document["added_tokens"].as_array().into_iter().flatten();
    added.filter_map(|token| token["id"].as_u64())
}

/// Returns the tokens of the model's own vocabulary with their ids.
fn named_ids(document: &Value) -> Vec<(&str, u32)> {
    match &document["model"]["vocab"] {
        Value::Object(vocabulary) => vocabulary
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), id(value)?)))
            .collect(),
        Value::Array(vocabulary) => {
            let names = vocabulary.iter().map(|entry| entry[0].as_str().unwrap_or_default());
            names.zip(0..).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the ids of tokens that are named after a byte, such as `<0x0A>`, in increasing order.
fn bytes_among<'a>(tokens: impl IntoIterator<Item = (&'a str, u32)>) -> Vec<u32> {
    let is_byte = |name: &str| {
        let digits = name.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
        digits.is_some_and(|digits| {
            digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    };
    let bytes = tokens.into_iter().filter(|(name, _)| is_byte(name)).map(|(_, id)| id);
    let mut bytes: Vec<u32> = bytes.collect();
    bytes.sort_unstable();
    bytes
}

/// Adds the ids of the added tokens, sorts all ids and removes duplicates.
fn with_added(mut ids: Vec<u32>, added: &Value) -> Vec<u32> {
    let added = added.as_array().into_iter().flatten();
    ids.extend(added.filter_map(|token| id(&token["id"])));
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

#[cfg(test)]
mod tests;
