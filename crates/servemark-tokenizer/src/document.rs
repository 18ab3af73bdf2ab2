//! A tokenizer's document, in the one spelling that the library reads.
//!
//! Most published files are older than that spelling and are rewritten first. Nine tenths of a file
//! are its vocabulary and its merges, of which at most the merges are rewritten; so these are not
//! made into values and back, but carried over as text. Whatever looks otherwise than expected
//! takes the plain way, which is several times slower and right for everything.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use servemark_core::{JsonObject, TokenizerError};
use tokenizers::pipeline::PipelineTokenizer;

use crate::files::unusable;

/// A tokenizer in the layout of `tokenizer.json`.
#[derive(Debug)]
pub(crate) enum Document {
    Text(String),
    Value(Value),
}

impl Document {
    /// Loads all of it.
    pub(crate) fn load(self, file: &Path) -> Result<Loaded, TokenizerError> {
        match self {
            Self::Text(text) => of_text(file, &text),
            Self::Value(value) => of_value(file, value),
        }
    }

    /// Loads what decoding needs, and the rest when something is encoded for the first time.
    pub(crate) fn load_to_decode(self, file: &Path) -> Result<Loaded, TokenizerError> {
        let Self::Text(text) = self else { return self.load(file) };
        let Some(mut loaded) = Outline::of(&text).and_then(Outline::load_to_decode) else {
            return Self::Text(text).load(file);
        };
        loaded.pipeline.whole = Some(Later { file: file.to_owned(), text, made: OnceLock::new() });
        Ok(loaded)
    }
}

/// What a tokenizer's document makes: the library's tokenizer, and the ids that it has.
pub(crate) struct Loaded {
    pub(crate) pipeline: Pipeline,
    /// How many tokens the model's own vocabulary has.
    pub(crate) base_size: u32,
    /// All ids, those of added tokens included, in rising order.
    pub(crate) ids: Vec<u32>,
}

/// The library's tokenizer. Half of the time that it takes to make one goes into the merges, which
/// only encoding needs.
pub(crate) struct Pipeline {
    /// It decodes, finds added tokens in a text, and knows what goes around one.
    pub(crate) decoding: PipelineTokenizer,
    /// What encodes, where that is another.
    whole: Option<Later>,
}

/// A tokenizer that is made when it is needed.
struct Later {
    file: PathBuf,
    text: String,
    made: OnceLock<Result<PipelineTokenizer, String>>,
}

impl Pipeline {
    /// The one that encodes. It may have to be made first.
    pub(crate) fn encoding(&self) -> Result<&PipelineTokenizer, TokenizerError> {
        let Some(Later { file, text, made }) = &self.whole else { return Ok(&self.decoding) };
        let make = || match of_text(file, text) {
            Ok(loaded) => Ok(loaded.pipeline.decoding),
            Err(TokenizerError::Load { reason, .. }) => Err(reason),
            Err(error) => Err(error.to_string()),
        };
        made.get_or_init(make).as_ref().map_err(|reason| unusable(file)(reason))
    }
}

impl From<PipelineTokenizer> for Pipeline {
    fn from(decoding: PipelineTokenizer) -> Self {
        Self { decoding, whole: None }
    }
}

/// Loads a document that is text. The way over text is left as soon as anything is unusual, so that
/// every error is the plain way's.
fn of_text(file: &Path, text: &str) -> Result<Loaded, TokenizerError> {
    match Outline::of(text).and_then(Outline::load) {
        Some(loaded) => Ok(loaded),
        None => of_value(file, serde_json::from_str(text).map_err(unusable(file))?),
    }
}

/// Loads a document that is a value.
fn of_value(file: &Path, mut document: Value) -> Result<Loaded, TokenizerError> {
    tokenizers::canonicalize_value(&mut document).map_err(unusable(file))?;
    let pipeline = tokenizers::from_json(&document.to_string()).map_err(unusable(file))?;
    let base = base_ids(&document);
    let base_size = base.len() as u32;
    let ids = with_added(base, &document["added_tokens"]);
    Ok(Loaded { pipeline: pipeline.into(), base_size, ids })
}

