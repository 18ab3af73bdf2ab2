//! A row of a trace, and the prompts made from its lengths and hashes.

use std::sync::Arc;

use serde_json::Value;
use servemark_core::{JsonObject, Sample};

use crate::text_generator::{Extract, TextGenerator};

/// A row of a trace.
pub(super) struct Row {
    line: u64,
    /// Time of the request, in milliseconds.
    pub(super) millis: f64,
    input_tokens: u32,
    /// Output length, in tokens.
    pub(super) output_tokens: u32,
    /// Hashes of the blocks.
    pub(super) hash_ids: Vec<u64>,
}

impl Row {
    /// Parses a row. `needs_length` is false for SGLang's prompts, which ignore the length.
    pub(super) fn of(line: usize, object: &JsonObject, needs_length: bool) -> Result<Self, String> {
        let input_tokens = tokens(object, "input_length")?.filter(|tokens| *tokens > 0);
        if needs_length && input_tokens.is_none() {
            return Err("\"input_length\" must be a number of tokens, 1 or more".to_owned());
        }
        Ok(Self {
            line: line as u64,
            millis: millis(object)?,
            input_tokens: input_tokens.unwrap_or_default(),
            output_tokens: tokens(object, "output_length")?.unwrap_or(DEFAULT_OUTPUT),
            hash_ids: hash_ids(object)?,
        })
    }

    /// Returns the requests of the row's rounds.
    pub(super) fn rounds(
        &self,
        rounds: u32,
        generator: &Arc<TextGenerator>,
    ) -> impl Iterator<Item = Sample> {
        let mut extracts = Vec::new();
        (0..rounds).map(move |round| {
            if round > 0 {
                extracts.push(Extract::of_answer(self.line, self.output_tokens));
            }
            extracts.extend(self.blocks());
            generator.sample(extracts.clone(), self.output_tokens)
        })
    }

    /// Returns the beginning of each hash's text. The last block takes all remaining tokens.
    fn blocks(&self) -> Vec<Extract> {
        let Some((last, others)) = self.hash_ids.split_last() else {
            return vec![Extract::of_row(self.line, self.input_tokens)];
        };
        let mut left = self.input_tokens;
        let mut block = |id: &u64, most: u32| {
            let tokens = left.min(most);
            left -= tokens;
            Extract::shared(*id, tokens)
        };
        let mut blocks: Vec<Extract> = others.iter().map(|id| block(id, BLOCK_TOKENS)).collect();
        blocks.push(block(last, u32::MAX));
        blocks
    }
}

fn millis(object: &JsonObject) -> Result<f64, String> {
    let millis = object.get("timestamp").and_then(Value::as_f64);
    millis.ok_or_else(|| "\"timestamp\" must be a number of milliseconds".to_owned())
}

fn tokens(object: &JsonObject, key: &str) -> Result<Option<u32>, String> {
    let Some(value) = object.get(key) else { return Ok(None) };
    let tokens = value.as_u64().and_then(|tokens| u32::try_from(tokens).ok());
    tokens.map(Some).ok_or_else(|| format!("\"{key}\" is not a token count: {value}"))
}

fn hash_ids(object: &JsonObject) -> Result<Vec<u64>, String> {
    let Some(ids) = object.get("hash_ids") else { return Ok(Vec::new()) };
    serde_json::from_value(ids.clone())
        .map_err(|_| "\"hash_ids\" must be an array of whole numbers".to_owned())
}

const BLOCK_TOKENS: u32 = 512;

/// Output length of a row without an `output_length`, in tokens.
const DEFAULT_OUTPUT: u32 = 256;
