//! How a request is put.

use clap::Args;
use serde_json::Value;

use super::choice::{BACKEND, GENERATING, backends};
use crate::argparse::Limit::{Except, Never};
use crate::argparse::{Limit, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Requests")]
pub(in crate::vllm) struct RequestArgs {
    /// Make the model go on to the length asked for; always so with random, random-mm and
    /// timed_trace
    #[arg(long)]
    pub(in crate::vllm) ignore_eos: bool,
    /// For how many of the likeliest tokens to ask for log-probabilities, with text completions
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::vllm) logprobs: Option<i64>,
    /// Search with beams
    #[arg(long)]
    pub(in crate::vllm) use_beam_search: bool,
    /// The nucleus
    #[arg(long, value_name = "P", value_parser = python::float)]
    pub(in crate::vllm) top_p: Option<f64>,
    /// Of how many of the likeliest tokens to choose
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::vllm) top_k: Option<i64>,
    /// The least probability of a token, as a share of the likeliest one's
    #[arg(long, value_name = "P", value_parser = python::float)]
    pub(in crate::vllm) min_p: Option<f64>,
    /// The sampling temperature; by default the server's
    #[arg(long, value_name = "T", value_parser = python::float)]
    pub(in crate::vllm) temperature: Option<f64>,
    /// How much a token is avoided for how often it was there
    #[arg(long, value_name = "PENALTY", value_parser = python::float)]
    pub(in crate::vllm) frequency_penalty: Option<f64>,
    /// How much a token is avoided that was there
    #[arg(long, value_name = "PENALTY", value_parser = python::float)]
    pub(in crate::vllm) presence_penalty: Option<f64>,
    /// By what factor a token is avoided that was there
    #[arg(long, value_name = "FACTOR", value_parser = python::float)]
    pub(in crate::vllm) repetition_penalty: Option<f64>,
    /// A JSON object whose keys are added to every request's body and replace ours
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
