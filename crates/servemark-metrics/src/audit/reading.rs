//! Which clocks stamped the arrivals, how late the client read them, and which pieces shared a
//! read.

use serde::Serialize;
use servemark_core::{ArrivalClock, DeltaRow, RequestRecord};

use super::segments::{may_have_lain, surplus_segments};
use super::stamp_error::StampError;
use super::tally::{Spread, Tally};

/// Which clocks stamped the arrivals, how late the client read them, and which pieces shared a
/// read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reading {
    /// The weakest arrival clock of all requests that got an answer; absent if none did.
    pub arrival_clock: Option<ArrivalClock>,
    /// Number of requests that got an answer.
    pub answered: u64,
    /// Number of answered requests whose arrivals only the program's own clock stamped.
    pub answered_by_user_clock: u64,
    /// Number of answered requests for which the kernel's stamp is an upper bound, because streams
    /// share a connection.
    pub answered_by_kernel_bound: u64,
    /// Time from the arrival of each piece of output to the read that brought it. For an answer
    /// without pieces it starts at the arrival of its end. Requests that only the program's own
    /// clock stamped are left out.
    pub lag: Spread,
    /// Read lag of the first piece of each request, measured like `lag`.
    pub first_lag: Spread,
    /// The typical time that a lag is compared with.
    #[serde(rename = "yardstick")]
    pub reference: Option<LagReference>,
    /// The 99th percentile of the gaps between the pieces of a stream, in microseconds.
    pub p99_itl_us: Option<f64>,
    /// The 99th percentile of the gaps as the program's own clock would have given it, in
    /// microseconds.
    pub p99_itl_by_user_clock_us: Option<f64>,
    /// Number of pieces of output.
    pub pieces: u64,
    /// Number of reads that brought pieces; for an engine without a server, the number of steps
    /// that did.
    pub reads: u64,
    /// Pieces that arrived in one read with a later piece of their stream. They have the stamp of
    /// that later piece, so no clock knows when they arrived.
    pub shared: Shared,
    /// How much later than the pieces the kernel's stamps may be.
    pub stamp_error: StampError,
}

/// The typical time that a lag is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum LagReference {
    /// The time between two reads of a stream.
    Gap {
        /// Median in whole microseconds, at least one.
        median_us: f64,
    },
    /// The E2E latency of the successes, where no answer came in several reads.
    E2el {
        /// Median in whole microseconds, at least one.
        median_us: f64,
    },
}

/// Pieces of output that share a read with a later piece, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shared {
    /// Pieces that came in segments of their own and were queued unread because of this client. An
    /// upper bound.
    pub by_client: u64,
    /// Pieces that the server or the network put together: they had no segment of their own, or all
    /// were read at once.
    pub elsewhere: u64,
    /// Pieces that were queued unread where the kernel did not count the segments, so the cause is
    /// unknown.
    pub unknown: u64,
}

impl Reading {
    /// Summarises how the records were read. `core_is_shared` says whether the client's threads had
    /// to wait for a core, if that is known.
    pub(super) fn of<'a>(
        records: impl Iterator<Item = &'a RequestRecord> + Clone,
        core_is_shared: Option<bool>,
    ) -> Self {
        let mut reader = Reader::default();
        records.clone().for_each(|record| reader.add(record));
        reader.reading(StampError::of(records, core_is_shared))
    }

    /// Returns the mean number of pieces in a read that brought pieces; absent without such reads.
    pub fn pieces_per_read(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.pieces as f64 / self.reads as f64)
    }

    /// Returns a number of pieces as a share of all pieces.
    pub fn share_of_pieces(&self, pieces: u64) -> f64 {
        pieces as f64 / self.pieces.max(1) as f64
    }
}

impl LagReference {
    /// Returns the median in microseconds.
    pub fn median_us(self) -> f64 {
        match self {
            Self::Gap { median_us } | Self::E2el { median_us } => median_us,
        }
    }

    /// Returns the description that reasons use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gap { .. } => "gap between reads",
            Self::E2el { .. } => "E2E latency",
        }
    }
}

