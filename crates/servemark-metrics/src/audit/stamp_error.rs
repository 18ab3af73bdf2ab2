//! Bounds how much later than a piece its kernel stamp may be.
//!
//! The kernel stamps the last byte of a read. A piece that is alone in its read is stamped exactly,
//! however late the read was. A piece that was read together with later bytes has their stamp: it
//! arrived between the previous read of its connection and its stamp.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Serialize;
use servemark_core::{ArrivalClock, RequestRecord};

use super::limits;
use super::segments::{may_have_lain, surplus_segments};
use super::tally::{Spread, Tally};

/// Bounds on how much later than the pieces their kernel stamps may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StampError {
    /// Number of pieces whose read also brought later bytes, which may have come in a segment of
    /// their own.
    pub doubtful: u64,
    /// Largest possible error of each stamped piece: zero for a piece that is alone in its read,
    /// and for a doubtful piece the time from the previous read to its stamp.
    pub at_most: Spread,
    /// Time from arrival to read of the pieces that were alone in their read on a shared
    /// connection.
    pub lone_lag: Spread,
    /// Bound on the 99th percentile of the errors, in microseconds. It is that of `at_most` or, if
    /// at most half of the pieces are doubtful, the longest lag of a lone piece if that is less: a
    /// doubtful piece waited for its read as long as lone pieces did.
    pub p99_us: Option<f64>,
}

impl StampError {
    /// Computes the bounds. `core_is_shared` says whether the client's threads had to wait for a
    /// core; it is absent where that is not known.
    pub(super) fn of<'a>(
        records: impl Iterator<Item = &'a RequestRecord>,
        core_is_shared: Option<bool>,
    ) -> Self {
        let mut tallies =
            Tallies { trusts_prompt_reads: core_is_shared == Some(false), ..Tallies::default() };
        let mut sharing = Vec::new();
        for record in records {
            match record.arrival_clock {
                ArrivalClock::Kernel => tallies.see_alone(record),
                ArrivalClock::KernelBound => sharing.push(record),
                ArrivalClock::Engine | ArrivalClock::User => {}
            }
        }
        tallies.see_sharing(&sharing);
        tallies.stamp_error()
    }
}

/// Figures of the records read so far.
#[derive(Default)]
struct Tallies {
    trusts_prompt_reads: bool,
    doubtful: u64,
    at_most: Tally,
    lone_lag: Tally,
}

impl Tallies {
    /// Adds a record that had its connection to itself.
    fn see_alone(&mut self, record: &RequestRecord) {
        let reads = record.deltas.rows().map(|row| row.at).collect::<Vec<_>>();
        let distinct = reads.chunk_by(|one, other| one == other).count() as u64;
        let mut surplus = surplus_segments(record, distinct).unwrap_or(u64::MAX);
        let mut before = record.headers.unwrap_or_else(|| record.started()).as_nanos();
        let mut rows = record.deltas.rows().peekable();
        while let Some(row) = rows.next() {
            let at = row.at.as_nanos();
            let is_last = rows.peek().is_none_or(|next| next.at != row.at);
            if is_last {
                self.at_most.add(0);
                before = at + u64::from(row.lag_us) * 1_000;
            } else if surplus > 0 && may_have_lain(record.arrival_clock, row.lag_us) {
                surplus -= 1;
                self.doubt(micros(at.saturating_sub(before)));
            } else {
                self.at_most.add(0);
            }
        }
    }

    /// Adds the records whose streams share connections. Their stamps show which streams share one:
    /// streams of one read are of one connection.
    fn see_sharing(&mut self, records: &[&RequestRecord]) {
        let mut streams: Vec<_> = records.iter().map(|record| events(record)).collect();
        let mut queue: BinaryHeap<Reverse<Event>> = BinaryHeap::new();
        let mut connections = Connections::of(records.len());
        for (stream, events) in streams.iter_mut().enumerate() {
            queue.extend(events.next().map(|event| Reverse(Event { stream, ..event })));
        }
        let mut read: Vec<Event> = Vec::new();
        while let Some(Reverse(event)) = queue.pop() {
            let stream = event.stream;
            queue.extend(streams[stream].next().map(|next| Reverse(Event { stream, ..next })));
            read.push(event);
            if queue.peek().is_none_or(|Reverse(next)| next.at != event.at) {
                self.see_read(&read, records, &mut connections);
                read.clear();
            }
        }
    }

