//! A benchmark of an engine, which SGLang and vLLM have: over HTTP or without a server.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::parsed::Parsed;

/// A benchmark of an engine, over HTTP or without a server.
#[derive(Clone, Debug)]
pub struct Offline {
    /// Warm-up before the measurement; its results are not reported. `None` if there is none.
    pub warm_up: Option<Parsed>,
    /// Run that is measured.
    pub run: Parsed,
    /// Messages about the run.
    pub message: OfflineMessages,
    /// The file of `--output-json`.
    pub output_json: Option<PathBuf>,
    /// Whether the program waits for a signal after the run, for a profiler that is attached.
    pub stays: bool,
}

impl Offline {
    /// Returns the measured run, with the run before it in its plan.
    pub fn whole(&self) -> Parsed {
        let mut whole = self.run.clone();
        whole.plan.warm_up = self.warm_up.as_ref().map(|warm_up| Box::new(warm_up.plan.clone()));
        whole
    }
}

/// Messages of a benchmark of an engine besides the tables. Closed: these are vLLM's and SGLang's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OfflineMessages {
    /// The latency of each batch of this number of requests.
    Latency(NonZeroUsize),
    /// No messages.
    Nothing,
    /// The summary of the drawn prompts, and the token counts of SGLang's warm-up if that is left
    /// out.
    Prompts {
        /// Number of prompts of the warm-up that is left out; 0 if none is.
        skipped: usize,
    },
    /// Requests and tokens per second.
    Throughput,
    /// Only that the warm-up runs: the result of a run under a profiler is its traces.
    Traces,
}
