//! Mooncake's traces: prompt lengths, shared beginnings and request times.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, DrawContext, JsonObject, SpecialTokens, Task, parallel};
use servemark_rng::{NumpyRandom, PythonRandom};

use super::no_file;
use super::row::{Row, time, tokens};
use crate::jsonl::Reader;
use crate::text_file;

/// A trace in Mooncake's format. A prompt is made of windows of a corpus, one per block; blocks
/// with equal ids have equal text.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct AisbenchTraceSpec {
    /// Path of the trace.
    pub path: Option<PathBuf>,
    /// Path of the corpus; `None` uses the vocabulary's tokens in the order of their ids.
    pub corpus: Option<PathBuf>,
    /// Path of prompts that were generated before. If the file exists, its rows are used instead of
    /// the trace.
    pub prompts: Option<PathBuf>,
    /// Seed of the windows; `None` uses the run's generator.
    pub seed: Option<u64>,
    /// Whether times are relative to the first request.
    pub from_first: bool,
    /// Minimum time of the requests sent, in milliseconds.
    pub earliest_ms: f64,
    /// Maximum time of the requests sent, in milliseconds; `None` sets no limit.
    pub latest_ms: Option<f64>,
}

/// A row of the trace.
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
            let reader = Reader { path: made, on_bad_line: None, limit: None };
            return Ok(reader.read(|_, record| Row::of_object(record).map(Some))?.rows);
        }
        let path = no_file("mooncake_trace", self.path.as_ref())?;
        let reader = Reader { path, on_bad_line: None, limit: None };
        let entries = reader.read(|_, record| entry(&record).map(Some))?.rows;
        let mut rows = self.make_rows(self.within(entries), context)?;
        rows.sort_by_key(|row| row.begins.unwrap_or(Duration::MAX));
        Ok(rows)
    }

    /// Returns the entries within the requested time range, and those without a time.
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

    fn make_rows(
        &self,
        entries: Vec<Entry>,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Row>, DatasetError> {
        let seed = self.seed.unwrap_or_else(|| context.random.python.getrandbits(32));
        if self.seed.is_some() {
            // AISBench seeds both global generators with it.
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

/// Joins non-blank lines into chunks of at least ten thousand characters. AISBench encodes these
/// chunks separately, so no token spans two of them.
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

/// The tokens from which prompts are cut.
struct Corpus {
    ids: Vec<u32>,
    seed: u64,
    /// Generator of the windows for prompts without blocks.
    windows: PythonRandom,
    blocks: HashMap<i64, Vec<u32>>,
}

impl Corpus {
    fn new(ids: Vec<u32>, seed: u64) -> Self {
        let windows = derived(seed, "dataset.prompt.corpus");
        Self { ids, seed, windows, blocks: HashMap::new() }
    }

    /// Returns a prompt of `tokens` ids. A block id that occurs again keeps the text and length of
    /// its first occurrence.
    fn prompt(&mut self, tokens: u32, blocks: &[i64]) -> Result<Vec<u32>, DatasetError> {
        let Some(before) = blocks.len().checked_sub(1) else {
            return Ok(window(&self.ids, tokens as usize, &mut self.windows));
        };
        let rest =
            (tokens as usize).checked_sub(before * BLOCK).filter(|rest| (1..=BLOCK).contains(rest));
        let rest = rest.ok_or_else(|| {
            let blocks = blocks.len();
            let why =
                format!("{tokens} tokens do not fit {blocks} blocks of {BLOCK}, the last shorter");
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

/// Returns `length` consecutive ids from a drawn index on, wrapping around at the end. If `length`
/// exceeds the number of ids, all ids are returned.
fn window(ids: &[u32], length: usize, random: &mut PythonRandom) -> Vec<u32> {
    if length > ids.len() {
        return ids.to_vec();
    }
    let start = random.randbelow(ids.len() as u64).unwrap_or_default() as usize;
    ids.iter().cycle().skip(start).take(length).copied().collect()
}

/// Returns the generator that AISBench derives from a seed and a name.
fn derived(seed: u64, name: &str) -> PythonRandom {
    let digest = digest(&SHA256, format!("{seed}:{name}").as_bytes());
    let seed = digest.as_ref().iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte));
    PythonRandom::seeded(seed)
}

fn entry(record: &JsonObject) -> Result<Entry, String> {
    let number = |key: &str| record.get(key).map_or(Ok(None), |value| tokens(key, value));
    let text = record.get("input_text").and_then(Value::as_str).map(str::to_owned);
    let length = number("input_length")?;
    if text.is_none() && length.is_none() {
        return Err("\"input_text\" or \"input_length\" is required".to_owned());
    }
    let blocks = record.get("hash_ids").filter(|ids| !ids.is_null()).cloned();
    let blocks = blocks.map_or(Ok(Vec::new()), serde_json::from_value);
    let begins = record.get("timestamp").filter(|time| !time.is_null());
    Ok(Entry {
        text,
        tokens: length.unwrap_or_default(),
        blocks: blocks.map_err(|_| "\"hash_ids\" is not a list of whole numbers".to_owned())?,
        output_tokens: number("output_length")?.unwrap_or_default().max(1),
        begins: begins.map(time).transpose()?,
    })
}

/// Number of tokens per block.
const BLOCK: usize = 512;
/// Minimum number of characters encoded together.
const CHUNK: usize = 10_000;
