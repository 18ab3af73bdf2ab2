//! When requests are sent.

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
    /// How evenly requests follow one another: 1 for a Poisson process, less for bursts, inf for
    /// gaps that are all alike
    #[arg(long, value_name = "SHAPE", default_value = "1.0", value_parser = python::float)]
    pub(in crate::vllm) burstiness: f64,
    /// How many requests may be in flight at once; by default as many as are due
    #[arg(long, value_name = "N", value_parser = python::limit)]
    pub(in crate::vllm) max_concurrency: Option<i64>,
    /// Let the rate grow from the first request to the last; not with --request-rate
    #[arg(long, value_name = "HOW",
          value_parser = PossibleValuesParser::new(["linear", "exponential"]))]
    pub(in crate::vllm) ramp_up_strategy: Option<String>,
    /// The rate at the first request
    #[arg(long, value_name = "RATE", value_parser = python::limit)]
    pub(in crate::vllm) ramp_up_start_rps: Option<i64>,
    /// The rate at the last
    #[arg(long, value_name = "RATE", value_parser = python::limit)]
    pub(in crate::vllm) ramp_up_end_rps: Option<i64>,
    /// How many copies of the first request to send before the measurement
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::limit)]
    pub(in crate::vllm) num_warmups: i64,
    /// How often to send a tiny request besides the load, each second at most; 0 sends none
    #[arg(long, value_name = "RATE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) probe_request_rate: f64,
    /// The LoRA modules to ask for, by the server's names for them
    #[arg(long, value_name = "NAME", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::vllm) lora_modules: Option<Vec<String>>,
    /// How a request's module is chosen: by chance or in turn
    #[arg(long, value_name = "HOW", default_value = "random",
          value_parser = PossibleValuesParser::new(["random", "round-robin"]))]
    pub(in crate::vllm) lora_assignment: String,
    /// Let the server's profiler run during the measurement
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
