//! One batch of SGLang's benchmark of one batch: the run that sends it, and the steps around it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::JsonObject;

use crate::BenchPlan;

/// One batch of prompts: the run that sends it, and the steps around it.
///
/// The cases of a benchmark are drawn one after the other from one random state, which starts with
/// the first case's seed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BatchCase {
    /// Plan that sends the batch, as a run of one request.
    pub plan: BenchPlan,
    /// Number of prompts in the batch.
    pub batch_size: u32,
    /// Number of tokens of a prompt that were asked for.
    pub input_len: u32,
    /// Number of tokens of an output that were asked for.
    pub output_len: u32,
    /// Number of prompt tokens that the server would have to hold at once, at `input_len` tokens a
    /// prompt.
    pub input_tokens: u64,
    /// Share of every prompt that is put into the server's cache first, from 0 to 1.
    pub cached_share: f64,
    /// Routes to which a POST is sent before the batch, to empty caches.
    pub flush: Vec<String>,
    /// Profiler that runs during the batch; absent if none does.
    pub profile: Option<BatchProfile>,
}

impl BatchCase {
    /// Creates a batch of `batch_size` prompts of the same length, without further steps.
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

    /// Returns the number of tokens that the server holds at the end, if it works on `at_once`
    /// prompts at once.
    pub fn resident_tokens(&self, at_once: u64) -> u64 {
        let size = u64::from(self.batch_size).max(1);
        let prompts = at_once.min(size);
        self.input_tokens * prompts / size + prompts * u64::from(self.output_len)
    }
}

/// The server's profiler, which is started before a batch and stops by itself.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BatchProfile {
    /// Folder that contains one folder of traces for every batch.
    pub folder: PathBuf,
    /// Further fields of the request that starts the profiler.
    pub start: JsonObject,
}

impl BatchProfile {
    /// Creates a profiler whose traces are written to `folder`.
    pub fn new(folder: PathBuf, start: JsonObject) -> Self {
        Self { folder, start }
    }
}
