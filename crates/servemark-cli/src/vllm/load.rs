//! Converts the flags of the load.

use std::num::NonZeroUsize;

use servemark_runner::{LoadSpec, WarmupSpec};
use servemark_schedule::{
    AdapterChoice, AdapterSpec, ArrivalSpec, Burstiness, Ramp, RampShape, Rate,
};

use super::args::{LoadArgs, VllmArgs};
use super::conversation;
use crate::error::CliError;
use crate::number::{at_least, refused};

/// Returns the load: arrivals, concurrency limit, warm-up and `LoRA` modules.
pub(super) fn load(args: &VllmArgs) -> Result<LoadSpec, CliError> {
    let mut load = LoadSpec::new(arrivals(args)?);
    load.max_concurrency = limit(&args.load)?;
    // A negative number counts as zero, as in vLLM.
    let warm_ups = at_least(LoadArgs::NUM_WARMUPS, 0, args.load.num_warmups.max(0))?;
    load.warmup = WarmupSpec::alike(warm_ups);
    load.adapters = adapters(&args.load)?;
    load.probes = probes(&args.load)?;
    conversation::apply(args, &mut load)?;
    args.shards.apply(&mut load)?;
    Ok(load)
}

/// Returns whether the data set determines when its requests are sent.
pub(super) fn is_self_timed(args: &VllmArgs) -> bool {
    args.dataset.dataset_name == "timed_trace" && !args.timed_trace.no_self_timed
}

fn limit(args: &LoadArgs) -> Result<Option<NonZeroUsize>, CliError> {
    match args.max_concurrency {
        Some(limit) if limit <= 0 => {
            Err(CliError::Together("--max-concurrency must be greater than 0"))
        }
        Some(limit) => Ok(NonZeroUsize::new(at_least(LoadArgs::MAX_CONCURRENCY, 1, limit)?)),
        None => Ok(None),
    }
}

fn arrivals(args: &VllmArgs) -> Result<ArrivalSpec, CliError> {
    let load = &args.load;
    let burstiness = Burstiness::new(load.burstiness).map_err(refused(LoadArgs::BURSTINESS))?;
    let ramp = load.ramp_up_strategy.as_ref().map(|strategy| ramp(strategy, load)).transpose()?;
    if is_self_timed(args) {
        return Ok(ArrivalSpec::Timetable);
    }
    if let Some(ramp) = ramp {
        return Ok(ArrivalSpec::Ramp { ramp, burstiness });
    }
    if load.request_rate == f64::INFINITY {
        return Ok(ArrivalSpec::Burst);
    }
    let rate = Rate::new(load.request_rate);
    let requests_per_second =
        rate.map_err(|error| CliError::about(LoadArgs::REQUEST_RATE, error))?;
    Ok(ArrivalSpec::Gamma { requests_per_second, burstiness })
}

/// Returns the ramp of the rate. The rules and their messages are vLLM's.
fn ramp(strategy: &str, args: &LoadArgs) -> Result<Ramp, CliError> {
    let (Some(from), Some(to)) = (args.ramp_up_start_rps, args.ramp_up_end_rps) else {
        return Err(CliError::Together(
            "When using --ramp-up-strategy, both --ramp-up-start-rps and --ramp-up-end-rps must \
             be specified",
        ));
    };
    let is_exponential = strategy == "exponential";
    CliError::first_broken([
        (
            args.request_rate != f64::INFINITY,
            "When using ramp-up, do not specify --request-rate. The request rate will be \
             controlled by ramp-up parameters. Please remove the --request-rate argument.",
        ),
        (from < 0 || to < 0, "Ramp-up start and end RPS must be non-negative"),
        (from > to, "Ramp-up start RPS must be less than end RPS"),
        (is_exponential && from == 0, "For exponential ramp-up, the start RPS cannot be 0."),
    ])?;
    let growth = if is_exponential { RampShape::Exponential } else { RampShape::Linear };
    let rate = |flag, rate: i64| Rate::new(rate as f64).map_err(refused(flag));
    let (from, to) =
        (rate(LoadArgs::RAMP_UP_START_RPS, from)?, rate(LoadArgs::RAMP_UP_END_RPS, to)?);
    Ramp::new(growth, from, to).map_err(refused(LoadArgs::RAMP_UP_END_RPS))
}

/// Returns the rate of probe requests; `None` unless it is above zero.
fn probes(args: &LoadArgs) -> Result<Option<Rate>, CliError> {
    let rate = (args.probe_request_rate > 0.0).then_some(args.probe_request_rate);
    rate.map(Rate::new).transpose().map_err(refused(LoadArgs::PROBE_REQUEST_RATE))
}

/// Returns how adapters are chosen; `None` without adapters. A single adapter is used by all
/// requests.
fn adapters(args: &LoadArgs) -> Result<Option<AdapterSpec>, CliError> {
    let Some(names) = args.lora_modules.clone() else { return Ok(None) };
    let in_turn = args.lora_assignment == "round-robin" && names.len() > 1;
    let choice = if in_turn { AdapterChoice::Distinct } else { AdapterChoice::Uniform };
    AdapterSpec::new(names, choice).map(Some).map_err(refused(LoadArgs::LORA_MODULES))
}
