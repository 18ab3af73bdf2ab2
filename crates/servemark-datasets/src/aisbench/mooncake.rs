//! Mooncake's traces: how long prompts were, which of them began alike, and when they came.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, DrawContext, JsonObject, SpecialTokens, Task, parallel};
use servemark_rng::{NumpyRandom, PythonRandom};
use sha2::{Digest, Sha256};

use super::no_file;
use super::row::{Row, time, tokens};
use crate::jsonl::{BadLine, Reader};
use crate::text_file;

/// A trace of Mooncake's kind. Prompts are windows of a text, one for each block of a prompt: blocks
/// of the same number are the same.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AisbenchTraceSpec {
    /// The trace.
    pub path: Option<PathBuf>,
    /// The text; without one it is the vocabulary, word for word.
    pub corpus: Option<PathBuf>,
    /// Prompts that were made before, which are taken as they are if the file is there.
    pub prompts: Option<PathBuf>,
    /// What windows are drawn from; the run's own seed without one.
    pub seed: Option<u64>,
    /// Whether times count from the first.
    pub from_first: bool,
    /// The earliest time that is sent, in milliseconds.
    pub earliest_ms: f64,
    /// The latest, if there is one.
    pub latest_ms: Option<f64>,
}

/// A row of a trace.
struct Entry {
    text: Option<String>,
    tokens: u32,
    blocks: Vec<i64>,
    output_tokens: u32,
    begins: Option<Duration>,
}

impl AisbenchTraceSpec {
    pub(super) fn rows(&self, context: &mut DrawContext<'_>) -> Result<Vec<Row>, DatasetError> {
        if let Some(made) =
            self.prompts.as_deref().filter(|path| fs::exists(path).unwrap_or_default())
        {
            let reader = Reader { path: made, on_bad_line: BadLine::Fail, limit: None };
            return Ok(reader.read(|_, record| Row::of_object(record).map(Some))?.rows);
        }
        let path = no_file("mooncake_trace", self.path.as_ref())?;
        let reader = Reader { path, on_bad_line: BadLine::Fail, limit: None };
        let entries = reader.read(|_, record| entry(&record).map(Some))?.rows;
        let mut rows = self.written(self.within(entries), context)?;
        rows.sort_by_key(|row| row.begins.unwrap_or(Duration::MAX));
        Ok(rows)
    }

    /// The entries of the time that is asked for, and those without any.
    fn within(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        let first = entries.iter().filter_map(|entry| entry.begins).min().unwrap_or_default();
        if self.from_first {
            for begins in entries.iter_mut().filter_map(|entry| entry.begins.as_mut()) {
                *begins -= first;
            }
        }
        let is_within = |begins: Duration| {
            let millis = begins.as_nanos() as f64 / 1e6;
            millis >= self.earliest_ms && self.latest_ms.is_none_or(|latest| millis <= latest)
        };
        entries.retain(|entry| entry.begins.is_none_or(is_within));
        entries
    }

