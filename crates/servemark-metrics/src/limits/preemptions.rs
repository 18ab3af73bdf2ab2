//! Preempted requests, and the time that they lost.

use servemark_core::{RequestRecord, RunLog};

use crate::seconds::seconds_between;
use crate::series::counter_increase;
use crate::statistics::median_of;

/// Requests that were put back into the queue while their answers were generated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Preemptions {
    /// Number of preemptions that the server counted during the measurement.
    pub(super) count: f64,
    /// Number of preemptions divided by the number of answered requests.
    pub(super) share_of_requests: f64,
    /// Sum of the `count` longest pauses in answers, in seconds.
    pub(super) paused_s: f64,
    /// Share of the time of all requests that these pauses took.
    pub(super) paused_share: f64,
}

impl Preemptions {
    #[expect(clippy::cast_sign_loss, reason = "the count is above zero")]
    pub(super) fn of(log: &RunLog) -> Self {
        let count = counter_increase(log, "preemptions");
        if count <= 0.0 {
            return Self::default();
        }
        let answered: Vec<&RequestRecord> =
            log.measured().filter(|record| record.is_success()).collect();
        let usual = usual_gap_s(&answered);
        let gaps = answered.iter().flat_map(|record| gaps_s(record));
        // A gap of less than twice the usual one is no pause.
        let mut pauses: Vec<f64> = gaps.map(|gap| gap - usual).filter(|it| *it > usual).collect();
        pauses.sort_unstable_by(|one, other| other.total_cmp(one));
        let paused_s = pauses.iter().take(count as usize).fold(0.0, |sum, pause| sum + pause);
        let time_s = |record: &&RequestRecord| seconds_between(record.scheduled, record.ended);
        let (whole_s, requests) = (answered.iter().map(time_s).sum(), answered.len() as f64);
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let paused_share = share(paused_s, whole_s);
        Self { count, share_of_requests: share(count, requests), paused_s, paused_share }
    }
}

/// Returns the median over the answers of the median gap between their pieces, in seconds. Most
/// answers are not preempted, or not for most of their gaps.
fn usual_gap_s(answered: &[&RequestRecord]) -> f64 {
    let of_record = |record: &&RequestRecord| median_of(gaps_s(record).collect());
    median_of(answered.iter().filter_map(of_record).collect()).unwrap_or_default()
}

fn gaps_s(record: &RequestRecord) -> impl Iterator<Item = f64> + '_ {
    let (earlier, later) = (record.deltas.rows(), record.deltas.rows().skip(1));
    earlier.zip(later).map(|(one, next)| seconds_between(one.at, next.at))
}
