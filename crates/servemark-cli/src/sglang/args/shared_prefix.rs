//! Flags about the data set `generated-shared-prefix`: groups of prompts with the same beginning.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::choice::{BACKEND, datasets};
use super::dataset::DatasetArgs;
use crate::argparse::Limit::{Except, UnlessSince};
use crate::argparse::{Limit, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data set generated-shared-prefix")]
#[expect(clippy::struct_field_names, reason = "the peer's flags, one to one")]
pub(in crate::sglang) struct SharedPrefixArgs {
    /// Number of system prompts
    #[arg(long, value_name = "N", default_value = "64", value_parser = python::int)]
    pub(in crate::sglang) gsp_num_groups: i64,
    /// Number of prompts for each system prompt; --num-prompts does not count here
    #[arg(long, value_name = "N", default_value = "16", value_parser = python::int)]
    pub(in crate::sglang) gsp_prompts_per_group: i64,
    /// The longest system prompt
    #[arg(long, value_name = "TOKENS", default_value = "2048", value_parser = python::int)]
    pub(in crate::sglang) gsp_system_prompt_len: i64,
    /// The longest question after a system prompt
    #[arg(long, value_name = "TOKENS", default_value = "128", value_parser = python::int)]
    pub(in crate::sglang) gsp_question_len: i64,
    /// The longest output
    #[arg(long, value_name = "TOKENS", default_value = "256", value_parser = python::int)]
    pub(in crate::sglang) gsp_output_len: i64,
    /// The shortest length as a share of the longest, 0 to 1; 1 makes every length the same
    #[arg(long, value_name = "SHARE", default_value = "1.0", value_parser = python::float)]
    pub(in crate::sglang) gsp_range_ratio: f64,
    /// Do not tokenize prompts to know their lengths; each counts as one token
    #[arg(long)]
    pub(in crate::sglang) gsp_fast_prepare: bool,
    /// Send the header X-SMG-Routing-Key, which keeps a group on one server
    #[arg(long)]
    pub(in crate::sglang) gsp_send_routing_key: bool,
    /// Number of questions in a conversation; more than one needs a chat backend
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::sglang) gsp_num_turns: i64,
    /// Send one group after the other instead of all in random order
    #[arg(long)]
    pub(in crate::sglang) gsp_ordered: bool,
    /// Distribution of requests over the groups: uniform, or zipf with --gsp-zipf-alpha
    #[arg(long, value_name = "NAME", default_value = "uniform",
          value_parser = PossibleValuesParser::new(["uniform", "zipf"]))]
    pub(in crate::sglang) gsp_group_distribution: String,
    /// The exponent of zipf: prompts of the group of rank k are sent in proportion to 1/k^ALPHA
    #[arg(long, value_name = "ALPHA", value_parser = python::finite_positive_float)]
    pub(in crate::sglang) gsp_zipf_alpha: Option<f64>,
}

flags! { SharedPrefixArgs {
    GSP_NUM_GROUPS = "--gsp-num-groups" => [SHARED];
    GSP_PROMPTS_PER_GROUP = "--gsp-prompts-per-group" => [SHARED];
    GSP_SYSTEM_PROMPT_LEN = "--gsp-system-prompt-len" => [SHARED];
    GSP_QUESTION_LEN = "--gsp-question-len" => [SHARED];
    GSP_OUTPUT_LEN = "--gsp-output-len" => [SHARED];
    GSP_RANGE_RATIO = "--gsp-range-ratio" => [SHARED];
    GSP_FAST_PREPARE = "--gsp-fast-prepare"
        => [SHARED, UnlessSince(DatasetArgs::TOKENIZE_PROMPT, "which knows every length")];
    GSP_SEND_ROUTING_KEY = "--gsp-send-routing-key" => [
        SHARED,
        Except(BACKEND, &["trt", "truss"], "to which SGLang's client sends none"),
    ];
    GSP_NUM_TURNS = "--gsp-num-turns" => [SHARED];
    GSP_ORDERED = "--gsp-ordered" => [SHARED];
    GSP_GROUP_DISTRIBUTION = "--gsp-group-distribution" => [SHARED];
    GSP_ZIPF_ALPHA = "--gsp-zipf-alpha" => [SHARED];
}}

const SHARED: Limit = datasets(&["generated-shared-prefix"]);
