//! Energy that the GPUs took during the measurement, from their power or energy counters.
//!
//! A figure is only as good as its readings, so each has its validity and the reasons against it:
//! gaps, devices without readings, and counters that disagree with the integrated power.

mod curve;
mod device;
mod phases;

use serde::Serialize;
use servemark_core::RunLog;

use self::device::{Device, devices};
pub use self::phases::EnergyPhases;
use crate::seconds::seconds_between;

/// Energy of all GPUs whose power or energy was read, from the first due time to the last arrival.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Energy {
    /// Energy in joules: the integral of the power by the trapezoidal rule, or the difference of an
    /// energy counter where the power is not read.
    pub joules: f64,
    /// Mean power in watts.
    pub mean_watts: f64,
    /// Mean power in watts before the measurement; absent without readings there.
    pub idle_watts: Option<f64>,
    /// Number of GPUs with readings.
    pub devices: usize,
    /// Energy in joules per output token of the requests that succeeded.
    pub joules_per_output_token: Option<f64>,
    /// Energy in joules per request that succeeded.
    pub joules_per_request: Option<f64>,
    /// The energy, by what the requests in flight were waiting for.
    pub phases: EnergyPhases,
    /// Energy in joules by the devices' own counters; absent unless every device has one.
    pub counter_joules: Option<f64>,
    /// Whether the figures can be relied on.
    pub valid: bool,
    /// Why the figures cannot be relied on; empty if they can.
    pub reasons: Vec<String>,
}

impl Energy {
    /// Integrates the readings of a run. `output_tokens` and `completed` are those of the requests
    /// that succeeded. Returns `None` if no source reports power or energy, or if nothing was
    /// measured.
    pub(crate) fn of(log: &RunLog, output_tokens: Option<u64>, completed: usize) -> Option<Self> {
        let devices = devices(log);
        if devices.is_empty() {
            return None;
        }
        let span = span(log)?;
        let used: Vec<f64> = devices.iter().map(|device| device.power.joules(0.0, span)).collect();
        let joules: f64 = used.iter().sum();
        let counters: Option<f64> = devices.iter().map(|device| device.counter_joules(span)).sum();
        let idle: Option<f64> = devices.iter().map(|device| device.power.mean_before(0.0)).sum();
        let reasons = reasons(log, &devices, &used, span);
        Some(Self {
            joules,
            mean_watts: joules / span,
            idle_watts: idle,
            devices: devices.len(),
            joules_per_output_token: per(joules, output_tokens.unwrap_or_default() as f64),
            joules_per_request: per(joules, completed as f64),
            phases: EnergyPhases::of(log, &devices, span),
            counter_joules: counters,
            valid: reasons.is_empty(),
            reasons,
        })
    }
}

/// Returns the seconds from the first due time to the last arrival.
fn span(log: &RunLog) -> Option<f64> {
    let first = log.measured().map(|record| record.scheduled).min()?;
    let last = log.measured().map(|record| record.ended).max()?;
    Some(seconds_between(first, last)).filter(|seconds| *seconds > 0.0)
}

fn per(joules: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| joules / count)
}

/// Returns why the energy cannot be relied on.
fn reasons(log: &RunLog, devices: &[Device], used: &[f64], span: f64) -> Vec<String> {
    let mut reasons: Vec<String> = devices.iter().filter_map(|device| device.doubt(span)).collect();
    for (device, joules) in devices.iter().zip(used) {
        let Some(counted) = device.counter_joules(span).filter(|_| device.has_power) else {
            continue;
        };
        if (counted - joules).abs() > MOST_DISAGREEMENT * counted.max(*joules) {
            let name = &device.name;
            reasons.push(format!(
                "{name}: its energy counter says {counted:.1} J, its power {joules:.1} J"
            ));
        }
    }
    if let Some(gpus) = log.header().facts.hardware.gpus
        && usize::try_from(gpus) != Ok(devices.len())
    {
        let read = devices.len();
        reasons.push(format!("{gpus} GPUs are said to serve, and {read} were read"));
    }
    reasons
}

/// Largest share by which an energy counter and the integrated power may differ. Power readings of
/// NVIDIA's devices are right to 5 %.
const MOST_DISAGREEMENT: f64 = 0.05;