    fn written(
        &self,
        entries: Vec<Entry>,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Row>, DatasetError> {
        let seed = self.seed.unwrap_or_else(|| context.random.python.getrandbits(32));
        if self.seed.is_some() {
            // The peer seeds both global generators with it.
            context.random.python = PythonRandom::seeded(seed);
            context.random.numpy = NumpyRandom::seeded((seed ^ (seed >> 32)) as u32);
        }
        let mut corpus = Corpus::new(self.corpus_ids(context)?, seed);
        let task = Task::begin(context.progress, "making prompts", entries.len() as u64);
        let row = |entry: Entry| {
            let (text, tokens) = if let Some(text) = entry.text {
                (text, None)
            } else {
                let ids = corpus.prompt(entry.tokens, &entry.blocks)?;
                (context.tokenizer.decode(&ids)?, Some(ids.len() as u32))
            };
            task.advance(1);
            Ok(Row {
                output_tokens: Some(entry.output_tokens),
                prompt_tokens: tokens,
                begins: entry.begins,
                ..Row::of("prompt", text)
            })
        };
        entries.into_iter().map(row).collect()
    }

    fn corpus_ids(&self, context: &DrawContext<'_>) -> Result<Vec<u32>, DatasetError> {
        let tokenizer = context.tokenizer;
        let Some(path) = &self.corpus else {
            let special = tokenizer.special_ids();
            let all = tokenizer.token_ids().iter().copied();
            return Ok(all.filter(|id| special.binary_search(id).is_err()).collect());
        };
        let text = text_file::read(path)?;
        let chunks = chunks(&text);
        let ids = parallel::map("reading the corpus", &chunks, context.progress, |chunk| {
            tokenizer.encode(chunk, SpecialTokens::Omit)
        });
        Ok(ids.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }
}

/// Lines that hold something, put together until they are ten thousand letters: the peer's pieces,
/// at whose ends no token reaches over.
fn chunks(text: &str) -> Vec<String> {
    let (mut chunks, mut lines, mut letters) = (Vec::new(), Vec::new(), 0);
    for (_, line) in text_file::lines(text) {
        letters += line.chars().count();
        lines.push(line);
        if letters >= CHUNK {
            chunks.push(lines.join(" "));
            (lines, letters) = (Vec::new(), 0);
        }
    }
    chunks.extend((!lines.is_empty()).then(|| lines.join(" ")));
    chunks
}

/// The text that prompts are windows of.
struct Corpus {
    ids: Vec<u32>,
    seed: u64,
    /// Draws the windows that belong to no block.
    windows: PythonRandom,
    blocks: HashMap<i64, Vec<u32>>,
}

impl Corpus {
    fn new(ids: Vec<u32>, seed: u64) -> Self {
        let windows = derived(seed, "dataset.prompt.corpus");
        Self { ids, seed, windows, blocks: HashMap::new() }
    }

    /// So many tokens. A block is as long as it was when its number came first.
    fn prompt(&mut self, tokens: u32, blocks: &[i64]) -> Result<Vec<u32>, DatasetError> {
        let Some(before) = blocks.len().checked_sub(1) else {
            return Ok(window(&self.ids, tokens as usize, &mut self.windows));
        };
        let rest =
            (tokens as usize).checked_sub(before * BLOCK).filter(|rest| (1..=BLOCK).contains(rest));
        let rest = rest.ok_or_else(|| {
            let blocks = blocks.len();
            let why =
                format!("{tokens} tokens are not {blocks} blocks of {BLOCK}, the last one cut");
            DatasetError::Settings(why)
        })?;
        let mut ids = Vec::with_capacity(tokens as usize);
        for (place, block) in blocks.iter().enumerate() {
            let length = if place == before { rest } else { BLOCK };
            let (corpus, seed) = (&self.ids, self.seed);
            let made = self.blocks.entry(*block).or_insert_with(|| {
                let mut random = derived(seed, &format!("dataset.prompt.block.{block}"));
                window(corpus, length, &mut random)
            });
            ids.extend_from_slice(made);
        }
        Ok(ids)
    }
}

/// So many ids from a drawn one on; behind the last comes the first.
fn window(ids: &[u32], length: usize, random: &mut PythonRandom) -> Vec<u32> {
    if length > ids.len() {
        return ids.to_vec();
    }
    let start = random.randbelow(ids.len() as u64).unwrap_or_default() as usize;
    ids.iter().cycle().skip(start).take(length).copied().collect()
}

/// The generator of a name, as the peer derives it.
fn derived(seed: u64, name: &str) -> PythonRandom {
    let digest = Sha256::digest(format!("{seed}:{name}"));
    let seed = digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte));
    PythonRandom::seeded(seed)
}

fn entry(record: &JsonObject) -> Result<Entry, String> {
    let number = |key: &str| record.get(key).map_or(Ok(None), |value| tokens(key, value));
    let text = record.get("input_text").and_then(Value::as_str).map(str::to_owned);
    let length = number("input_length")?;
    if text.is_none() && length.is_none() {
        return Err("either \"input_text\" or \"input_length\" is needed".to_owned());
    }
    let blocks = record.get("hash_ids").filter(|ids| !ids.is_null()).cloned();
    let blocks = blocks.map_or(Ok(Vec::new()), serde_json::from_value);
    let begins = record.get("timestamp").filter(|time| !time.is_null());
    Ok(Entry {
        text,
        tokens: length.unwrap_or_default(),
        blocks: blocks.map_err(|_| "\"hash_ids\" is no list of whole numbers".to_owned())?,
        output_tokens: number("output_length")?.unwrap_or_default().max(1),
        begins: begins.map(time).transpose()?,
    })
}

/// How many tokens a block is.
const BLOCK: usize = 512;
/// How many letters are encoded together.
const CHUNK: usize = 10_000;
