//! Turns the flags into the load: when requests are sent, and how many at once.

use std::num::NonZeroUsize;

use servemark_client::Credentials;
use servemark_runner::{LoadSpec, WarmupSpec};
use servemark_schedule::{AdapterChoice, AdapterSpec, ArrivalSpec, Slowdown};

use super::args::{LoadArgs, SessionArgs, SglangArgs, TraceArgs, replays};
use super::dataset;
use crate::error::CliError;
use crate::number::{at_least, refused, some_at_least};

/// Returns the arrivals, the concurrency limit, the warm-up, the adapters, the threads and the
/// settings of sessions.
pub(super) fn load(args: &SglangArgs) -> Result<LoadSpec, CliError> {
    let mut load = LoadSpec::new(arrivals(args)?);
    let SglangArgs { load: args, shards, sessions, .. } = args;
    // SGLang takes zero as no limit.
    let limit: Option<usize> = some_at_least(LoadArgs::MAX_CONCURRENCY, 0, args.max_concurrency)?;
    load.max_concurrency = limit.and_then(NonZeroUsize::new);
    load.warmup = WarmupSpec::of(at_least(LoadArgs::WARMUP_REQUESTS, 0, args.warmup_requests)?);
    load.adapters = adapters(args)?;
    shards.apply(&mut load)?;
    load.sessions.echo_reasoning = sessions.echo_reasoning;
    load.sessions.header = sessions.session_header.as_deref().map(header_name).transpose()?;
    Ok(load)
}

fn arrivals(args: &SglangArgs) -> Result<ArrivalSpec, CliError> {
    let SglangArgs { dataset, trace, load, .. } = args;
    if replays(dataset::name(dataset)?, trace.use_trace_timestamps) {
        let slowdown = Slowdown::new(trace.mooncake_slowdown_factor);
        let slowdown = slowdown.map_err(refused(TraceArgs::MOONCAKE_SLOWDOWN_FACTOR))?;
        return Ok(ArrivalSpec::Trace { slowdown });
    }
    ArrivalSpec::at_rate(load.request_rate)
        .map_err(|error| CliError::about(LoadArgs::REQUEST_RATE, error))
}

/// Returns the `LoRA` adapters and how one is chosen for each session; `None` if no name is given.
fn adapters(args: &LoadArgs) -> Result<Option<AdapterSpec>, CliError> {
    let alpha = args.lora_zipf_alpha;
    let choice = match args.lora_request_distribution.as_str() {
        "distinct" => AdapterChoice::Distinct,
        "skewed" => AdapterChoice::Skewed { alpha },
        _ => AdapterChoice::Uniform,
    };
    let names = args.lora_name.clone().filter(|names| !names.is_empty());
    let spec = names.map(|names| AdapterSpec::new(names, choice)).transpose();
    spec.map_err(|error| CliError::about(LoadArgs::LORA_NAME, error))
}

fn header_name(name: &str) -> Result<String, CliError> {
    let usable = Credentials::new().header(name, "");
    usable.map(|_| name.to_owned()).map_err(refused(SessionArgs::SESSION_HEADER))
}
