//! Flags of the arrivals, the concurrency limit, the warm-up and the adapters.

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args};

use super::timed_trace::TimedTraceArgs;
use crate::argparse::Limit::{Needs, Where};
use crate::argparse::{LIST, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub(in crate::vllm) struct LoadArgs {
    /// Requests per second; inf sends everything at once
    #[arg(long, value_name = "RATE", default_value = "inf", value_parser = python::float)]
    pub(in crate::vllm) request_rate: f64,
    /// Burstiness of the arrivals: 1 is a Poisson process, less gives bursts, inf gives equal gaps
    #[arg(long, value_name = "SHAPE", default_value = "1.0", value_parser = python::float)]
    pub(in crate::vllm) burstiness: f64,
    /// Maximum number of requests in flight; unlimited by default
    #[arg(long, value_name = "N", value_parser = python::limit)]
    pub(in crate::vllm) max_concurrency: Option<i64>,
    /// Increase the rate from the first request to the last; not with --request-rate
    #[arg(long, value_name = "HOW",
          value_parser = PossibleValuesParser::new(["linear", "exponential"]))]
    pub(in crate::vllm) ramp_up_strategy: Option<String>,
    /// Rate at the first request, with --ramp-up-strategy
    #[arg(long, value_name = "RATE", value_parser = python::limit)]
    pub(in crate::vllm) ramp_up_start_rps: Option<i64>,
    /// Rate at the last request, with --ramp-up-strategy
    #[arg(long, value_name = "RATE", value_parser = python::limit)]
    pub(in crate::vllm) ramp_up_end_rps: Option<i64>,
    /// Number of copies of the first request that are sent before the measurement
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::limit)]
    pub(in crate::vllm) num_warmups: i64,
    /// Rate of tiny probe requests beside the load, at most one a second; 0 sends none
    #[arg(long, value_name = "RATE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) probe_request_rate: f64,
    /// Names of the LoRA modules that requests select, as the server knows them
    #[arg(long, value_name = "NAME", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::vllm) lora_modules: Option<Vec<String>>,
    /// Choice of a request's LoRA module: at random or in turn
    #[arg(long, value_name = "HOW", default_value = "random",
          value_parser = PossibleValuesParser::new(["random", "round-robin"]))]
    pub(in crate::vllm) lora_assignment: String,
    /// Run the server's profiler during the measurement
    #[arg(long)]
    pub(in crate::vllm) profile: bool,
}

flags! { LoadArgs {
    REQUEST_RATE = "--request-rate" => [TimedTraceArgs::NOT_SELF_TIMED];
    BURSTINESS = "--burstiness" => [
        TimedTraceArgs::NOT_SELF_TIMED,
        Where(
            |effects| effects.is(Self::RAMP_UP_STRATEGY)
                || effects.value(Self::REQUEST_RATE) != "inf",
            "without a --request-rate: everything is sent at once",
        ),
    ];
    MAX_CONCURRENCY = "--max-concurrency";
    RAMP_UP_STRATEGY = "--ramp-up-strategy" => [TimedTraceArgs::NOT_SELF_TIMED];
    RAMP_UP_START_RPS = "--ramp-up-start-rps" => [Needs(Self::RAMP_UP_STRATEGY)];
    RAMP_UP_END_RPS = "--ramp-up-end-rps" => [Needs(Self::RAMP_UP_STRATEGY)];
    NUM_WARMUPS = "--num-warmups";
    PROBE_REQUEST_RATE = "--probe-request-rate";
    LORA_MODULES = "--lora-modules";
    LORA_ASSIGNMENT = "--lora-assignment" => [Needs(Self::LORA_MODULES)];
    PROFILE = "--profile";
}}
