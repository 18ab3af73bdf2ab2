//! Reading of texts, and of queries with documents, from a file.

use std::path::Path;

use serde_json::{Value, json};
use servemark_core::{DatasetError, DrawContext, JsonObject, Prompt, parallel};

use super::{EvalscopeEmbeddingSpec, EvalscopeRerankSpec, EvalscopeSpec, RequestDraft};
use crate::evalscope::measure::Measure;
use crate::evalscope::texts::file;
use crate::{json_array, python_json, text_file};

impl EvalscopeEmbeddingSpec {
    pub(in crate::evalscope) fn ask(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        let measure = Measure::of(of, context);
        let path = file(self.name().as_str(), self.path.as_deref(), None)?;
        let texts = match ending(&path) {
            "txt" => lines(&path, |text| Ok(text.to_owned()))?,
            "json" => json_array::read(&path, context.progress, |item| text_of(&item).map(Some))?,
            "jsonl" => lines(&path, |text| text_of(&parsed(text)?))?,
            _ => return Err(unknown(&path, ".txt, .json or .jsonl")),
        };
        let batch = self.batch.map_or(1, |batch| batch.get() as usize);
        let fits = |text: &String| measure.fits(text).map(|fits| fits.then(|| text.clone()));
        let wanted = count.saturating_mul(batch);
        let texts = parallel::first("reading texts", &texts, wanted, context.progress, fits)?;
        texts.chunks(batch).map(|texts| self.request_draft(texts, &measure)).collect()
    }

    fn request_draft(
        &self,
        texts: &[String],
        measure: &Measure<'_>,
    ) -> Result<RequestDraft, DatasetError> {
        let tokens = measure.count(texts.iter().map(String::as_str))?;
        Ok(match (self.batch, texts) {
            (None, [text]) => RequestDraft::new(text.as_str(), tokens),
            _ => RequestDraft::new(Prompt::Texts(texts.to_vec()), tokens),
        })
    }
}

impl EvalscopeRerankSpec {
    pub(in crate::evalscope) fn ask(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        let path = file("rerank", self.path.as_deref(), None)?;
        let pairs = match ending(&path) {
            "json" => json_array::read(&path, context.progress, |item| pair_of(&item).map(Some))?,
            "jsonl" | "txt" => lines(&path, |text| pair_of(&parsed(text)?))?,
            _ => return Err(unknown(&path, ".json, .jsonl or .txt")),
        };
        let measure = Measure::of(of, context);
        pairs.into_iter().take(count).map(|pair| pair.request_draft(&measure)).collect()
    }
}

/// A query and its documents, which are texts or objects.
struct Pair {
    query: String,
    documents: Vec<Value>,
}

impl Pair {
    fn request_draft(self, measure: &Measure<'_>) -> Result<RequestDraft, DatasetError> {
        let Self { query, documents } = self;
        let texts = documents.iter().map(|document| document.get("text").unwrap_or(document));
        let texts = texts.map(|text| text.as_str().unwrap_or_default());
        let tokens = measure.count([query.as_str()].into_iter().chain(texts))?;
        let prompt = match serde_json::from_value(json!(documents)) {
            Ok(documents) => Prompt::Ranking { query, documents },
            Err(_) => Prompt::Body(whole(&query, &documents)),
        };
        Ok(RequestDraft::new(prompt, tokens))
    }
}

/// Returns the request body for documents that are not plain texts, which are sent unchanged.
fn whole(query: &str, documents: &[Value]) -> JsonObject {
    let parts = [("query", json!(query)), ("documents", json!(documents))];
    parts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn pair_of(item: &Value) -> Result<Pair, String> {
    let query = item.get("query").and_then(Value::as_str).filter(|query| !query.is_empty());
    let documents = ["documents", "passages", "texts"]
        .into_iter()
        .find_map(|key| item.get(key)?.as_array().filter(|documents| !documents.is_empty()));
    match (query, documents) {
        (Some(query), Some(documents)) => {
            Ok(Pair { query: query.to_owned(), documents: documents.clone() })
        }
        _ => Err("expected an object with a \"query\" and \"documents\"".to_owned()),
    }
}

/// Returns a text, or an object's text under the first matching key of [`KEYS`].
fn text_of(item: &Value) -> Result<String, String> {
    let named = |key: &str| item.get(key)?.as_str().filter(|text| !text.is_empty());
    match item {
        Value::String(text) => Some(text.as_str()),
        item if item.is_object() => KEYS.into_iter().find_map(named),
        _ => None,
    }
    .map(str::to_owned)
    .ok_or_else(|| format!("expected a text, or an object with one under {}", KEYS.join(", ")))
}

const KEYS: [&str; 4] = ["text", "input", "sentence", "content"];

fn parsed(text: &str) -> Result<Value, String> {
    python_json::parse(text).map_err(|error| python_json::without_line(&error))
}

/// Applies `take` to each non-blank line; errors name the line.
fn lines<T>(path: &Path, take: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, DatasetError> {
    let text = text_file::read(path)?;
    let taken = text_file::lines(&text)
        .map(|(line, text)| take(text).map_err(|reason| text_file::malformed(path, line, reason)));
    taken.collect()
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

fn unknown(path: &Path, known: &str) -> DatasetError {
    let path = path.display();
    DatasetError::Settings(format!("{path} is read by its ending, which must be {known}"))
}
