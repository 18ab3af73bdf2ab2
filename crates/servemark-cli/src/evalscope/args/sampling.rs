//! Flags of the sampling of tokens and of other keys of the body.

use clap::{ArgAction, Args};
use serde_json::Value;

use crate::argparse::{LIST, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sampling")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch")]
pub(in crate::evalscope) struct SamplingArgs {
    /// The frequency penalty, sent as it is
    #[arg(long, value_name = "NUMBER", value_parser = python::float)]
    pub(in crate::evalscope) frequency_penalty: Option<f64>,
    /// The repetition penalty, sent as it is
    #[arg(long, value_name = "NUMBER", value_parser = python::float)]
    pub(in crate::evalscope) repetition_penalty: Option<f64>,
    /// Ask for log probabilities
    #[arg(long)]
    pub(in crate::evalscope) logprobs: bool,
    /// Maximum number of tokens of an answer; two numbers are a range from which each request draws
    #[arg(long, value_name = "N", num_args = 1.., action = ArgAction::Set, value_delimiter = LIST,
          default_value = "2048", value_parser = python::int)]
    pub(in crate::evalscope) max_tokens: Vec<i64>,
    /// The fewest tokens of an answer, if the server knows such a key
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) min_tokens: Option<i64>,
    /// Number of answers to each request; the first one is measured
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) n_choices: Option<i64>,
    /// The seed of every draw, sent with each request; without one, a seed is chosen and kept in
    /// the run log
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) seed: Option<i64>,
    /// Texts that end an answer
    #[arg(long, value_name = "TEXT", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::evalscope) stop: Option<Vec<String>>,
    /// The ids of tokens that end an answer
    #[arg(long, value_name = "ID", num_args = 0.., action = ArgAction::Set, value_delimiter = LIST)]
    pub(in crate::evalscope) stop_token_ids: Option<Vec<String>>,
    /// Ask for a stream, which is the default
    #[arg(long, overrides_with = "no_stream")]
    pub(in crate::evalscope) stream: bool,
    /// Ask for whole answers instead of streams
    #[arg(long, overrides_with = "stream")]
    pub(in crate::evalscope) no_stream: bool,
    /// The temperature, sent as it is
    #[arg(long, value_name = "NUMBER", default_value = "0.0", value_parser = python::float)]
    pub(in crate::evalscope) temperature: f64,
    /// The top-p limit, sent as it is
    #[arg(long, value_name = "NUMBER", value_parser = python::float)]
    pub(in crate::evalscope) top_p: Option<f64>,
    /// The top-k limit, sent as it is
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) top_k: Option<i64>,
    /// Keys that are added to every body; they replace keys of the same name
    #[arg(long, value_name = "JSON", default_value = "{}", value_parser = python::json)]
    pub(in crate::evalscope) extra_args: Value,
    /// Send token ids to the route for completions
    #[arg(long)]
    pub(in crate::evalscope) tokenize_prompt: bool,
}

flags! { SamplingArgs {
    FREQUENCY_PENALTY = "--frequency-penalty";
    REPETITION_PENALTY = "--repetition-penalty";
    LOGPROBS = "--logprobs";
    MAX_TOKENS = "--max-tokens";
    MIN_TOKENS = "--min-tokens";
    N_CHOICES = "--n-choices";
    SEED = "--seed";
    STOP = "--stop";
    STOP_TOKEN_IDS = "--stop-token-ids";
    STREAM = "--stream";
    NO_STREAM = "--no-stream";
    TEMPERATURE = "--temperature";
    TOP_P = "--top-p";
    TOP_K = "--top-k";
    EXTRA_ARGS = "--extra-args";
    TOKENIZE_PROMPT = "--tokenize-prompt";
}}
