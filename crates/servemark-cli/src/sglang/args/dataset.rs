//! Flags about the data set.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use servemark_datasets::DatasetName;

use super::choice::{DATASET_NAME, datasets};
use crate::argparse::Limit::Except;
use crate::argparse::flags;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data set")]
pub(in crate::sglang) struct DatasetArgs {
    /// Source of the prompts; besides those of SGLang: azure-trace, burstgpt, otel-trace,
    /// servegen
    #[arg(long, value_name = "NAME", default_value = "sharegpt",
          value_parser = PossibleValuesParser::new(dataset_names()))]
    pub(in crate::sglang) dataset_name: String,
    /// The file of sharegpt, random, custom, openai, mmmu or a trace; for otel-trace and servegen a
    /// folder
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    pub(in crate::sglang) dataset_path: String,
    /// Number of requests to send
    #[arg(long, value_name = "N", default_value = "1000", value_parser = python::int)]
    pub(in crate::sglang) num_prompts: i64,
    /// The seed of prompts, lengths and arrivals
    #[arg(long, value_name = "N", default_value = "42", value_parser = python::int)]
    pub(in crate::sglang) seed: i64,
    /// The output length of every request of sharegpt, custom and openai; by default the data's
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    pub(in crate::sglang) sharegpt_output_len: Option<i64>,
    /// Leave out requests of sharegpt and custom that are longer, prompt and output together
    #[arg(long, value_name = "TOKENS", value_parser = python::limit)]
    pub(in crate::sglang) sharegpt_context_len: Option<i64>,
    /// The longest prompt of random, random-ids and image
    #[arg(long, value_name = "TOKENS", default_value = "1024", value_parser = python::int)]
    pub(in crate::sglang) random_input_len: i64,
    /// The longest output of random, random-ids and image; the output of mmmu
    #[arg(long, value_name = "TOKENS", default_value = "1024", value_parser = python::int)]
    pub(in crate::sglang) random_output_len: i64,
    /// The shortest length as a share of the longest, 0 to 1; 1 makes every length the same
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::sglang) random_range_ratio: f64,
    /// Number of pictures in a request of image
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::sglang) image_count: i64,
    /// Draw the number of pictures of each request, from one to --image-count
    #[arg(long)]
    pub(in crate::sglang) random_image_count: bool,
    /// Size of pictures: 4k, 1080p, 720p, 360p, HEIGHTxWIDTH, or random:SMALLEST-LARGEST
    #[arg(long, value_name = "SIZE", default_value = "1080p")]
    pub(in crate::sglang) image_resolution: String,
    /// Encoding of pictures: jpeg or png
    #[arg(long, value_name = "FORMAT", default_value = "jpeg")]
    pub(in crate::sglang) image_format: String,
    /// Content of pictures: random colours, or blank for white
    #[arg(long, value_name = "CONTENT", default_value = "random")]
    pub(in crate::sglang) image_content: String,
    /// Text put at the end of each prompt of sharegpt and custom
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(in crate::sglang) prompt_suffix: String,
    /// Render each prompt of sharegpt and custom with the tokenizer's chat template
    #[arg(long)]
    pub(in crate::sglang) apply_chat_template: bool,
    /// Send token ids instead of text; for random, random-ids and generated-shared-prefix with
    /// --backend sglang
    #[arg(long)]
    pub(in crate::sglang) tokenize_prompt: bool,
    /// The conversation of agentic-trace to begin with, counted from 0; those before it come last
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(in crate::sglang) dataset_offset: i64,
    /// The largest number of turns of each conversation of agentic-trace; by default all
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::sglang) agentic_max_turns: Option<i64>,
    /// Only prompts of speed-bench of this category
    #[arg(long, value_name = "NAME",
          value_parser = PossibleValuesParser::new(["low_entropy", "mixed", "high_entropy"]))]
    pub(in crate::sglang) speed_bench_category: Option<String>,
    /// The output length of every request of speed-bench
    #[arg(long, value_name = "TOKENS", default_value = "512", value_parser = python::int)]
    pub(in crate::sglang) speed_bench_output_len: i64,
}

flags! { DatasetArgs {
    DATASET_NAME = DATASET_NAME.name();
    DATASET_PATH = "--dataset-path" => [Except(
        DATASET_NAME,
        &["image", "random-ids", "generated-shared-prefix"],
        "which read no file",
    )];
    NUM_PROMPTS = "--num-prompts" => [Except(
        DATASET_NAME,
        &["generated-shared-prefix"],
        "which sends --gsp-num-groups times --gsp-prompts-per-group",
    )];
    SEED = "--seed";
    SHAREGPT_OUTPUT_LEN = "--sharegpt-output-len"
        => [datasets(&["sharegpt", "custom", "openai", "longbench_v2", "agentic-trace"])];
    SHAREGPT_CONTEXT_LEN = "--sharegpt-context-len"
        => [datasets(&["sharegpt", "custom", "longbench_v2"])];
    RANDOM_INPUT_LEN = "--random-input-len" => [datasets(&["random", "random-ids", "image"])];
    RANDOM_OUTPUT_LEN = "--random-output-len"
        => [datasets(&["random", "random-ids", "image", "mmmu"])];
    RANDOM_RANGE_RATIO = "--random-range-ratio" => [datasets(&["random", "random-ids", "image"])];
    IMAGE_COUNT = "--image-count" => [datasets(&["image"])];
    RANDOM_IMAGE_COUNT = "--random-image-count" => [datasets(&["image"])];
    IMAGE_RESOLUTION = "--image-resolution" => [datasets(&["image"])];
    IMAGE_FORMAT = "--image-format" => [datasets(&["image"])];
    IMAGE_CONTENT = "--image-content" => [datasets(&["image"])];
    PROMPT_SUFFIX = "--prompt-suffix" => [datasets(&["sharegpt", "custom"])];
    APPLY_CHAT_TEMPLATE = "--apply-chat-template" => [datasets(&["sharegpt", "custom"])];
    TOKENIZE_PROMPT = "--tokenize-prompt"
        => [datasets(&["random", "random-ids", "generated-shared-prefix"])];
    DATASET_OFFSET = "--dataset-offset" => [datasets(&["agentic-trace"])];
    AGENTIC_MAX_TURNS = "--agentic-max-turns" => [datasets(&["agentic-trace"])];
    SPEED_BENCH_CATEGORY = "--speed-bench-category" => [datasets(&["speed-bench"])];
    SPEED_BENCH_OUTPUT_LEN = "--speed-bench-output-len" => [datasets(&["speed-bench"])];
}}

/// Returns SGLang's names of data sets, which the help lists, and Servemark's own, which it hides.
fn dataset_names() -> impl Iterator<Item = PossibleValue> {
    let ours = DatasetName::OURS.map(|name| PossibleValue::new(name.as_str()).hide(true));
    DATASETS.map(PossibleValue::new).into_iter().chain(ours)
}

const DATASETS: [&str; 12] = [
    "agentic-trace",
    "sharegpt",
    "custom",
    "openai",
    "random",
    "random-ids",
    "generated-shared-prefix",
    "mmmu",
    "image",
    "mooncake",
    "longbench_v2",
    "speed-bench",
];
