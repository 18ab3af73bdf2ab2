//! Flags about when requests are sent.

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args};
use servemark_backends::{Route, ServerKind};

use super::choice::{backend, route};
use super::trace::is_replayed;
use crate::argparse::Limit::{Only, OnlyWhere, Where};
use crate::argparse::{LIST, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub(in crate::sglang) struct LoadArgs {
    /// Requests per second, arriving as a Poisson process; inf sends everything at once
    #[arg(long, value_name = "RATE", default_value = "inf", value_parser = python::float)]
    pub(in crate::sglang) request_rate: f64,
    /// Maximum number of requests in flight; by default as many as are due
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::sglang) max_concurrency: Option<i64>,
    /// Number of copies of the first request to send before the measurement
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::sglang) warmup_requests: i64,
    /// The LoRA adapters to ask for, by the server's names for them; the warm-up asks for the first
    #[arg(long, value_name = "NAME", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::sglang) lora_name: Option<Vec<String>>,
    /// Choice of a request's adapter: at random (uniform), in turn (distinct), or each ALPHA times
    /// as often as the next one (skewed)
    #[arg(long, value_name = "HOW", default_value = "uniform",
          value_parser = PossibleValuesParser::new(["uniform", "distinct", "skewed"]))]
    pub(in crate::sglang) lora_request_distribution: String,
    /// ALPHA of --lora-request-distribution skewed
    #[arg(long, value_name = "ALPHA", default_value = "1.5", value_parser = python::float)]
    pub(in crate::sglang) lora_zipf_alpha: f64,
    /// Empty the server's prefix cache after the warm-up
    #[arg(long)]
    pub(in crate::sglang) flush_cache: bool,
    /// Time-out for the server to empty its prefix cache in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60.0",
          value_parser = python::finite_positive_float)]
    pub(in crate::sglang) flush_cache_timeout: f64,
}

flags! { LoadArgs {
    REQUEST_RATE = "--request-rate" => [Where(
        |effects| !is_replayed(effects),
        "where a trace says when requests are sent",
    )];
    MAX_CONCURRENCY = "--max-concurrency";
    WARMUP_REQUESTS = "--warmup-requests";
    LORA_NAME = "--lora-name" => [Where(
        |effects| !matches!(
            route(effects),
            Route::OLLAMA_CHAT | Route::OLLAMA_GENERATE | Route::RERANK | Route::TRT | Route::TRUSS
        ),
        "on the routes of trt, truss, ollama and rerankers",
    )];
    LORA_REQUEST_DISTRIBUTION = "--lora-request-distribution";
    LORA_ZIPF_ALPHA = "--lora-zipf-alpha" => [Only(Self::LORA_REQUEST_DISTRIBUTION, &["skewed"])];
    FLUSH_CACHE = "--flush-cache";
    FLUSH_CACHE_TIMEOUT = "--flush-cache-timeout" => [OnlyWhere(
        |effects| effects.is(Self::FLUSH_CACHE) && backend(effects).server() == ServerKind::Sglang,
        "--flush-cache with a backend of SGLang",
    )];
}}
