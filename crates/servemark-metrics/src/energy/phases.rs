//! Divides the energy of a run among the phases of its requests.

use serde::Serialize;
use servemark_core::RunLog;

use super::curve::Curve;
use super::device::Device;
use crate::series::Axis;

/// Energy in joules by what the requests in flight were waiting for. At each instant the power is
/// divided equally among them; a GPU does not say which request it works for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EnergyPhases {
    /// Energy of the requests that had no output yet.
    pub prefill_joules: f64,
    /// Energy of the requests that had output.
    pub decode_joules: f64,
    /// Energy while no request was in flight.
    pub idle_joules: f64,
}

impl EnergyPhases {
    pub(super) fn of(log: &RunLog, devices: &[Device], span: f64) -> Self {
        let curves: Vec<&Curve> = devices.iter().map(|device| &device.power).collect();
        let power = Curve::sum(&curves);
        let mut phases = Self::default();
        let (mut prefilling, mut decoding) = (0_i64, 0_i64);
        let (mut at, mut joules) = (0.0, power.integral(0.0));
        for change in changes(log, span) {
            let now = power.integral(change.at);
            phases.add(now - joules, prefilling, decoding);
            (at, joules) = (change.at, now);
            prefilling += change.prefilling;
            decoding += change.decoding;
        }
        phases.add(power.joules(at, span), prefilling, decoding);
        phases
    }

    fn add(&mut self, joules: f64, prefilling: i64, decoding: i64) {
        let all = (prefilling + decoding) as f64;
        if all == 0.0 {
            self.idle_joules += joules;
            return;
        }
        self.prefill_joules += joules * prefilling as f64 / all;
        self.decode_joules += joules * decoding as f64 / all;
    }
}

/// A change of the numbers of requests in each phase.
struct Change {
    at: f64,
    prefilling: i64,
    decoding: i64,
}

/// Returns the changes from second 0 to `span`, in order of time.
fn changes(log: &RunLog, span: f64) -> Vec<Change> {
    let axis = Axis::of(log);
    let mut changes: Vec<Change> = Vec::new();
    for record in log.measured() {
        let Some(sent) = record.sent else { continue };
        let mut change = |stamp, prefilling, decoding| {
            let at = axis.seconds(stamp).clamp(0.0, span);
            changes.push(Change { at, prefilling, decoding });
        };
        change(sent, 1, 0);
        match record.deltas.first_at() {
            Some(first) => {
                change(first, -1, 1);
                change(record.ended.max(first), 0, -1);
            }
            None => change(record.ended, -1, 0),
        }
    }
    changes.sort_by(|one, other| one.at.total_cmp(&other.at));
    changes
}
