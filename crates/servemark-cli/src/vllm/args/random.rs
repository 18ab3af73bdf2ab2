//! Flags of data sets that are drawn: random, random-mm, random-rerank and prefix_repetition.

use clap::Args;
use serde_json::Value;

use super::choice::datasets;
use super::dataset::DatasetArgs;
use super::extras::ExtrasArgs;
use crate::argparse::Limit::{Unless, UnlessSince};
use crate::argparse::{Limit, flags};
use crate::python;
use crate::vllm::buckets::{Buckets, parse_buckets};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Drawn data sets")]
pub(in crate::vllm) struct RandomArgs {
    /// Length of a prompt in tokens, including the tokenizer's special tokens
    #[arg(long, value_name = "TOKENS", default_value = "1024", value_parser = python::limit)]
    pub(in crate::vllm) random_input_len: i64,
    /// Length of an output in tokens
    #[arg(long, value_name = "TOKENS", default_value = "128", value_parser = python::limit)]
    pub(in crate::vllm) random_output_len: i64,
    /// Maximum deviation of lengths from the given ones, as a share of them below 1, or one share
    /// each: {"input": 0.3, "output": 0.5}
    #[arg(long, value_name = "SHARE", default_value = "0.0")]
    pub(in crate::vllm) random_range_ratio: String,
    /// Length of the common prefix of all prompts in tokens, added to their own length
    #[arg(long, value_name = "TOKENS", default_value = "0", value_parser = python::limit)]
    pub(in crate::vllm) random_prefix_len: i64,
    /// Number of prompts in a request, for embeddings and rankings
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::limit)]
    pub(in crate::vllm) random_batch_size: i64,
    /// Assume a ranking model that reads each text alone, for random-rerank
    #[arg(long)]
    pub(in crate::vllm) no_reranker: bool,
    /// Number of pictures and videos in a request of random-mm
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::limit)]
    pub(in crate::vllm) random_mm_base_items_per_request: i64,
    /// Maximum deviation of that number, as a share of it from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) random_mm_num_mm_items_range_ratio: f64,
    /// Maximum number of items of each kind in a request of random-mm
    #[arg(long, value_name = "JSON", default_value = r#"{"image": 255, "video": 1}"#,
          value_parser = python::json)]
    pub(in crate::vllm) random_mm_limit_mm_per_prompt: Value,
    /// Share of the items of each size: {(HEIGHT, WIDTH, FRAMES): SHARE}
    #[arg(long, value_name = "DICT", value_parser = parse_buckets,
          default_value = "{(256, 256, 1): 0.5, (720, 1280, 1): 0.5, (720, 1280, 16): 0.0}")]
    pub(in crate::vllm) random_mm_bucket_config: Buckets,
    /// Length of the common prefixes of prefix_repetition in tokens
    #[arg(long, value_name = "TOKENS", default_value = "256", value_parser = python::limit)]
    pub(in crate::vllm) prefix_repetition_prefix_len: i64,
    /// Length of the text after the prefix in tokens, for prefix_repetition
    #[arg(long, value_name = "TOKENS", default_value = "256", value_parser = python::limit)]
    pub(in crate::vllm) prefix_repetition_suffix_len: i64,
    /// Number of common prefixes of prefix_repetition
    #[arg(long, value_name = "N", default_value = "10", value_parser = python::limit)]
    pub(in crate::vllm) prefix_repetition_num_prefixes: i64,
    /// Output length of prefix_repetition in tokens
    #[arg(long, value_name = "TOKENS", default_value = "128", value_parser = python::limit)]
    pub(in crate::vllm) prefix_repetition_output_len: i64,
}

flags! { RandomArgs {
    RANDOM_INPUT_LEN = "--random-input-len" => [RANDOM_DATASETS, Unless(DatasetArgs::INPUT_LEN)];
    RANDOM_OUTPUT_LEN = "--random-output-len"
        => [datasets(&["random", "random-mm"]), Unless(DatasetArgs::OUTPUT_LEN)];
    RANDOM_RANGE_RATIO = "--random-range-ratio" => [RANDOM_DATASETS, Unless(ExtrasArgs::MULTI_TURN)];
    RANDOM_PREFIX_LEN = "--random-prefix-len" => [
        datasets(&["random", "random-mm"]),
        Unless(ExtrasArgs::MULTI_TURN),
        UnlessSince(
            ExtrasArgs::RANDOM_CACHE_HIT_FRACTION,
            "which says itself how far prompts are alike",
        ),
    ];
    RANDOM_BATCH_SIZE = "--random-batch-size" => [
        datasets(&["random", "random-rerank"]),
        Unless(ExtrasArgs::MULTI_TURN),
        Unless(ExtrasArgs::PROMPT_TOKEN_IDS),
    ];
    NO_RERANKER = "--no-reranker" => [datasets(&["random-rerank"])];
    RANDOM_MM_BASE_ITEMS_PER_REQUEST = "--random-mm-base-items-per-request" => [PICTURED];
    RANDOM_MM_NUM_MM_ITEMS_RANGE_RATIO = "--random-mm-num-mm-items-range-ratio" => [PICTURED];
    RANDOM_MM_LIMIT_MM_PER_PROMPT = "--random-mm-limit-mm-per-prompt" => [PICTURED];
    RANDOM_MM_BUCKET_CONFIG = "--random-mm-bucket-config" => [PICTURED];
    PREFIX_REPETITION_PREFIX_LEN = "--prefix-repetition-prefix-len" => [REPEATED];
    PREFIX_REPETITION_SUFFIX_LEN = "--prefix-repetition-suffix-len" => [REPEATED];
    PREFIX_REPETITION_NUM_PREFIXES = "--prefix-repetition-num-prefixes" => [REPEATED];
    PREFIX_REPETITION_OUTPUT_LEN = "--prefix-repetition-output-len"
        => [REPEATED, Unless(DatasetArgs::OUTPUT_LEN)];
}}

const RANDOM_DATASETS: Limit = datasets(&["random", "random-mm", "random-rerank"]);
const PICTURED: Limit = datasets(&["random-mm"]);
const REPEATED: Limit = datasets(&["prefix_repetition"]);