    /// Adds all events of one read of a shared connection.
    fn see_read(
        &mut self,
        read: &[Event],
        records: &[&RequestRecord],
        connections: &mut Connections,
    ) {
        let Some(&Event { at, stream, .. }) = read.first() else { return };
        let pieces = || read.iter().filter(|event| event.is_piece);
        let before = connections.join(read.iter().map(|event| event.stream));
        let lag_us = read.iter().map(|event| event.lag_us).max().unwrap_or_default();
        connections.read(stream, at + u64::from(lag_us) * 1_000);
        let is_alone = read.iter().all(|event| event.stream == stream) && pieces().count() == 1;
        if is_alone {
            self.at_most.add(0);
            self.lone_lag.add(lag_us.into());
            return;
        }
        // A thread that has its core to itself reads within tens of microseconds after the first
        // byte. A thread that shares its core may read so soon after the last of many bytes only by
        // chance.
        let is_prompt = self.trusts_prompt_reads && lag_us < limits::PROMPT_US;
        for piece in pieces() {
            let sent = records[piece.stream].started().as_nanos();
            let window = micros(at.saturating_sub(before.max(sent)));
            self.doubt(if is_prompt { window.min(limits::PROMPT_US.into()) } else { window });
        }
    }

    fn doubt(&mut self, at_most_us: u64) {
        self.doubtful += 1;
        self.at_most.add(at_most_us);
    }

    fn stamp_error(self) -> StampError {
        let (at_most, lone_lag) = (self.at_most.spread(), self.lone_lag.spread());
        let share = self.doubtful as f64 / at_most.samples.max(1) as f64;
        let longest = lone_lag.max_us.filter(|_| share <= limits::MOST_DOUBTFUL);
        let p99_us = at_most.p99_us.map(|p99| longest.map_or(p99, |lag| lag.min(p99)));
        StampError { doubtful: self.doubtful, at_most, lone_lag, p99_us }
    }
}

/// An event that a read brought to a stream, ordered by its time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Event {
    at: u64,
    stream: usize,
    lag_us: u32,
    is_piece: bool,
}

/// Returns the known reads of a record, in order.
fn events(record: &RequestRecord) -> impl Iterator<Item = Event> + '_ {
    let event = |at: u64, lag_us, is_piece| Event { at, stream: 0, lag_us, is_piece };
    let head = record.headers.map(|at| event(at.as_nanos(), 0, false));
    let pieces = record.deltas.rows();
    let pieces = pieces.map(move |row| event(row.at.as_nanos(), row.lag_us, true));
    // The end of a failure is when it failed, which no read need have shown.
    let end = record.is_success().then(|| event(record.ended.as_nanos(), record.end_lag_us, false));
    head.into_iter().chain(pieces).chain(end)
}

/// Which streams are known to share a connection, and when each connection was last read. A
/// union-find structure over the streams.
struct Connections {
    parents: Vec<usize>,
    read: Vec<u64>,
}

impl Connections {
    fn of(streams: usize) -> Self {
        Self { parents: (0..streams).collect(), read: vec![0; streams] }
    }

    /// Notes that the streams share one connection. Returns the latest known read of it, in
    /// nanoseconds.
    fn join(&mut self, streams: impl Iterator<Item = usize>) -> u64 {
        let mut joined: Option<usize> = None;
        for stream in streams {
            let root = self.root(stream);
            let into = *joined.get_or_insert(root);
            self.parents[root] = into;
            self.read[into] = self.read[into].max(self.read[root]);
        }
        joined.map_or(0, |root| self.read[root])
    }

    fn read(&mut self, stream: usize, observed: u64) {
        let root = self.root(stream);
        self.read[root] = self.read[root].max(observed);
    }

    fn root(&mut self, stream: usize) -> usize {
        let mut root = stream;
        while self.parents[root] != root {
            self.parents[root] = self.parents[self.parents[root]];
            root = self.parents[root];
        }
        root
    }
}

/// Converts nanoseconds to microseconds, rounded up so that a bound is never too small.
fn micros(nanos: u64) -> u64 {
    nanos.div_ceil(1_000)
}
