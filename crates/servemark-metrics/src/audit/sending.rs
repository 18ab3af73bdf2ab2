//! Whether requests were sent when they were due.

use serde::Serialize;
use servemark_core::{ArrivalClock, RequestRecord, RunLog, Stamp};

use super::limits;
use super::tally::{Spread, Tally};
use crate::waits::{connect_ns, rate};

/// Whether requests, failed ones included, were sent when they were due.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sending {
    /// Number of requests that were sent.
    pub sent: u64,
    /// Time from due to the first byte handed to the kernel. It contains the wait at the gate, a
    /// new connection and the client's own delay.
    pub from_due: Spread,
    /// Time from the instant at which a request was both due and through the gate, to its sending.
    /// It contains a new connection and the client's own delay.
    pub from_free: Spread,
    /// Delay from which on a send is late, in microseconds. It counts from the instant at which the
    /// request was let through, without the time for its connection.
    pub late_from_us: f64,
    /// Number of sends that were let through at an instant of their own. Of requests that are let
    /// through at one instant, all but one are necessarily late, so those are not judged.
    pub judged: u64,
    /// Number of judged sends that were late.
    pub late: u64,
    /// Delay from which on a send is far too late, in microseconds, measured like `late_from_us`.
    pub far_late_from_us: f64,
    /// Number of judged sends that were far too late.
    pub far_late: u64,
    /// The schedule's own rate: the requests after the first, divided by the time from the first
    /// due time to the last. Absent if all were due at once.
    pub offered_per_s: Option<f64>,
    /// Rate of the instants at which requests were let through: the due time or, for requests that
    /// the gate blocked, the instant at which the gate let them pass. Absent if all were let
    /// through at once.
    pub let_through_per_s: Option<f64>,
    /// Rate of the instants at which requests were sent; absent if all were sent at once.
    pub achieved_per_s: Option<f64>,
    /// Excess of the time from the first send to the last over the time from the first request let
    /// through to the last, in microseconds.
    pub behind_us: f64,
    /// `behind_us` as a share of the time in which the requests were let through; absent if all
    /// were let through at once.
    pub behind_share: Option<f64>,
    /// Effect of the concurrency limit, if there was one.
    pub gate: Option<Gate>,
}

/// Effect of the concurrency limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Gate {
    /// Number of requests that waited for a place longer than the limit of a late send.
    pub blocked: u64,
    /// Time that blocked requests waited for a place.
    pub wait: Spread,
    /// Share of the concurrency that was lost because the client was late in seeing the ends of
    /// answers and in sending the requests that waited for them. Absent if no request waited, or if
    /// only the client's own clock stamped the ends of answers.
    pub vacant_share: Option<f64>,
}

impl Sending {
    pub(super) fn of(log: &RunLog) -> Self {
        let has_gate = log.header().facts.max_concurrency.is_some();
        let gap_us = median_gap_us(log);
        let late_from_us = (gap_us * limits::LATE_OF_GAP).max(limits::LATE_US);
        let far_late_from_us = (gap_us * limits::FAR_LATE_OF_GAP).max(limits::FAR_LATE_US);
        let send = |record| SendTimes::of(record, has_gate, late_from_us);
        let sends: Vec<SendTimes> = log.measured().filter_map(send).collect();
        let spread =
            |micros: fn(&SendTimes) -> u64| sends.iter().map(micros).collect::<Tally>().spread();
        let instants = |of: fn(&SendTimes) -> Stamp| sends.iter().map(of);
        let planned_us = span_us(instants(SendTimes::let_through));
        let behind_us = span_us(instants(|send| send.sent)) - planned_us;
        let offered_per_s = rate(instants(|send| send.due));
        let own = if is_by_batches(log, offered_per_s) { Vec::new() } else { own_instants(&sends) };
        let later_than =
            |limit: f64| own.iter().filter(|send| send.own_lag_us() > limit).count() as u64;
        let blocked = || sends.iter().filter(|send| send.is_blocked);
        Self {
            sent: sends.len() as u64,
            from_due: spread(|send| micros(send.due, send.sent)),
            from_free: spread(|send| micros(send.free, send.sent)),
            late_from_us,
            judged: own.len() as u64,
            late: later_than(late_from_us),
            far_late_from_us,
            far_late: later_than(far_late_from_us),
            offered_per_s,
            let_through_per_s: rate(instants(SendTimes::let_through)),
            achieved_per_s: rate(instants(|send| send.sent)),
            behind_us,
            behind_share: (planned_us > 0.0).then(|| behind_us / planned_us),
            gate: has_gate.then(|| Gate {
                blocked: blocked().count() as u64,
                wait: blocked().map(|send| micros(send.due, send.free)).collect::<Tally>().spread(),
                vacant_share: vacant_share(log, &sends),
            }),
        }
    }

