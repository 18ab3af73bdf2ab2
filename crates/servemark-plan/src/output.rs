//! What is made of a run, and where it goes.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{IfTaken, JsonObject};
use servemark_metrics::{ConcurrencyRatio, FailOn, PlateauSpec, SampleBudget, Slo, Verdict};
use servemark_report::{AisbenchOptions, EvalscopeOptions, VllmOptions};

use crate::{RunProfile, SloSpec, UntilSpec};

/// What is made of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScoringSpec {
    /// The objectives that a request must meet to be good.
    pub slos: Vec<Slo>,
    /// What the run as a whole must keep to; the program says with its exit code that it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo: Option<SloSpec>,
    /// The figures that end the run when they are known; the program says with its exit code that they
    /// are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilSpec>,
    /// The published rules by which the run is to be valid; the program says with its exit code that it
    /// is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<RunProfile>,
    /// The tables, in the order in which they are printed.
    pub layouts: Vec<Layout>,
    /// Whether SGLang's table and result line tell of prompt tokens from a prefix cache.
    pub cache_report: bool,
    /// What AISBench's tables and files tell.
    #[serde(skip_serializing_if = "is_default")]
    pub aisbench: AisbenchOptions,
    /// Whose version's evalscope's tables and files are, and what they tell besides.
    #[serde(skip_serializing_if = "is_default")]
    pub evalscope: EvalscopeOptions,
    /// What vLLM's table and result tell.
    #[serde(skip_serializing_if = "is_default")]
    pub vllm: VllmOptions,
    /// Whether every request's start and end is printed, in SGLang's words.
    pub print_requests: bool,
    /// Whether output tokens and requests in flight are plotted, second by second.
    pub plots: bool,
    /// From which share of the peak concurrency on the run counts as steady, if its steady part is
    /// to be told apart.
    pub steady_state: Option<ConcurrencyRatio>,
    /// From when to when the run counts as being at its load, if that is to be told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau: Option<PlateauSpec>,
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
    /// Verdicts on the run and on its client that are not tolerated; the program says with its exit
    /// code that one of them is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unwanted: Vec<FailOn>,
}

impl Default for ScoringSpec {
    fn default() -> Self {
        Self {
            slos: Vec::new(),
            slo: None,
            until: None,
            profile: None,
            layouts: vec![Layout::Sglang, Layout::Native],
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
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Whose table.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layout {
    /// AISBench's of August 2026.
    Aisbench,
    /// Ours, of embeddings and rankings.
    Embedding,
    /// evalscope's.
    Evalscope,
    /// Ours.
    Native,
    /// SGLang 0.5.23's, of an engine without a server.
    Offline,
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
    /// What happens where that file exists already.
    #[serde(skip_serializing_if = "is_default")]
    pub run_log_if_taken: IfTaken,
    /// SGLang's result file, to which a line is appended; vLLM's, where its table is the first.
    pub result_file: Option<PathBuf>,
    /// Whether that line holds every request.
    pub details: bool,
    /// Whether the texts of all answers stay in memory to the end, however many: what is made of the
    /// run besides repeats them.
    #[serde(skip_serializing_if = "is_default")]
    pub keeps_texts: bool,
    /// The file to which a line about the steady part is appended.
    pub steady_state_file: Option<PathBuf>,
    /// The files that vLLM's client leaves behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vllm: Option<VllmFiles>,
    /// The files that AISBench leaves behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aisbench: Option<AisbenchFiles>,
}

/// The files that AISBench leaves behind. Their names are the data set's, in a folder of the model's
/// name.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AisbenchFiles {
    /// The folder of the run, such as `outputs/default/20260820_101112`; it is made if there is
    /// none.
    pub folder: PathBuf,
}

impl AisbenchFiles {
    /// The files of a run in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }
}

/// The files that vLLM's client leaves behind. They have one name but for its end, which is made of
/// the load, the model and the time where nobody gives one.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct VllmFiles {
    /// The folder that they go to, which is made if there is none.
    pub folder: Option<PathBuf>,
    /// What they are called.
    pub name: Option<String>,
    /// What the made name begins with; the backend where nobody says.
    pub label: Option<String>,
    /// Whether the result is kept, and what becomes of a file that is there already.
    pub save: Option<SaveMode>,
    /// Whether it holds every request.
    pub details: bool,
    /// The flags of the command line by their names in Python, if the result is kept in the format
    /// of `PyTorch`'s benchmark database too.
    pub pytorch: Option<JsonObject>,
    /// From how many milliseconds between two tokens on a timeline shows the second colour, and the
    /// third, if there is to be one.
    pub timeline: Option<[f64; 2]>,
    /// Whether there is to be a picture of how long prompts and answers are.
    pub dataset_stats: bool,
    /// By how many seconds the local clock is ahead of Greenwich.
    pub utc_offset_s: i32,
}

/// What becomes of a file that is there already. Closed: it stays or it goes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveMode {
    /// The result is a line after what is there.
    Append,
    /// The result takes its place.
    Replace,
}

/// SGLang's client never fails for failed requests; ours does when not one succeeded.
const ALL_BUT_ONE: f64 = 1.0 - f64::EPSILON;