/// A document whose vocabulary and merges are still text.
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

/// A token, borrowed where it is written without escapes.
#[derive(Deserialize, Eq, Hash, PartialEq)]
#[serde(transparent)]
struct Token<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Outline<'a> {
    fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn load(self) -> Option<Loaded> {
        let merges = match self.model.merges {
            Some(merges) => Some(pairs(merges)?),
            None => None,
        };
        self.load_with(merges.as_deref())
    }

    /// Without merges every token of the vocabulary is said to be one, which need not be proven.
    fn load_to_decode(mut self) -> Option<Loaded> {
        self.model.merges?;
        self.model.settings.insert("ignore_merges".to_owned(), true.into());
        self.load_with(Some("[]"))
    }

    fn load_with(self, merges: Option<&str>) -> Option<Loaded> {
        let ModelOutline { vocab, settings, .. } = self.model;
        let vocabulary: HashMap<Token<'_>, u32> = serde_json::from_str(vocab.get()).ok()?;
        let (document, mut model) = canonical(self.rest, settings, merges.is_some())?;
        add(&mut model, "vocab", vocab.get());
        if let Some(merges) = merges {
            add(&mut model, "merges", merges);
        }
        let mut text = document.to_string();
        add(&mut text, "model", &model);
        let pipeline = tokenizers::from_json(&text).ok()?.into();
        let base_size = vocabulary.len() as u32;
        let ids = with_added(vocabulary.into_values().collect(), &document["added_tokens"]);
        Some(Loaded { pipeline, base_size, ids })
    }
}

/// Everything but the model, and the model's settings as an object's text, both in the newest
/// spelling. It is told from the settings alone when the model says what it is.
fn canonical(rest: JsonObject, mut settings: JsonObject, merges: bool) -> Option<(Value, String)> {
    settings.get("type")?.as_str()?;
    settings.insert("vocab".to_owned(), json!({}));
    if merges {
        settings.insert("merges".to_owned(), json!([]));
    }
    let mut document = Value::Object(rest);
    document["model"] = settings.into();
    tokenizers::canonicalize_value(&mut document).ok()?;
    let mut model = document.as_object_mut()?.remove("model")?;
    let settings = model.as_object_mut()?;
    settings.remove("vocab");
    settings.remove("merges");
    Some((document, model.to_string()))
}

/// One more member of an object that is not empty.
fn add(object: &mut String, key: &str, value: &str) {
    object.pop();
    for part in [",\"", key, "\":", value, "}"] {
        object.push_str(part);
    }
}

/// The merges with `"a b"` as `["a","b"]`; nothing where one of them is neither.
fn pairs(merges: &RawValue) -> Option<String> {
    let merges_text = merges.get();
    let merges: Vec<&RawValue> = serde_json::from_str(merges_text).ok()?;
    let mut text = String::with_capacity(merges_text.len() + merges.len() * 4);
    text.push('[');
    for merge in merges.iter().map(|merge| merge.get()) {
        // The first line of a `merges.txt` that somebody took for a merge.
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
    // An escape might stand for the space that parts the two.
    if merge.contains('\\') {
        let merge: String = serde_json::from_str(merge).ok()?;
        return Some(json!(two(&merge)?).to_string().into());
    }
    let (left, right) = two(merge)?;
    Some(format!("[{left}\",\"{right}]").into())
}

/// The two sides of the only space.
fn two(merge: &str) -> Option<(&str, &str)> {
    merge.split_once(' ').filter(|(_, right)| !right.contains(' '))
}

/// The ids of the model's own vocabulary: an object's values or, for Unigram, an array's places.
fn base_ids(document: &Value) -> Vec<u32> {
    match &document["model"]["vocab"] {
        Value::Object(vocabulary) => vocabulary.values().filter_map(id).collect(),
        Value::Array(vocabulary) => (0..vocabulary.len() as u32).collect(),
        _ => Vec::new(),
    }
}

/// The same with those of the added tokens, which may lie among them, in rising order.
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
