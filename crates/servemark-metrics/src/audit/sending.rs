//! Whether requests were sent when they were to be sent.

use serde::Serialize;
use servemark_core::{ArrivalClock, RequestRecord, RunLog, Stamp};

use super::limits;
use super::tally::{Spread, Tally};
use crate::waits::{connect_ns, rate};

/// Whether requests were sent when they were to be sent, those that failed included.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sending {
    /// Requests that were sent.
    pub sent: u64,
    /// From due to the first byte handed to the kernel: the gate, a new connection and the client.
    pub from_due: Spread,
    /// From free to go, that is due and let pass by the gate: a new connection and the client.
    pub from_free: Spread,
    /// From when a send is late. It counts from when the request was let through, and without the
    /// time that its connection took.
    pub late_from_us: f64,
    /// Sends that had an instant of their own. Of requests that are due at one instant all but one
    /// are late by nature.
    pub judged: u64,
    /// Those of them that were late.
    pub late: u64,
    /// From when a send is far too late, counted as `late_from_us` is.
    pub far_late_from_us: f64,
    /// Those of the judged sends that were far too late.
    pub far_late: u64,
    /// The schedule's own rate: requests after the first over the time from the first due to the
    /// last; absent if all were due at once.
    pub offered_per_s: Option<f64>,
    /// The same over the instants at which they were let through: due, or, for those that the gate
    /// blocked, let pass by it.
    pub let_through_per_s: Option<f64>,
    /// The same over the instants at which they were sent.
    pub achieved_per_s: Option<f64>,
    /// By how much the sends took longer than the letting through, from the first to the last.
    pub behind_us: f64,
    /// The same as a share of the latter; absent if all were let through at once.
    pub behind_share: Option<f64>,
    /// What the concurrency limit did, if there was one.
    pub gate: Option<Gate>,
}

/// What the concurrency limit did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Gate {
    /// Requests that had to wait for a place, longer than from when a send is late.
    pub blocked: u64,
    /// How long they waited.
    pub wait: Spread,
    /// The share of the concurrency that was lost because the client saw the ends of answers, and
    /// sent the requests that waited for them, late. Absent where no request waited, and where the
    /// client's own clock alone tells when answers ended.
    pub vacant_share: Option<f64>,
}

impl Sending {
    pub(super) fn of(log: &RunLog) -> Self {
        let has_gate = log.header().facts.max_concurrency.is_some();
        let gap_us = median_gap_us(log);
        let late_from_us = (gap_us * limits::LATE_OF_GAP).max(limits::LATE_US);
        let far_late_from_us = (gap_us * limits::FAR_LATE_OF_GAP).max(limits::FAR_LATE_US);
        let departure = |record| Departure::of(record, has_gate, late_from_us);
        let departures: Vec<Departure> = log.measured().filter_map(departure).collect();
        let spread = |micros: fn(&Departure) -> u64| {
            departures.iter().map(micros).collect::<Tally>().spread()
        };
        let instants = |of: fn(&Departure) -> Stamp| departures.iter().map(of);
        let planned_us = span_us(instants(Departure::let_through));
        let behind_us = span_us(instants(|departure| departure.sent)) - planned_us;
        let offered_per_s = rate(instants(|departure| departure.due));
        let own =
            if is_by_batches(log, offered_per_s) { Vec::new() } else { own_instants(&departures) };
        let later_than = |limit: f64| {
            own.iter().filter(|departure| departure.own_lag_us() > limit).count() as u64
        };
        let blocked = || departures.iter().filter(|departure| departure.is_blocked);
        Self {
            sent: departures.len() as u64,
            from_due: spread(|departure| micros(departure.due, departure.sent)),
            from_free: spread(|departure| micros(departure.free, departure.sent)),
            late_from_us,
            judged: own.len() as u64,
            late: later_than(late_from_us),
            far_late_from_us,
            far_late: later_than(far_late_from_us),
            offered_per_s,
            let_through_per_s: rate(instants(Departure::let_through)),
            achieved_per_s: rate(instants(|departure| departure.sent)),
            behind_us,
            behind_share: (planned_us > 0.0).then(|| behind_us / planned_us),
            gate: has_gate.then(|| Gate {
                blocked: blocked().count() as u64,
                wait: blocked()
                    .map(|departure| micros(departure.due, departure.free))
                    .collect::<Tally>()
                    .spread(),
                vacant_share: vacant_share(log, &departures),
            }),
        }
    }

    /// The share of sends that were far too late, if any could be judged.
    pub fn far_late_share(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.far_late as f64 / self.judged as f64)
    }

    /// The share of late sends, if any could be judged.
    pub fn late_share(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.late as f64 / self.judged as f64)
    }
}

/// How a request left.
struct Departure {
    due: Stamp,
    free: Stamp,
    sent: Stamp,
    connect_us: f64,
    is_blocked: bool,
}

impl Departure {
    /// When a request was sent again says nothing of the client.
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

    /// Without a gate that blocks nobody but the client is late.
    fn let_through(&self) -> Stamp {
        if self.is_blocked { self.free } else { self.due }
    }

    fn own_lag_us(&self) -> f64 {
        micros(self.let_through(), self.sent) as f64 - self.connect_us
    }
}

/// Whether requests went to an engine without a server as it was done with others. It is handed a
/// batch when all of it is there and made ready, and no time counts from before.
fn is_by_batches(log: &RunLog, offered_per_s: Option<f64>) -> bool {
    log.header().engine.is_some() && offered_per_s.is_none()
}

/// Those that were let through at an instant at which nobody else was.
fn own_instants(departures: &[Departure]) -> Vec<&Departure> {
    let mut sorted: Vec<&Departure> = departures.iter().collect();
    sorted.sort_by_key(|departure| departure.let_through());
    let groups = sorted.chunk_by(|one, other| one.let_through() == other.let_through());
    groups.filter(|group| group.len() == 1).flatten().copied().collect()
}

/// The time for which a place of the gate is empty between two requests, as a share of the time
/// that a request holds it: the end of an answer lay unseen, and then the next request was sent.
/// An engine without a server sees its own ends.
fn vacant_share(log: &RunLog, departures: &[Departure]) -> Option<f64> {
    let blocked = || departures.iter().filter(|departure| departure.is_blocked);
    let is_unknown = |record: &RequestRecord| record.arrival_clock == ArrivalClock::User;
    let sent = || log.measured().filter(|record| record.sent.is_some());
    let waited = blocked().count() as f64;
    let is_unjudged = waited == 0.0 || log.header().engine.is_some();
    if is_unjudged || sent().any(|record| record.first_byte.is_some() && is_unknown(record)) {
        return None;
    }
    let count = sent().count() as f64;
    let end_lag_us = sent().map(|record| f64::from(record.end_lag_us)).sum::<f64>() / count;
    let send_lag_us = blocked().map(Departure::own_lag_us).sum::<f64>() / waited;
    let held = sent().map(|record| micros(record.started(), record.ended) as f64);
    let empty_us = end_lag_us + send_lag_us.max(0.0);
    let share_of_hand_overs = waited / departures.len() as f64;
    Some(share_of_hand_overs * empty_us / (held.sum::<f64>() / count + empty_us))
}

/// The median time between two requests of the schedule.
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
