//! Places the server's clock on the client's.
//!
//! A server cannot receive a request before it was sent, and its output cannot arrive before it was
//! sent. Each request therefore bounds the offset of the server's clock from both sides, by the
//! time that it spent on the network; the requests with the shortest ways give the narrowest
//! bounds. No symmetry of the ways is assumed for the bounds, only for the point between them.

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog, Stamp};

/// The server's clock, placed on the client's.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServerClock {
    /// The server's clock minus ours, in milliseconds. If it changed during the run, that of the
    /// stretch with the most requests.
    pub offset_ms: f64,
    /// Largest possible error of the offset in milliseconds.
    pub bound_ms: f64,
    /// Number of stretches of the run, each with its own offset. One stretch is enough if the
    /// clocks run alike.
    pub stretches: usize,
    #[serde(skip)]
    placed: Vec<ClockSegment>,
    /// When the client's clock started, in nanoseconds since the Unix epoch.
    #[serde(skip)]
    started_unix_ns: i128,
}

/// A stretch of the run with one offset.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockSegment {
    /// When its first request was sent.
    from: Stamp,
    requests: usize,
    offset_ns: f64,
    bound_ns: f64,
}

/// Bounds of the offset by one request, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    sent: Stamp,
    /// The output arrived after the server had sent it.
    at_least: i128,
    /// The server received the request after the client had begun to send it.
    at_most: i128,
}

impl ServerClock {
    /// Places the clock of a run's server by its answered requests; `None` if the server reports no
    /// instants, or if they contradict each other.
    pub fn of(log: &RunLog) -> Option<Self> {
        let started_unix_ns = i128::from(log.header().clock_started_unix_ns);
        let bounds = log.measured().filter_map(|record| Bounds::of(record, started_unix_ns));
        let mut bounds: Vec<Bounds> = bounds.collect();
        bounds.sort_by_key(|bounds| bounds.sent);
        let mut placed = Vec::new();
        place(&bounds, &mut placed);
        let main = *placed.iter().max_by_key(|stretch| stretch.requests)?;
        let bound_ns = placed.iter().map(|stretch| stretch.bound_ns).fold(0.0, f64::max);
        Some(Self {
            offset_ms: main.offset_ns / 1e6,
            bound_ms: bound_ns / 1e6,
            stretches: placed.len(),
            placed,
            started_unix_ns,
        })
    }

    /// Returns the nanoseconds from `sent`, by the client's clock, to an instant of the server's
    /// clock.
    pub(super) fn nanos_since(&self, unix_ns: u64, sent: Stamp) -> f64 {
        let after = self.placed.partition_point(|stretch| stretch.from <= sent);
        let offset_ns = self.placed[after.saturating_sub(1)].offset_ns;
        let of_client = self.started_unix_ns + i128::from(sent.as_nanos());
        (i128::from(unix_ns) - of_client) as f64 - offset_ns
    }
}

impl Bounds {
    fn of(record: &RequestRecord, started_unix_ns: i128) -> Option<Self> {
        let times = record.server_times.as_ref().filter(|_| record.is_success())?;
        let sent = record.sent?;
        let arrived =
            if record.is_document { record.ended } else { record.deltas.rows().next()?.at };
        let by_client = |stamp: Stamp| started_unix_ns + i128::from(stamp.as_nanos());
        Some(Self {
            sent,
            at_least: i128::from(times.first_sent_unix_ns?) - by_client(arrived),
            at_most: i128::from(times.received_unix_ns?) - by_client(sent),
        })
    }
}

/// Places a stretch of requests as a whole if one offset suits all of them, and otherwise its two
/// halves. A request whose own bounds contradict each other is left out.
fn place(bounds: &[Bounds], placed: &mut Vec<ClockSegment>) {
    let Some(first) = bounds.first() else { return };
    let at_least = bounds.iter().map(|bounds| bounds.at_least).max().unwrap_or_default();
    let at_most = bounds.iter().map(|bounds| bounds.at_most).min().unwrap_or_default();
    if at_least <= at_most {
        placed.push(ClockSegment {
            from: first.sent,
            requests: bounds.len(),
            offset_ns: (at_least + at_most) as f64 / 2.0,
            bound_ns: (at_most - at_least) as f64 / 2.0,
        });
    } else if bounds.len() > 1 {
        let (early, late) = bounds.split_at(bounds.len() / 2);
        place(early, placed);
        place(late, placed);
    }
}
