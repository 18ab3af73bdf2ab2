//! Flags of a trace with the time of each prompt.

use clap::Args;

use super::choice::{DATASET_NAME, datasets};
use crate::argparse::{Effects, Limit, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Timed trace")]
pub(in crate::vllm) struct TimedTraceArgs {
    /// Number of tokens of the block that a hash stands for
    #[arg(long, value_name = "TOKENS", default_value = "16", value_parser = python::limit)]
    pub(in crate::vllm) timed_trace_chunk_hash_size: i64,
    /// Factor that converts a timestamp to seconds
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = python::float)]
    pub(in crate::vllm) timed_trace_sec_multiplier: f64,
    /// The key of the timestamp
    #[arg(long, value_name = "KEY", default_value = "timestamp")]
    pub(in crate::vllm) timed_trace_label_timestamp: String,
    /// The key of the prompt's length
    #[arg(long, value_name = "KEY", default_value = "input_length")]
    pub(in crate::vllm) timed_trace_label_input_length: String,
    /// The key of the output's length
    #[arg(long, value_name = "KEY", default_value = "output_length")]
    pub(in crate::vllm) timed_trace_label_output_length: String,
    /// The key of the hashes
    #[arg(long, value_name = "KEY", default_value = "hash_ids")]
    pub(in crate::vllm) timed_trace_label_hash_ids: String,
    /// Send the prompts of timed_trace at their recorded times, which is the default
    #[arg(long, overrides_with = "no_self_timed")]
    pub(in crate::vllm) self_timed: bool,
    /// Send the prompts of timed_trace by --request-rate
    #[arg(long, overrides_with = "self_timed")]
    pub(in crate::vllm) no_self_timed: bool,
}

flags! { TimedTraceArgs {
    TIMED_TRACE_CHUNK_HASH_SIZE = "--timed-trace-chunk-hash-size" => [TIMED];
    TIMED_TRACE_SEC_MULTIPLIER = "--timed-trace-sec-multiplier" => [TIMED];
    TIMED_TRACE_LABEL_TIMESTAMP = "--timed-trace-label-timestamp" => [TIMED];
    TIMED_TRACE_LABEL_INPUT_LENGTH = "--timed-trace-label-input-length" => [TIMED];
    TIMED_TRACE_LABEL_OUTPUT_LENGTH = "--timed-trace-label-output-length" => [TIMED];
    TIMED_TRACE_LABEL_HASH_IDS = "--timed-trace-label-hash-ids" => [TIMED];
    SELF_TIMED = "--self-timed";
    NO_SELF_TIMED = "--no-self-timed";
}}

const TIMED: Limit = datasets(&["timed_trace"]);

impl TimedTraceArgs {
    /// Limits a flag to runs whose data set does not say when its requests are sent.
    pub(super) const NOT_SELF_TIMED: Limit = Limit::Where(
        |effects| !is_self_timed(effects),
        "where the trace says when its requests are sent; see --no-self-timed",
    );
}

fn is_self_timed(effects: &Effects<'_>) -> bool {
    effects.is_one_of(DATASET_NAME, &["timed_trace"]) && !effects.is(TimedTraceArgs::NO_SELF_TIMED)
}
