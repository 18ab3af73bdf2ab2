//! Settings of the scoring and the output of a run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{IfTaken, JsonObject};
use servemark_metrics::{ConcurrencyRatio, FailOn, PlateauSpec, SampleBudget, Slo, Verdict};
use servemark_report::{AisbenchOptions, EvalscopeOptions, SglangStyle, VllmOptions};

use crate::{RunProfile, SloSpec, UntilSpec};

/// Settings of the scoring of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScoringSpec {
    /// Objectives that a request must meet to be good.
    pub slos: Vec<Slo>,
    /// Objectives that the run as a whole must meet; if it misses them, the exit code shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo: Option<SloSpec>,
    /// Figures that end the run when they are known well enough; if they are not, the exit code
    /// shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilSpec>,
    /// Published rules by which the run must be valid; if it is not, the exit code shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<RunProfile>,
    /// Tables, in the order in which they are printed.
    pub layouts: Vec<Layout>,
    /// Release of SGLang whose table and result line are written.
    #[serde(skip_serializing_if = "is_default")]
    pub sglang_style: SglangStyle,
    /// Whether SGLang's table and result line contain prompt tokens from a prefix cache.
    pub cache_report: bool,
    /// Options of AISBench's tables and files.
    #[serde(skip_serializing_if = "is_default")]
    pub aisbench: AisbenchOptions,
    /// Version of evalscope whose tables and files are written, and their options.
    #[serde(skip_serializing_if = "is_default")]
    pub evalscope: EvalscopeOptions,
    /// Options of vLLM's table and result.
    #[serde(skip_serializing_if = "is_default")]
    pub vllm: VllmOptions,
    /// Whether every request's start and end is printed, in SGLang's words.
    pub print_requests: bool,
    /// Whether output tokens and requests in flight are plotted second by second.
    pub plots: bool,
    /// Share of the peak concurrency from which on the run counts as steady; if absent, the steady
    /// part is not reported.
    pub steady_state: Option<ConcurrencyRatio>,
    /// Definition of the plateau; if absent, it is not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau: Option<PlateauSpec>,
    /// Memory that a sample may take while it is summarised, and the treatment of a larger one.
    #[serde(skip_serializing_if = "is_default")]
    pub sample_budget: SampleBudget,
    /// Largest share of failed requests with which the run still counts as done; if more fail, the
    /// exit code shows it.
    pub tolerated_failures: f64,
    /// Best verdict of the client audit that is not tolerated; if the verdict is this or a worse
    /// one, the exit code shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<Verdict>,
    /// Verdicts on the run and on its client that are not tolerated; if the run has one of them,
    /// the exit code shows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unwanted: Vec<FailOn>,
    /// Names of the latencies that the program defines and that Servemark's own table and JSON
    /// show; see [`OwnLatency`](servemark_metrics::OwnLatency).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_latencies: Vec<String>,
}

impl Default for ScoringSpec {
    fn default() -> Self {
        Self {
            slos: Vec::new(),
            slo: None,
            until: None,
            profile: None,
            layouts: vec![Layout::Sglang, Layout::Native],
            sglang_style: SglangStyle::default(),
            cache_report: false,
            aisbench: AisbenchOptions::default(),
            evalscope: EvalscopeOptions::default(),
            vllm: VllmOptions::default(),
            print_requests: false,
            plots: false,
            steady_state: None,
            plateau: None,
            sample_budget: SampleBudget::default(),
            tolerated_failures: ALL_BUT_ONE,
            fail_on: None,
            unwanted: Vec::new(),
            own_latencies: Vec::new(),
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A table of results.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// AISBench's table of August 2026.
    Aisbench,
    /// Servemark's table of embeddings and rankings.
    Embedding,
    /// evalscope's table.
    Evalscope,
    /// Servemark's own table.
    Native,
    /// SGLang 0.5.23's table of an engine without a server.
    Offline,
    /// SGLang's table.
    Sglang,
    /// vLLM's table.
    Vllm,
}

/// Files to which the run and its results are written.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputSpec {
    /// Path of the run log; without one the run is kept in memory only.
    pub run_log: Option<PathBuf>,
    /// Treatment of an existing file with the run log's name.
    #[serde(skip_serializing_if = "is_default")]
    pub run_log_if_taken: IfTaken,
    /// SGLang's result file, to which a line is appended; vLLM's result file if vLLM's table is the
    /// first.
    pub result_file: Option<PathBuf>,
    /// Page of the run, as a self-contained HTML file; an existing file is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<PathBuf>,
    /// Whether the result contains every request.
    pub details: bool,
    /// Whether the texts of all answers stay in memory to the end, whatever their size, because
    /// another output repeats them.
    #[serde(skip_serializing_if = "is_default")]
    pub keeps_texts: bool,
    /// File to which a line about the steady part is appended.
    pub steady_state_file: Option<PathBuf>,
    /// Files that vLLM's client writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vllm: Option<VllmFiles>,
    /// Files that AISBench writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aisbench: Option<AisbenchFiles>,
}

impl OutputSpec {
    /// Usual name of the run log in a folder of results.
    pub const RUN_LOG: &str = "run.runlog.jsonl";
}

/// The files that AISBench writes. They are named after the data set, in a folder named after the
/// model.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AisbenchFiles {
    /// Folder of the run, for example `outputs/default/20260820_101112`; it is created if it does
    /// not exist.
    pub folder: PathBuf,
}

impl AisbenchFiles {
    /// Creates the files of a run in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }
}

/// The files that vLLM's client writes. They share one name with different endings. If no name is
/// given, it is made of the load, the model and the time.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct VllmFiles {
    /// Folder of the files, which is created if it does not exist.
    pub folder: Option<PathBuf>,
    /// Name of the files.
    pub name: Option<String>,
    /// Start of the generated name; the backend if absent.
    pub label: Option<String>,
    /// Whether the result is kept, and the treatment of an existing file.
    pub save: Option<SaveMode>,
    /// Whether the result contains every request.
    pub details: bool,
    /// Flags of the command line by their names in Python; present if the result is also written in
    /// the format of `PyTorch`'s benchmark database.
    pub pytorch: Option<JsonObject>,
    /// Times between two tokens, in milliseconds, from which on a timeline uses the second and the
    /// third colour; absent without a timeline.
    pub timeline: Option<[f64; 2]>,
    /// Whether a figure of the lengths of prompts and answers is written.
    pub dataset_stats: bool,
    /// Seconds by which local time is ahead of UTC.
    pub utc_offset_s: i32,
}

/// Treatment of an existing file. The enum is closed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveMode {
    /// The result is appended as a line.
    Append,
    /// The result replaces the file.
    Replace,
}

/// Default of the largest tolerated share of failed requests. SGLang's client never fails for
/// failed requests; Servemark does if none succeeded.
const ALL_BUT_ONE: f64 = 1.0 - f64::EPSILON;
