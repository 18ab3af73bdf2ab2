//! One batch of SGLang's benchmark of one batch: a run, and what is done around it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::JsonObject;

use crate::BenchPlan;

/// One batch of prompts: the run that sends it, and what is done around that.
///
/// The cases of a benchmark are drawn one after the other from one random state, which begins with
/// the first one's seed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct BatchCase {
    /// What is sent, as a run of one request.
    pub plan: BenchPlan,
    /// How many prompts it holds.
    pub batch_size: u32,
    /// Tokens of a prompt, as they were asked for.
    pub input_len: u32,
    /// Tokens of an output, as they were asked for.
    pub output_len: u32,
    /// How many tokens the server would have to hold at once, at `input_len` a prompt.
    pub input_tokens: u64,
    /// The share of every prompt that is put into the server's cache first.
    pub cached_share: f64,
    /// What is emptied before, by a POST to each of these routes.
    pub flush: Vec<String>,
    /// Whose traces are kept, if the profiler runs.
    pub profile: Option<BatchProfile>,
}

impl BatchCase {
    /// A batch of so many prompts, of which all have the same length, with nothing done around it.
    pub fn new(plan: BenchPlan, batch_size: u32, input_len: u32, output_len: u32) -> Self {
        let input_tokens = u64::from(batch_size) * u64::from(input_len);
        Self {
            plan,
            batch_size,
            input_len,
            output_len,
            input_tokens,
            cached_share: 0.0,
            flush: Vec::new(),
            profile: None,
        }
    }

    /// How many tokens the server holds in the end if it works on so many prompts at once.
    pub fn resident_tokens(&self, at_once: u64) -> u64 {
        let size = u64::from(self.batch_size).max(1);
        let prompts = at_once.min(size);
        self.input_tokens * prompts / size + prompts * u64::from(self.output_len)
    }
}

/// The server's profiler, started before a batch. It stops by itself.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct BatchProfile {
    /// The folder in which every batch has one for its traces.
    pub folder: PathBuf,
    /// What the profiler is told besides.
    pub start: JsonObject,
}

impl BatchProfile {
    /// A profiler whose traces are kept there.
    pub fn new(folder: PathBuf, start: JsonObject) -> Self {
        Self { folder, start }
    }
}
