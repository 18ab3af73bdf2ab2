//! What is made of a run, and where it goes.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_metrics::{ConcurrencyRatio, SampleBudget, Slo, Verdict};

/// What is made of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScoringSpec {
    /// The objectives that a request must meet to be good.
    pub slos: Vec<Slo>,
    /// The tables, in the order in which they are printed.
    pub layouts: Vec<Layout>,
    /// What vLLM's table and result have sections about, by vLLM's names; its own choice without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<String>>,
    /// Which percentiles vLLM's table and result show, in percent; its own choice without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Vec<f64>>,
    /// Whether SGLang's table and result line tell of prompt tokens from a prefix cache.
    pub cache_report: bool,
    /// Whether every request's start and end is printed, in SGLang's words.
    pub print_requests: bool,
    /// Whether output tokens and requests in flight are plotted, second by second.
    pub plots: bool,
    /// From which share of the peak concurrency on the run counts as steady, if its steady part is
    /// to be told apart.
    pub steady_state: Option<ConcurrencyRatio>,
    /// How much memory a sample may take while it is summed up, and what becomes of a larger one.
    #[serde(skip_serializing_if = "is_default")]
    pub sample_budget: SampleBudget,
    /// The largest share of failed requests with which the run still counts as done; if more fail,
    /// the program says so with its exit code.
    pub tolerated_failures: f64,
    /// The best verdict of the client audit that is not tolerated; the program says with its exit
    /// code that it was this or a worse one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<Verdict>,
}

impl Default for ScoringSpec {
    fn default() -> Self {
        Self {
            slos: Vec::new(),
            layouts: vec![Layout::Sglang, Layout::Native],
            sections: None,
            percentiles: None,
            cache_report: false,
            print_requests: false,
            plots: false,
            steady_state: None,
            sample_budget: SampleBudget::default(),
            tolerated_failures: ALL_BUT_ONE,
            fail_on: None,
        }
    }
}

fn is_default(budget: &SampleBudget) -> bool {
    *budget == SampleBudget::default()
}

/// Whose table.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layout {
    /// Ours, of embeddings and rankings.
    Embedding,
    /// Ours.
    Native,
    /// SGLang 0.5.23's.
    Sglang,
    /// vLLM 0.33.0's.
    Vllm,
}

/// Where the run and its result go.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputSpec {
    /// The run log; without one the run is kept in memory only.
    pub run_log: Option<PathBuf>,
    /// The peer's result file, to which a line is appended.
    pub result_file: Option<PathBuf>,
    /// Whether that line holds every request.
    pub details: bool,
    /// The file to which a line about the steady part is appended.
    pub steady_state_file: Option<PathBuf>,
}

/// SGLang's client never fails for failed requests; ours does when not one succeeded.
const ALL_BUT_ONE: f64 = 1.0 - f64::EPSILON;