/// Figures of the records read so far.
#[derive(Default)]
struct Reader {
    arrival_clock: Option<ArrivalClock>,
    answered: u64,
    answered_by_user_clock: u64,
    answered_by_kernel_bound: u64,
    lag: Tally,
    first_lag: Tally,
    gaps: Tally,
    gaps_by_user_clock: Tally,
    gaps_between_reads: Tally,
    e2el: Tally,
    pieces: u64,
    reads: u64,
    shared: Shared,
}

impl Reader {
    fn add(&mut self, record: &RequestRecord) {
        if record.first_byte.is_some() {
            self.add_clock(record.arrival_clock);
        }
        if record.arrival_clock != ArrivalClock::User {
            self.add_lags(record);
        }
        if record.is_success() {
            self.e2el.add(micros(record.ended.since(record.started())));
        }
        self.add_gaps(record);
        self.add_reads(record);
    }

    fn add_clock(&mut self, clock: ArrivalClock) {
        self.arrival_clock = Some(self.arrival_clock.map_or(clock, |weakest| weakest.min(clock)));
        self.answered += 1;
        self.answered_by_user_clock += u64::from(clock == ArrivalClock::User);
        self.answered_by_kernel_bound += u64::from(clock == ArrivalClock::KernelBound);
    }

    fn add_lags(&mut self, record: &RequestRecord) {
        let mut lags = record.deltas.rows().map(|row| u64::from(row.lag_us));
        let only = || record.first_byte.map(|_| u64::from(record.end_lag_us));
        let Some(first) = lags.next().or_else(only) else { return };
        self.first_lag.add(first);
        self.lag.add(first);
        lags.for_each(|lag| self.lag.add(lag));
    }

    fn add_gaps(&mut self, record: &RequestRecord) {
        let later = record.deltas.rows().skip(1);
        for (before, after) in record.deltas.rows().zip(later) {
            let gap = micros(after.at.since(before.at));
            self.gaps.add(gap);
            self.gaps_by_user_clock
                .add((gap + u64::from(after.lag_us)).saturating_sub(before.lag_us.into()));
            if after.at != before.at {
                self.gaps_between_reads.add(gap);
            }
        }
    }

    fn add_reads(&mut self, record: &RequestRecord) {
        let (mut reads, mut lain, mut last) = (0, 0, None);
        for DeltaRow { at, lag_us, .. } in record.deltas.rows() {
            let is_shared = last.replace(at) == Some(at);
            reads += u64::from(!is_shared);
            lain += u64::from(is_shared && may_have_lain(record.arrival_clock, lag_us));
        }
        let pieces = record.deltas.len() as u64;
        self.pieces += pieces;
        self.reads += reads;
        self.shared.add(pieces - reads, lain, surplus_segments(record, reads));
    }

    fn reading(self, stamp_error: StampError) -> Reading {
        let median = |tally: &Tally| tally.percentile(50.0).map(|median_us| median_us.max(1.0));
        let gap = median(&self.gaps_between_reads).map(|median_us| LagReference::Gap { median_us });
        let e2el = || median(&self.e2el).map(|median_us| LagReference::E2el { median_us });
        Reading {
            arrival_clock: self.arrival_clock,
            answered: self.answered,
            answered_by_user_clock: self.answered_by_user_clock,
            answered_by_kernel_bound: self.answered_by_kernel_bound,
            lag: self.lag.spread(),
            first_lag: self.first_lag.spread(),
            reference: gap.or_else(e2el),
            p99_itl_us: self.gaps.percentile(99.0),
            p99_itl_by_user_clock_us: self.gaps_by_user_clock.percentile(99.0),
            pieces: self.pieces,
            reads: self.reads,
            shared: self.shared,
            stamp_error,
        }
    }
}

impl Shared {
    /// Adds an answer with `shared` pieces that share the read of a later piece. `lain` of them
    /// were queued unread. `surplus_segments` is the number of segments without a read of their
    /// own, an upper bound on the pieces that arrived apart.
    fn add(&mut self, shared: u64, lain: u64, surplus_segments: Option<u64>) {
        let by_client = surplus_segments.map(|segments| segments.min(lain));
        self.by_client += by_client.unwrap_or_default();
        self.unknown += if by_client.is_none() { lain } else { 0 };
        self.elsewhere += shared - by_client.unwrap_or(lain);
    }
}

fn micros(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
