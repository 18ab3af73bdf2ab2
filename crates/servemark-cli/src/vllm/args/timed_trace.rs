//! A trace that says when prompts are sent.

use clap::Args;

use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Timed trace")]
pub(in crate::vllm) struct TimedTraceArgs {
    /// Tokens of a block that a hash stands for
    #[arg(long, value_name = "TOKENS", default_value = "16", value_parser = python::int)]
    pub(in crate::vllm) timed_trace_chunk_hash_size: i64,
    /// What a timestamp is multiplied with to give seconds
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
    /// Send the prompts of timed_trace when it says, which is the default
    #[arg(long, overrides_with = "no_self_timed")]
    pub(in crate::vllm) self_timed: bool,
    /// Send them as --request-rate says
    #[arg(long, overrides_with = "self_timed")]
    pub(in crate::vllm) no_self_timed: bool,
}
