//! Flags of the results and their files.

use clap::{ArgAction, Args};

use super::choice::GENERATING;
use crate::argparse::Limit::{Needs, Where};
use crate::argparse::{Effects, LIST, flags};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(in crate::vllm) struct OutputArgs {
    /// Write the result to a JSON file
    #[arg(long)]
    pub(in crate::vllm) save_result: bool,
    /// Add the lengths, times and text of every request to the result file
    #[arg(long)]
    pub(in crate::vllm) save_detailed: bool,
    /// Append the result to the file as a line
    #[arg(long)]
    pub(in crate::vllm) append_result: bool,
    /// Folder of the result file
    #[arg(long, value_name = "PATH")]
    pub(in crate::vllm) result_dir: Option<String>,
    /// Name of the result file; by default LABEL-RATEqps-MODEL-TIME.json
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) result_filename: Option<String>,
    /// Label of the result and its file; by default the backend
    #[arg(long, value_name = "TEXT")]
    pub(in crate::vllm) label: Option<String>,
    /// Additional entries of the result, as KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::vllm) metadata: Option<Vec<String>>,
    /// Metrics with percentiles, separated by commas: ttft, tpot, itl, e2el, client_queue_time,
    /// e2el_including_client_queue; by default ttft,tpot,itl, for embeddings and rankings e2el
    #[arg(long, value_name = "NAMES")]
    pub(in crate::vllm) percentile_metrics: Option<String>,
    /// Percentiles to report, separated by commas
    #[arg(long, value_name = "PERCENTS", default_value = "99")]
    pub(in crate::vllm) metric_percentiles: String,
    /// Limits in milliseconds that a request must meet to count as goodput: ttft:500 tpot:50
    /// e2el:10000
    #[arg(long, value_name = "KEY:VALUE", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::vllm) goodput: Option<Vec<String>>,
    /// Write a timeline of all requests to an HTML file
    #[arg(long)]
    pub(in crate::vllm) plot_timeline: bool,
    /// Milliseconds from which on the timeline shows the time between two tokens as slow, and as
    /// very slow
    #[arg(long, value_name = "MS,MS", default_value = "25,50")]
    pub(in crate::vllm) timeline_itl_thresholds: String,
    /// Write a plot of the lengths of prompts and outputs to a PNG file
    #[arg(long)]
    pub(in crate::vllm) plot_dataset_stats: bool,
    /// Show no progress bar
    #[arg(long)]
    pub(in crate::vllm) disable_tqdm: bool,
}

flags! { OutputArgs {
    SAVE_RESULT = "--save-result";
    SAVE_DETAILED = "--save-detailed" => [Where(
        |effects| effects.is(Self::SAVE_RESULT) || effects.is(Self::APPEND_RESULT),
        "without --save-result or --append-result",
    )];
    APPEND_RESULT = "--append-result";
    RESULT_DIR = "--result-dir" => [Where(Self::names_files, NO_FILES)];
    RESULT_FILENAME = "--result-filename" => [Where(Self::names_files, NO_FILES)];
    LABEL = "--label";
    METADATA = "--metadata";
    PERCENTILE_METRICS = "--percentile-metrics";
    METRIC_PERCENTILES = "--metric-percentiles";
    GOODPUT = "--goodput" => [GENERATING];
    PLOT_TIMELINE = "--plot-timeline";
    TIMELINE_ITL_THRESHOLDS = "--timeline-itl-thresholds" => [Needs(Self::PLOT_TIMELINE)];
    PLOT_DATASET_STATS = "--plot-dataset-stats";
    DISABLE_TQDM = "--disable-tqdm";
}}

impl OutputArgs {
    /// Returns whether a command line asks for a file from whose name the others are derived.
    pub(in crate::vllm) fn names_files(effects: &Effects<'_>) -> bool {
        [Self::SAVE_RESULT, Self::APPEND_RESULT, Self::PLOT_TIMELINE]
            .into_iter()
            .any(|flag| effects.is(flag))
    }
}

const NO_FILES: &str = "without --save-result, --append-result or --plot-timeline";
