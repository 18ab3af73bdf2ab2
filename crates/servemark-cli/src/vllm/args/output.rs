//! What is made of the run.

use clap::{ArgAction, Args};

use super::choice::GENERATING;
use crate::argparse::Limit::{Needs, Where};
use crate::argparse::{Effects, LIST, flags};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(in crate::vllm) struct OutputArgs {
    /// Write the result into a JSON file of its own
    #[arg(long)]
    pub(in crate::vllm) save_result: bool,
    /// Put every request's lengths, times and text into it
    #[arg(long)]
    pub(in crate::vllm) save_detailed: bool,
    /// Append the result to the file as a line
    #[arg(long)]
    pub(in crate::vllm) append_result: bool,
    /// The folder of that file
    #[arg(long, value_name = "PATH")]
    pub(in crate::vllm) result_dir: Option<String>,
    /// Its name; by default LABEL-RATEqps-MODEL-TIME.json
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) result_filename: Option<String>,
    /// What the result and its file are called; by default the backend
    #[arg(long, value_name = "TEXT")]
    pub(in crate::vllm) label: Option<String>,
    /// Keys for the result, with texts of yours
    #[arg(long, value_name = "KEY=VALUE", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::vllm) metadata: Option<Vec<String>>,
    /// What to report percentiles of, with commas: ttft, tpot, itl, e2el, client_queue_time,
    /// e2el_including_client_queue; by default ttft,tpot,itl, of embeddings and rankings e2el
    #[arg(long, value_name = "NAMES")]
    pub(in crate::vllm) percentile_metrics: Option<String>,
    /// Which percentiles, with commas
    #[arg(long, value_name = "PERCENTS", default_value = "99")]
    pub(in crate::vllm) metric_percentiles: String,
    /// Limits in milliseconds that a request must keep to be good: ttft:500 tpot:50 e2el:10000
    #[arg(long, value_name = "KEY:VALUE", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::vllm) goodput: Option<Vec<String>>,
    /// Draw every request's life into an HTML file
    #[arg(long)]
    pub(in crate::vllm) plot_timeline: bool,
    /// From how many milliseconds on a time between tokens is drawn as slow, and as very slow
    #[arg(long, value_name = "MS,MS", default_value = "25,50")]
    pub(in crate::vllm) timeline_itl_thresholds: String,
    /// Draw how long prompts and outputs were into a PNG file
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
    /// Returns whether a command line asks for a file by which the others are named.
    pub(in crate::vllm) fn names_files(effects: &Effects<'_>) -> bool {
        [Self::SAVE_RESULT, Self::APPEND_RESULT, Self::PLOT_TIMELINE]
            .into_iter()
            .any(|flag| effects.is(flag))
    }
}

const NO_FILES: &str = "without --save-result, --append-result or --plot-timeline";
