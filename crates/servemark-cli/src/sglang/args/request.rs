//! Flags about the content of requests.

use clap::{ArgAction, Args};
use servemark_backends::Route;

use super::choice::{BACKEND, route};
use crate::argparse::Limit::{Except, OnlyWhere, Where};
use crate::argparse::{Effects, LIST, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Requests")]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(in crate::sglang) struct RequestArgs {
    /// Ask for the answer in one piece
    #[arg(long)]
    pub(in crate::sglang) disable_stream: bool,
    /// Let the model stop before the length asked for
    #[arg(long)]
    pub(in crate::sglang) disable_ignore_eos: bool,
    /// The sampling temperature, on /generate, /v1/messages and Ollama's routes; the others send 0
    #[arg(long, value_name = "T", default_value = "0.0", value_parser = python::float)]
    pub(in crate::sglang) temperature: f64,
    /// Nucleus sampling: choose among the most likely tokens that together have this probability,
    /// on /generate, /v1/messages and Ollama's routes; sent when below 1
    #[arg(long, value_name = "P", default_value = "1.0", value_parser = python::float)]
    pub(in crate::sglang) top_p: f64,
    /// Ask for log-probabilities, on /generate and /v1/completions
    #[arg(long)]
    pub(in crate::sglang) return_logprob: bool,
    /// For how many of the likeliest tokens to ask for log-probabilities; /v1/completions needs
    /// --return-logprob too
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(in crate::sglang) top_logprobs_num: i64,
    /// Ids of further tokens to ask for log-probabilities of, on /generate
    #[arg(long, value_name = "ID", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, value_parser = python::int)]
    pub(in crate::sglang) token_ids_logprob: Option<Vec<i64>>,
    /// The position of the prompt from which on log-probabilities are asked for, on /generate; -1
    /// for the output only
    #[arg(long, value_name = "N", default_value = "-1", value_parser = python::int)]
    pub(in crate::sglang) logprob_start_len: i64,
    /// Ask which experts of a mixture-of-experts model were chosen, on /generate
    #[arg(long)]
    pub(in crate::sglang) return_routed_experts: bool,
    /// A JSON object whose keys are added to every request's body and replace ours
    #[arg(long, value_name = "JSON")]
    pub(in crate::sglang) extra_request_body: Option<String>,
    /// Mark requests as prefilled elsewhere, to measure a decode server alone
    #[arg(long)]
    pub(in crate::sglang) fake_prefill: bool,
}

flags! { RequestArgs {
    DISABLE_STREAM = "--disable-stream" => [
        Except(BACKEND, &["trt"], "which always streams"),
        Where(|effects| route(effects).generates(), "on routes that generate nothing"),
    ];
    DISABLE_IGNORE_EOS = "--disable-ignore-eos" => [
        Where(|effects| route(effects).generates(), "on routes that generate nothing"),
        Except(
            BACKEND,
            &["ollama", "ollama-chat", "anthropic"],
            "whose servers always heed the end of a text",
        ),
    ];
    TEMPERATURE = "--temperature" => [OnlyWhere(takes_sampling, SAMPLING)];
    TOP_P = "--top-p" => [OnlyWhere(takes_sampling, SAMPLING)];
    RETURN_LOGPROB = "--return-logprob" => [OnlyWhere(
        |effects| is_generate(effects)
            || route(effects) == Route::COMPLETIONS && effects.is_requested(Self::TOP_LOGPROBS_NUM),
        "/generate, and to /v1/completions with --top-logprobs-num",
    )];
    TOP_LOGPROBS_NUM = "--top-logprobs-num" => [OnlyWhere(
        |effects| is_generate(effects)
            || route(effects) == Route::COMPLETIONS && effects.is(Self::RETURN_LOGPROB),
        "/generate, and to /v1/completions with --return-logprob",
    )];
    TOKEN_IDS_LOGPROB = "--token-ids-logprob" => [OnlyWhere(is_generate, "/generate")];
    LOGPROB_START_LEN = "--logprob-start-len" => [OnlyWhere(is_generate, "/generate")];
    RETURN_ROUTED_EXPERTS = "--return-routed-experts" => [OnlyWhere(is_generate, "/generate")];
    EXTRA_REQUEST_BODY = "--extra-request-body";
    FAKE_PREFILL = "--fake-prefill";
}}

fn is_generate(effects: &Effects<'_>) -> bool {
    route(effects) == Route::GENERATE
}

fn takes_sampling(effects: &Effects<'_>) -> bool {
    matches!(
        route(effects),
        Route::ANTHROPIC | Route::GENERATE | Route::OLLAMA_CHAT | Route::OLLAMA_GENERATE
    )
}

const SAMPLING: &str = "/generate, /v1/messages and Ollama's routes (elsewhere use \
                        --extra-request-body)";
