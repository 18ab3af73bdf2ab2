//! What the client itself added to a request, and whether load was offered as planned.

use serde::Serialize;
use servemark_core::{Connection, RequestRecord, RunLog, Stamp};

use crate::policy::MetricPolicy;
use crate::score::seconds_between;
use crate::summary::Summary;

/// What the client itself added to a request, failed ones included.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Waits {
    /// From due to let pass by the concurrency gate.
    pub queue: Summary,
    /// From free to go, that is due and let pass, to the first byte handed to the kernel. A
    /// connection opened in between is in it.
    pub send_lag: Summary,
    /// Opening a connection, name look-up and TLS included; only requests that opened one.
    pub connect: Summary,
    /// Requests on a connection that was opened before the measurement and had carried nothing.
    pub ahead_connections: usize,
    /// Requests on a connection that had carried another.
    pub reused_connections: usize,
}

impl Waits {
    pub(crate) fn of(log: &RunLog, policy: &MetricPolicy) -> Self {
        let summary = |of: fn(&RequestRecord) -> Option<f64>| {
            Summary::of(&log.measured().filter_map(of).collect::<Vec<_>>(), policy)
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

/// The load that was asked for, planned and offered, in requests per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rates {
    /// What was asked for; absent when all were due at once.
    pub asked_per_s: Option<f64>,
    /// The schedule's own: requests after the first over the time from the first due to the last.
    pub scheduled_per_s: Option<f64>,
    /// The same over the instants at which they were sent.
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

/// From due to let pass by the concurrency gate.
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

/// What opening a connection took a request that had to, name look-up and TLS included.
pub(crate) fn connect_ns(record: &RequestRecord) -> Option<u64> {
    match record.connection? {
        Connection::New { connect_ns, tls_ns } => {
            Some(connect_ns.saturating_add(tls_ns.unwrap_or_default()))
        }
        _ => None,
    }
}

/// Instants after the first over the time from the first to the last.
pub(crate) fn rate(instants: impl Iterator<Item = Stamp> + Clone) -> Option<f64> {
    let (first, last) = (instants.clone().min()?, instants.clone().max()?);
    let span = seconds_between(first, last);
    (span > 0.0).then(|| (instants.count() - 1) as f64 / span)
}
