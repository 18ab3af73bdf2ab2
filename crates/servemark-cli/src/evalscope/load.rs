//! The load of a run: when its requests are sent.

use std::num::NonZeroUsize;

use servemark_runner::{LeadInSpec, LoadSpec, WarmupSpec};
use servemark_schedule::{ArrivalSpec, Burstiness, Rate};

use super::args::{EvalscopeArgs, LoadArgs};
use super::resolved::{ResolvedArgs, Step};
use crate::error::CliError;
use crate::number::{at_least, refused, some_time};

/// Returns the load of a run: its arrivals, its limit of requests in flight, what leads to its
/// measurement, and its duration.
pub(super) fn load(
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
    step: Step,
) -> Result<LoadSpec, CliError> {
    let keeps_marks = resolved.keeps_marks(args);
    let replays = resolved.replays(args) && !keeps_marks;
    let converses = args.turns.multi_turn;
    let arrivals = match replays {
        true => ArrivalSpec::Timetable,
        // Each turn waits for a gap of its own, regardless of the number of conversations.
        false if converses => ArrivalSpec::Burst,
        false => arrivals(step.rate)?,
    };
    let mut load = LoadSpec::new(arrivals);
    if converses && step.rate >= 0.0 {
        load.sessions.turn_rate = Some(Rate::new(step.rate).map_err(refused(LoadArgs::RATE))?);
    }
    if !step.is_open {
        load.max_concurrency = NonZeroUsize::new(at_least(LoadArgs::PARALLEL, 1, step.parallel)?);
    }
    load.warmup = WarmupSpec::alike(0);
    let sessions = if keeps_marks { 0 } else { lead_in(&args.load, step)? };
    let ends_first = step.is_open && !replays;
    load.lead_in = if ends_first {
        LeadInSpec::already_ended(sessions)
    } else {
        LeadInSpec::flowing(sessions)
    };
    load.lasts = args.load.duration.map(|time| some_time(LoadArgs::DURATION, time)).transpose()?;
    load.sessions.echo_reasoning = true;
    load.sessions.runs_out = true;
    args.threads.apply(&mut load)?;
    Ok(load)
}

/// Returns the number of requests, or of conversations, that lead to the measurement. A
/// `--warmup-num` of one or more is that number; below one it is a share of those that are
/// measured.
#[expect(clippy::cast_sign_loss, reason = "both are positive")]
pub(super) fn lead_in(args: &LoadArgs, step: Step) -> Result<usize, CliError> {
    let warmup = args.warmup_num;
    if warmup.is_nan() || warmup > MOST {
        return Err(CliError::setting(
            LoadArgs::WARMUP_NUM,
            format!("is no number of requests: {warmup}"),
        ));
    }
    Ok(match warmup {
        none if none <= 0.0 => 0,
        share if share < 1.0 => ((share * step.number as f64) as usize).max(1),
        count => count as usize,
    })
}

/// Returns the arrivals of a rate: gaps of a Poisson process, scaled so that the last request is
/// due when the rate implies. A negative rate means that all requests are due at once.
fn arrivals(rate: f64) -> Result<ArrivalSpec, CliError> {
    if rate < 0.0 {
        return Ok(ArrivalSpec::Burst);
    }
    let requests_per_second = Rate::new(rate).map_err(refused(LoadArgs::RATE))?;
    Ok(ArrivalSpec::Gamma { requests_per_second, burstiness: Burstiness::default() })
}

/// Largest `--warmup-num`; no run has more requests.
const MOST: f64 = 1e9;
