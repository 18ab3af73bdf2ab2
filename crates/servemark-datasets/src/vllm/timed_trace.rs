//! Traces with request times, lengths and shared prompt beginnings.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, DrawContext, JsonObject, Prompt, Sample, Session, parallel};
use servemark_rng::{PythonRandom, RandomState, string_hash};

use super::rows::no_file;
use crate::jsonl::Reader;

/// A trace of JSON lines. Prompts are token ids generated block by block from a row's hashes; equal
/// hashes give equal tokens.
///
/// vLLM seeds a block with Python's hash of a string, which Python salts, so two runs of vLLM give
/// different tokens. The tokens here are those of vLLM with `PYTHONHASHSEED=0`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct TimedTraceSpec {
    /// Path of the trace.
    pub path: Option<PathBuf>,
    /// Number of tokens per block.
    pub block_tokens: NonZero<u32>,
    /// Length of one timestamp unit, in seconds.
    pub seconds: f64,
    /// Names of the trace's keys.
    pub labels: TimedTraceLabels,
}

/// Names of the trace's keys.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct TimedTraceLabels {
    /// Time of the request, relative to the start of the run.
    pub timestamp: String,
    /// Number of prompt tokens.
    pub input_length: String,
    /// Number of output tokens.
    pub output_length: String,
    /// Hashes of the prompt's blocks.
    pub hash_ids: String,
}

impl Default for TimedTraceSpec {
    fn default() -> Self {
        Self {
            path: None,
            block_tokens: NonZero::<u32>::MIN.saturating_add(15),
            seconds: 1.0,
            labels: TimedTraceLabels::default(),
        }
    }
}

impl Default for TimedTraceLabels {
    fn default() -> Self {
        Self {
            timestamp: "timestamp".to_owned(),
            input_length: "input_length".to_owned(),
            output_length: "output_length".to_owned(),
            hash_ids: "hash_ids".to_owned(),
        }
    }
}

/// A row of the trace.
struct Row {
    begins: Duration,
    input_tokens: u32,
    output_tokens: u32,
    hashes: Vec<String>,
}

impl TimedTraceSpec {
    /// Draws the first `count` rows. As in vLLM, the two global generators are reseeded with 0
    /// regardless of the seed.
    pub(super) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let hint = "give a trace of JSON lines with `workload.dataset.path`";
        let path = self.path.as_deref().ok_or_else(|| no_file("timed_trace", hint))?;
        let rows = self.rows(path, count)?;
        *context.random = RandomState::seeded(0);
        let special = context.tokenizer.special_ids();
        let plain = context.tokenizer.token_ids().iter().copied();
        let plain: Vec<u32> = plain.filter(|id| special.binary_search(id).is_err()).collect();
        let session = |row: &Row| self.session(row, &plain);
        Ok(parallel::map("making prompts", &rows, context.progress, session))
    }

    fn rows(&self, path: &Path, count: usize) -> Result<Vec<Row>, DatasetError> {
        let reader = Reader { path, on_bad_line: None, limit: Some(count) };
        Ok(reader.read(|_, record| self.row(&record).map(Some))?.rows)
    }

    fn row(&self, record: &JsonObject) -> Result<Row, String> {
        let labels = &self.labels;
        let hashes = match record.get(&labels.hash_ids) {
            Some(Value::Array(hashes)) => hashes.iter().map(hash_text).collect(),
            Some(_) => return Err(format!("{:?} is not an array", labels.hash_ids)),
            None => Vec::new(),
        };
        Ok(Row {
            begins: self.begins(record)?,
            input_tokens: tokens(record, &labels.input_length)?,
            output_tokens: tokens(record, &labels.output_length)?,
            hashes,
        })
    }

    /// Returns the time of a request; negative times count as zero.
    fn begins(&self, record: &JsonObject) -> Result<Duration, String> {
        let label = &self.labels.timestamp;
        let number = match record.get(label) {
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_f64(),
            None => None,
        };
        let seconds = number.ok_or_else(|| format!("{label:?} is not a time"))? * self.seconds;
        Duration::try_from_secs_f64(seconds.max(0.0)).map_err(|why| format!("{label:?}: {why}"))
    }

    fn session(&self, row: &Row, plain: &[u32]) -> Session {
        let mut ids = Vec::with_capacity(row.input_tokens as usize);
        let mut missing = row.input_tokens;
        for hash in &row.hashes {
            let tokens = missing.min(self.block_tokens.get());
            ids.extend(block(hash, tokens, plain));
            missing -= tokens;
            if missing == 0 {
                break;
            }
        }
        let tokens = ids.len() as u32;
        let sample = Sample::new(Prompt::TokenIds(ids), tokens, row.output_tokens);
        Session::from(sample).beginning(row.begins)
    }
}

/// Returns the tokens of a block.
fn block(hash: &str, tokens: u32, plain: &[u32]) -> Vec<u32> {
    let seed = string_hash(&format!("{hash}:{tokens}")).unwrap_or_default();
    let mut random = PythonRandom::seeded(seed & u64::from(u32::MAX));
    let places = random.choices_indices(plain.len(), tokens as usize).unwrap_or_default();
    places.into_iter().map(|place| plain[place]).collect()
}

/// Formats a hash as Python's string formatting does.
fn hash_text(hash: &Value) -> String {
    hash.as_str().map_or_else(|| hash.to_string(), str::to_owned)
}

fn tokens(record: &JsonObject, label: &str) -> Result<u32, String> {
    let number = record.get(label).and_then(Value::as_u64);
    let tokens = number.and_then(|number| u32::try_from(number).ok());
    tokens.ok_or_else(|| format!("{label:?} is not a token count"))
}
