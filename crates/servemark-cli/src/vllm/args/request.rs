//! Flags of the sampling parameters and the request body.

use clap::Args;
use serde_json::Value;

use super::choice::{BACKEND, GENERATING, backends};
use crate::argparse::Limit::{Except, Never};
use crate::argparse::{Limit, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Requests")]
pub(in crate::vllm) struct RequestArgs {
    /// Ask the server to ignore end-of-sequence tokens, so that outputs have the requested length;
    /// always so with random, random-mm and timed_trace
    #[arg(long)]
    pub(in crate::vllm) ignore_eos: bool,
    /// Request log-probabilities of this number of the most likely tokens, with text completions
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::vllm) logprobs: Option<i64>,
    /// Use beam search: no effect, as with vLLM's client
    #[arg(long)]
    pub(in crate::vllm) use_beam_search: bool,
    /// Nucleus sampling: choose among the most likely tokens that together have this probability
    #[arg(long, value_name = "P", value_parser = python::float)]
    pub(in crate::vllm) top_p: Option<f64>,
    /// Number of the most likely tokens to choose from
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::vllm) top_k: Option<i64>,
    /// Minimum probability of a token, as a share of the most likely token's
    #[arg(long, value_name = "P", value_parser = python::float)]
    pub(in crate::vllm) min_p: Option<f64>,
    /// Sampling temperature; by default the server's
    #[arg(long, value_name = "T", value_parser = python::float)]
    pub(in crate::vllm) temperature: Option<f64>,
    /// Penalty of a token for each of its earlier occurrences
    #[arg(long, value_name = "PENALTY", value_parser = python::float)]
    pub(in crate::vllm) frequency_penalty: Option<f64>,
    /// Penalty of a token that occurred before
    #[arg(long, value_name = "PENALTY", value_parser = python::float)]
    pub(in crate::vllm) presence_penalty: Option<f64>,
    /// Factor by which the score of a token is lowered if it occurred before
    #[arg(long, value_name = "FACTOR", value_parser = python::float)]
    pub(in crate::vllm) repetition_penalty: Option<f64>,
    /// A JSON object whose keys are added to the body of every request, and replace keys of the
    /// same name
    #[arg(long, value_name = "JSON", value_parser = python::json)]
    pub(in crate::vllm) extra_body: Option<Value>,
}

flags! { RequestArgs {
    IGNORE_EOS = "--ignore-eos" => [NOT_RANKED];
    LOGPROBS = "--logprobs" => [backends(&["vllm", "openai"])];
    USE_BEAM_SEARCH = "--use-beam-search"
        => [Never("here as with vLLM, whose client never reads it")];
    TOP_P = "--top-p" => [GENERATING];
    TOP_K = "--top-k" => [GENERATING];
    MIN_P = "--min-p" => [GENERATING];
    TEMPERATURE = "--temperature" => [GENERATING];
    FREQUENCY_PENALTY = "--frequency-penalty" => [GENERATING];
    PRESENCE_PENALTY = "--presence-penalty" => [GENERATING];
    REPETITION_PENALTY = "--repetition-penalty" => [GENERATING];
    EXTRA_BODY = "--extra-body" => [NOT_RANKED];
}}

const NOT_RANKED: Limit = Except(BACKEND, &["vllm-rerank"], "whose requests have no such key");
