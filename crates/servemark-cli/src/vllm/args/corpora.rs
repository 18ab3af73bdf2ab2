//! Flags of data sets that are read from files or a hub.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::choice::datasets;
use super::dataset::DatasetArgs;
use crate::argparse::Limit::Unless;
use crate::argparse::{Limit, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Files and the hub")]
pub(in crate::vllm) struct CorporaArgs {
    /// Output length of custom, custom_image and custom_audio in tokens; -1 uses the length in each
    /// row
    #[arg(long, value_name = "TOKENS", default_value = "256", value_parser = python::int,
          allow_negative_numbers = true)]
    pub(in crate::vllm) custom_output_len: i64,
    /// Send the pictures of custom_image as data instead of by their URLs
    #[arg(long)]
    pub(in crate::vllm) custom_ensure_client_side_data: bool,
    /// Output length of sharegpt in tokens; by default the length of the recorded answer
    #[arg(long, value_name = "TOKENS", value_parser = python::limit)]
    pub(in crate::vllm) sharegpt_output_len: Option<i64>,
    /// Output length of spec_bench in tokens
    #[arg(long, value_name = "TOKENS", default_value = "256", value_parser = python::limit)]
    pub(in crate::vllm) spec_bench_output_len: i64,
    /// Use only prompts of spec_bench with this category
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) spec_bench_category: Option<String>,
    /// Subset of speed_bench: a file of its folder
    #[arg(long, value_name = "NAME", default_value = "qualitative",
          value_parser = PossibleValuesParser::new(SUBSETS))]
    pub(in crate::vllm) speed_bench_dataset_subset: String,
    /// Output length of speed_bench in tokens
    #[arg(long, value_name = "TOKENS", default_value = "4096", value_parser = python::limit)]
    pub(in crate::vllm) speed_bench_output_len: i64,
    /// Use only prompts of speed_bench with this category
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) speed_bench_category: Option<String>,
    /// Subset of a data set of the hub
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) hf_subset: Option<String>,
    /// Split of a data set of the hub
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) hf_split: Option<String>,
    /// Name of the data set on the hub, if --dataset-path is a local copy
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) hf_name: Option<String>,
    /// Output length of a data set of the hub in tokens
    #[arg(long, value_name = "TOKENS", value_parser = python::limit)]
    pub(in crate::vllm) hf_output_len: Option<i64>,
    /// Load the whole data set before its first row is used
    #[arg(long)]
    pub(in crate::vllm) no_stream: bool,
    /// Categories of the function-calling data set, separated by commas
    #[arg(long, value_name = "NAMES")]
    pub(in crate::vllm) bfcl_categories: Option<String>,
    /// Minimum edit distance of the rows of blazedit's data sets
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) blazedit_min_distance: f64,
    /// Maximum edit distance of the rows of blazedit's data sets
    #[arg(long, value_name = "SHARE", default_value = "1.0", value_parser = python::float)]
    pub(in crate::vllm) blazedit_max_distance: f64,
    /// Maximum length of the recordings of a speech data set, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "inf", value_parser = python::float)]
    pub(in crate::vllm) asr_max_audio_len_sec: f64,
    /// Minimum length of the recordings of a speech data set, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) asr_min_audio_len_sec: f64,
}

flags! { CorporaArgs {
    CUSTOM_OUTPUT_LEN = "--custom-output-len" => [
        datasets(&["custom", "custom_image", "custom_audio"]),
        Unless(DatasetArgs::OUTPUT_LEN),
    ];
    CUSTOM_ENSURE_CLIENT_SIDE_DATA = "--custom-ensure-client-side-data"
        => [datasets(&["custom_image"])];
    SHAREGPT_OUTPUT_LEN = "--sharegpt-output-len"
        => [datasets(&["sharegpt"]), Unless(DatasetArgs::OUTPUT_LEN)];
    SPEC_BENCH_OUTPUT_LEN = "--spec-bench-output-len"
        => [datasets(&["spec_bench"]), Unless(DatasetArgs::OUTPUT_LEN)];
    SPEC_BENCH_CATEGORY = "--spec-bench-category" => [datasets(&["spec_bench"])];
    SPEED_BENCH_DATASET_SUBSET = "--speed-bench-dataset-subset" => [datasets(&["speed_bench"])];
    SPEED_BENCH_OUTPUT_LEN = "--speed-bench-output-len" => [datasets(&["speed_bench"])];
    SPEED_BENCH_CATEGORY = "--speed-bench-category" => [datasets(&["speed_bench"])];
    HF_SUBSET = "--hf-subset" => [HUB];
    HF_SPLIT = "--hf-split" => [HUB];
    HF_NAME = "--hf-name" => [HUB];
    HF_OUTPUT_LEN = "--hf-output-len" => [HUB, Unless(DatasetArgs::OUTPUT_LEN)];
    NO_STREAM = "--no-stream" => [HUB];
    BFCL_CATEGORIES = "--bfcl-categories" => [HUB];
    BLAZEDIT_MIN_DISTANCE = "--blazedit-min-distance" => [HUB];
    BLAZEDIT_MAX_DISTANCE = "--blazedit-max-distance" => [HUB];
    ASR_MAX_AUDIO_LEN_SEC = "--asr-max-audio-len-sec" => [HUB];
    ASR_MIN_AUDIO_LEN_SEC = "--asr-min-audio-len-sec" => [HUB];
}}

const SUBSETS: [&str; 6] = [
    "qualitative",
    "throughput_1k",
    "throughput_2k",
    "throughput_8k",
    "throughput_16k",
    "throughput_32k",
];

const HUB: Limit = datasets(&["hf"]);
