//! Delays that the client itself added, and whether the load was offered as planned.

use serde::Serialize;
use servemark_core::{Connection, RequestRecord, RunLog, Stamp};
use servemark_statistics::UnmetWaits;

use crate::estimates::estimated;
use crate::policy::MetricPolicy;
use crate::seconds::seconds_between;
use crate::summary::Summary;

/// Delays that the client itself added to requests, failed ones included.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Waits {
    /// Time from due until the concurrency gate let the request pass.
    pub queue: Summary,
    /// Time from the instant at which a request was both due and through the gate, to the first
    /// byte handed to the kernel. It contains the opening of a connection.
    pub send_lag: Summary,
    /// Time to open a connection, with name look-up and TLS, for requests that opened one.
    pub connect: Summary,
    /// Number of requests on a connection that was opened before the measurement and not used
    /// before.
    pub ahead_connections: usize,
    /// Number of requests on a connection that an earlier request had used.
    pub reused_connections: usize,
}

impl Waits {
    pub(crate) fn of(log: &RunLog, policy: &MetricPolicy) -> Self {
        let mut records: Vec<&RequestRecord> = log.measured().collect();
        records.sort_by_key(|record| record.started());
        let summary = |of: fn(&RequestRecord) -> Option<f64>| {
            let values: Vec<f64> = records.iter().copied().filter_map(of).collect();
            let in_time = || values.iter().copied().collect();
            estimated(Summary::of(&values, policy), policy, UnmetWaits::default(), in_time)
        };
        let on = |connection: Connection| {
            log.measured().filter(|record| record.connection == Some(connection)).count()
        };
        Self {
            queue: summary(queue_wait),
            send_lag: summary(send_lag),
            connect: summary(connect),
            ahead_connections: on(Connection::Ahead),
            reused_connections: on(Connection::Reused),
        }
    }
}

/// Load that was asked for, planned and offered, in requests per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rates {
    /// Rate that was asked for; absent if all requests were due at once.
    pub asked_per_s: Option<f64>,
    /// Rate of the schedule: the requests after the first, divided by the time from the first due
    /// time to the last.
    pub scheduled_per_s: Option<f64>,
    /// Rate of sending: the requests after the first, divided by the time from the first sending to
    /// the last.
    pub sent_per_s: Option<f64>,
}

impl Rates {
    pub(crate) fn of(log: &RunLog) -> Self {
        Self {
            asked_per_s: log.header().facts.request_rate,
            scheduled_per_s: rate(log.measured().map(|record| record.scheduled)),
            sent_per_s: rate(log.measured().filter_map(|record| record.sent)),
        }
    }
}

/// Returns the seconds from due until the concurrency gate let the request pass.
pub(crate) fn queue_wait(record: &RequestRecord) -> Option<f64> {
    Some(seconds_between(record.scheduled, record.granted?))
}

fn send_lag(record: &RequestRecord) -> Option<f64> {
    let free = record.granted.map_or(record.scheduled, |granted| granted.max(record.scheduled));
    Some(seconds_between(free, record.sent?))
}

fn connect(record: &RequestRecord) -> Option<f64> {
    connect_ns(record).map(|nanos| nanos as f64 / 1e9)
}

/// Returns the nanoseconds that a request needed to open a connection, with name look-up and TLS;
/// absent if it opened none.
pub(crate) fn connect_ns(record: &RequestRecord) -> Option<u64> {
    match record.connection? {
        Connection::New { connect_ns, tls_ns } => {
            Some(connect_ns.saturating_add(tls_ns.unwrap_or_default()))
        }
        _ => None,
    }
}

/// Returns the number of instants after the first, divided by the seconds from the first to the
/// last.
pub(crate) fn rate(instants: impl Iterator<Item = Stamp> + Clone) -> Option<f64> {
    let (first, last) = (instants.clone().min()?, instants.clone().max()?);
    let span = seconds_between(first, last);
    (span > 0.0).then(|| (instants.count() - 1) as f64 / span)
}