    /// Returns the share of judged sends that were far too late; absent if no send could be judged.
    pub fn far_late_share(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.far_late as f64 / self.judged as f64)
    }

    /// Returns the share of judged sends that were late; absent if no send could be judged.
    pub fn late_share(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.late as f64 / self.judged as f64)
    }
}

/// Instants of one sent request.
struct SendTimes {
    due: Stamp,
    free: Stamp,
    sent: Stamp,
    connect_us: f64,
    is_blocked: bool,
}

impl SendTimes {
    /// Returns the instants of a sent request; absent for a retry, whose time says nothing about
    /// the client.
    fn of(record: &RequestRecord, has_gate: bool, late_from_us: f64) -> Option<Self> {
        if record.earlier_tries > 0 {
            return None;
        }
        let due = record.scheduled;
        let free = record.granted.map_or(due, |granted| granted.max(due));
        Some(Self {
            due,
            free,
            sent: record.sent?,
            connect_us: connect_ns(record).unwrap_or_default() as f64 / 1e3,
            is_blocked: has_gate && micros(due, free) as f64 > late_from_us,
        })
    }

    /// Returns when the request was let through. A request that the gate did not block counts from
    /// its due time, because any delay is then the client's.
    fn let_through(&self) -> Stamp {
        if self.is_blocked { self.free } else { self.due }
    }

    fn own_lag_us(&self) -> f64 {
        micros(self.let_through(), self.sent) as f64 - self.connect_us
    }
}

/// Returns whether requests went to an engine without a server in batches, one after the other. The
/// engine is given a batch when all of it is there and prepared, and no latency counts time before
/// that.
fn is_by_batches(log: &RunLog, offered_per_s: Option<f64>) -> bool {
    log.header().engine.is_some() && offered_per_s.is_none()
}

/// Returns the sends that were let through at an instant of their own.
fn own_instants(sends: &[SendTimes]) -> Vec<&SendTimes> {
    let mut sorted: Vec<&SendTimes> = sends.iter().collect();
    sorted.sort_by_key(|send| send.let_through());
    let groups = sorted.chunk_by(|one, other| one.let_through() == other.let_through());
    groups.filter(|group| group.len() == 1).flatten().copied().collect()
}

/// Returns the time that a place of the gate is empty between two requests, as a share of the time
/// from one request to the next at that place. A place is empty while the end of an answer lies
/// unseen and until the next request is sent. Absent for an engine without a server, which sees its
/// own ends.
fn vacant_share(log: &RunLog, sends: &[SendTimes]) -> Option<f64> {
    let blocked = || sends.iter().filter(|send| send.is_blocked);
    let is_unknown = |record: &RequestRecord| record.arrival_clock == ArrivalClock::User;
    let sent = || log.measured().filter(|record| record.sent.is_some());
    let waited = blocked().count() as f64;
    let is_unjudged = waited == 0.0 || log.header().engine.is_some();
    if is_unjudged || sent().any(|record| record.first_byte.is_some() && is_unknown(record)) {
        return None;
    }
    let count = sent().count() as f64;
    let end_lag_us = sent().map(|record| f64::from(record.end_lag_us)).sum::<f64>() / count;
    let send_lag_us = blocked().map(SendTimes::own_lag_us).sum::<f64>() / waited;
    let held = sent().map(|record| micros(record.started(), record.ended) as f64);
    let empty_us = end_lag_us + send_lag_us.max(0.0);
    let share_of_hand_overs = waited / sends.len() as f64;
    Some(share_of_hand_overs * empty_us / (held.sum::<f64>() / count + empty_us))
}

/// Returns the median time between two due times of the schedule, in microseconds.
fn median_gap_us(log: &RunLog) -> f64 {
    let mut due: Vec<Stamp> = log.measured().map(|record| record.scheduled).collect();
    due.sort_unstable();
    let gaps: Tally = due.windows(2).map(|pair| micros(pair[0], pair[1])).collect();
    gaps.percentile(50.0).unwrap_or_default()
}

fn span_us(instants: impl Iterator<Item = Stamp> + Clone) -> f64 {
    let ends = instants.clone().min().zip(instants.max());
    ends.map_or(0.0, |(first, last)| micros(first, last) as f64)
}

fn micros(earlier: Stamp, later: Stamp) -> u64 {
    u64::try_from(later.since(earlier).as_micros()).unwrap_or(u64::MAX)
}
