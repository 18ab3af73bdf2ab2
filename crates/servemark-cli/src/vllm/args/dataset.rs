//! Flags that most data sets share.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::choice::{DATASET_NAME, datasets};
use super::extras::ExtrasArgs;
use super::target::TargetArgs;
use crate::argparse::Limit::{Except, Unless};
use crate::argparse::flags;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data set")]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(in crate::vllm) struct DatasetArgs {
    /// Data set of the prompts
    #[arg(long, value_name = "NAME", default_value = "random",
          value_parser = PossibleValuesParser::new(DATASETS))]
    pub(in crate::vllm) dataset_name: String,
    /// The file or folder of the data set, or its name on the hub; not for random, random-mm,
    /// random-rerank and prefix_repetition
    #[arg(long, value_name = "PATH")]
    pub(in crate::vllm) dataset_path: Option<String>,
    /// Number of prompts to send
    #[arg(long, value_name = "N", default_value = "1000", value_parser = python::limit)]
    pub(in crate::vllm) num_prompts: i64,
    /// Seed of prompts, lengths and arrivals
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(in crate::vllm) seed: i64,
    /// Input length of random, random-mm and random-rerank; short for --random-input-len
    #[arg(long, value_name = "TOKENS", value_parser = python::limit)]
    pub(in crate::vllm) input_len: Option<i64>,
    /// Output length, for all data sets but burstgpt, random-rerank, speed_bench and timed_trace
    #[arg(long, value_name = "TOKENS", value_parser = python::limit)]
    pub(in crate::vllm) output_len: Option<i64>,
    /// Send fewer prompts than requested instead of repeating some if the data set has too few
    #[arg(long)]
    pub(in crate::vllm) no_oversample: bool,
    /// Send prompts in the order of the file
    #[arg(long)]
    pub(in crate::vllm) disable_shuffle: bool,
    /// Send prompts without the tokenizer's chat template
    #[arg(long)]
    pub(in crate::vllm) skip_chat_template: bool,
    /// Additional arguments of the chat template
    #[arg(long, value_name = "JSON", value_parser = python::json)]
    pub(in crate::vllm) chat_template_kwargs: Option<serde_json::Value>,
    /// Send each prompt with its pictures as chat messages
    #[arg(long)]
    pub(in crate::vllm) enable_multimodal_chat: bool,
    /// Prefix of the request ids, which are sent as x-request-id; by default bench- and eight
    /// random hexadecimal digits
    #[arg(long, value_name = "TEXT")]
    pub(in crate::vllm) request_id_prefix: Option<String>,
}

flags! { DatasetArgs {
    DATASET_NAME = DATASET_NAME.name();
    DATASET_PATH = "--dataset-path";
    NUM_PROMPTS = "--num-prompts";
    SEED = "--seed";
    INPUT_LEN = "--input-len" => [datasets(&["random", "random-mm", "random-rerank"])];
    OUTPUT_LEN = "--output-len" => [Except(
        DATASET_NAME,
        &["burstgpt", "random-rerank", "speed_bench", "timed_trace"],
        "which say themselves how long outputs are",
    )];
    NO_OVERSAMPLE = "--no-oversample" => [
        Unless(ExtrasArgs::MULTI_TURN),
        datasets(&[
            "sharegpt", "hf", "custom", "custom_audio", "custom_image", "spec_bench", "speed_bench",
        ]),
    ];
    DISABLE_SHUFFLE = "--disable-shuffle" => [
        Unless(ExtrasArgs::MULTI_TURN),
        datasets(&[
            "sharegpt",
            "hf",
            "custom",
            "custom_audio",
            "custom_image",
            "prefix_repetition",
            "spec_bench",
            "speed_bench",
        ]),
    ];
    SKIP_CHAT_TEMPLATE = "--skip-chat-template" => [datasets(&["custom", "speed_bench", "hf"])];
    CHAT_TEMPLATE_KWARGS = "--chat-template-kwargs"
        => [Unless(TargetArgs::SKIP_TOKENIZER_INIT), datasets(&["custom", "speed_bench"])];
    ENABLE_MULTIMODAL_CHAT = "--enable-multimodal-chat"
        => [datasets(&["custom_audio", "custom_image", "hf", "random-mm", "sharegpt"])];
    REQUEST_ID_PREFIX = "--request-id-prefix";
}}

const DATASETS: [&str; 13] = [
    "sharegpt",
    "burstgpt",
    "random",
    "random-mm",
    "random-rerank",
    "hf",
    "custom",
    "custom_audio",
    "custom_image",
    "prefix_repetition",
    "spec_bench",
    "speed_bench",
    "timed_trace",
];
