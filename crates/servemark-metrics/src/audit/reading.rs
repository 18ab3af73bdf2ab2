//! By whose clock arrivals are known, how late the client looked, and what came with one read.

use serde::Serialize;
use servemark_core::{ArrivalClock, DeltaRow, RequestRecord};

use super::limits;
use super::stamp_error::StampError;
use super::tally::{Spread, Tally};

/// By whose clock arrivals are known, how late the client looked, and what came with one read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reading {
    /// The weakest clock of all requests that got an answer; absent if none did.
    pub arrival_clock: Option<ArrivalClock>,
    /// Requests that got an answer.
    pub answered: u64,
    /// Those of them whose arrivals the program's own clock alone tells.
    pub answered_by_user_clock: u64,
    /// Those for which the kernel's stamp is an upper bound: streams share a connection.
    pub answered_by_kernel_bound: u64,
    /// From the arrival of each piece of output to the read that brought it, or, of an answer
    /// without pieces, from the arrival of its end. It cannot be known by the program's own clock.
    pub lag: Spread,
    /// The same for the first piece of each request.
    pub first_lag: Spread,
    /// What a lag is held against.
    pub yardstick: Option<Yardstick>,
    /// The 99th percentile of the gaps between the pieces of a stream.
    pub p99_itl_us: Option<f64>,
    /// What it would have been by the program's own clock.
    pub p99_itl_by_user_clock_us: Option<f64>,
    /// Pieces of output.
    pub pieces: u64,
    /// Reads that brought some; of an engine without a server, steps that did.
    pub reads: u64,
    /// Pieces that came with a later one of their stream in one read. They have its stamp, so
    /// neither clock knows when they arrived.
    pub shared: Shared,
    /// By how much the kernel's stamps of pieces may be too late.
    pub stamp_error: StampError,
}

/// What a lag is held against.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "of", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Yardstick {
    /// The time between two reads of a stream.
    Gap {
        /// Its median, in whole microseconds and at least one.
        median_us: f64,
    },
    /// The E2E latency of the successes, where no answer came in several reads.
    E2el {
        /// Its median, in whole microseconds and at least one.
        median_us: f64,
    },
}

/// Who put pieces of output into one read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shared {
    /// This client: they came in segments of their own and lay unread. An upper bound.
    pub by_client: u64,
    /// The server or the network: there was no segment for each, or all were read at once.
    pub elsewhere: u64,
    /// Nobody knows: they lay unread, and the kernel did not count the segments.
    pub unknown: u64,
}

impl Reading {
    /// `core_is_shared` says whether the client's threads had to wait for a core, if that is known.
    pub(super) fn of<'a>(
        records: impl Iterator<Item = &'a RequestRecord> + Clone,
        core_is_shared: Option<bool>,
    ) -> Self {
        let mut reader = Reader::default();
        records.clone().for_each(|record| reader.see(record));
        reader.reading(StampError::of(records, core_is_shared))
    }

    /// Pieces for each read that brought some.
    pub fn pieces_per_read(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.pieces as f64 / self.reads as f64)
    }

    /// So many of the pieces.
    pub fn share_of_pieces(&self, pieces: u64) -> f64 {
        pieces as f64 / self.pieces.max(1) as f64
    }
}

impl Yardstick {
    /// The median, whatever it is of.
    pub fn median_us(self) -> f64 {
        match self {
            Self::Gap { median_us } | Self::E2el { median_us } => median_us,
        }
    }

    /// What it is, in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gap { .. } => "gap between reads",
            Self::E2el { .. } => "E2E latency",
        }
    }
}

/// What was seen so far.
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
    fn see(&mut self, record: &RequestRecord) {
        if record.first_byte.is_some() {
            self.see_clock(record.arrival_clock);
        }
        if record.arrival_clock != ArrivalClock::User {
            self.see_lags(record);
        }
        if record.is_success() {
            self.e2el.add(micros(record.ended.since(record.started())));
        }
        self.see_gaps(record);
        self.see_reads(record);
    }

    fn see_clock(&mut self, clock: ArrivalClock) {
        self.arrival_clock = Some(self.arrival_clock.map_or(clock, |weakest| weakest.min(clock)));
        self.answered += 1;
        self.answered_by_user_clock += u64::from(clock == ArrivalClock::User);
        self.answered_by_kernel_bound += u64::from(clock == ArrivalClock::KernelBound);
    }

    fn see_lags(&mut self, record: &RequestRecord) {
        let mut lags = record.deltas.rows().map(|row| u64::from(row.lag_us));
        let only = || record.first_byte.map(|_| u64::from(record.end_lag_us));
        let Some(first) = lags.next().or_else(only) else { return };
        self.first_lag.add(first);
        self.lag.add(first);
        lags.for_each(|lag| self.lag.add(lag));
    }

    fn see_gaps(&mut self, record: &RequestRecord) {
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

    fn see_reads(&mut self, record: &RequestRecord) {
        let (mut reads, mut lain, mut last) = (0, 0, None);
        for DeltaRow { at, lag_us, .. } in record.deltas.rows() {
            let is_shared = last.replace(at) == Some(at);
            reads += u64::from(!is_shared);
            lain += u64::from(is_shared && may_have_lain(record.arrival_clock, lag_us));
        }
        let pieces = record.deltas.len() as u64;
        self.pieces += pieces;
        self.reads += reads;
        self.shared.see(pieces - reads, lain, surplus_segments(record, reads));
    }

    fn reading(self, stamp_error: StampError) -> Reading {
        let median = |tally: &Tally| tally.percentile(50.0).map(|median_us| median_us.max(1.0));
        let gap = median(&self.gaps_between_reads).map(|median_us| Yardstick::Gap { median_us });
        let e2el = || median(&self.e2el).map(|median_us| Yardstick::E2el { median_us });
        Reading {
            arrival_clock: self.arrival_clock,
            answered: self.answered,
            answered_by_user_clock: self.answered_by_user_clock,
            answered_by_kernel_bound: self.answered_by_kernel_bound,
            lag: self.lag.spread(),
            first_lag: self.first_lag.spread(),
            yardstick: gap.or_else(e2el),
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
    /// Of an answer's pieces so many shared the read of a later one, and so many of those had lain
    /// unread. Segments that no read of their own fetched are what they can have come in.
    fn see(&mut self, shared: u64, lain: u64, surplus_segments: Option<u64>) {
        let by_client = surplus_segments.map(|segments| segments.min(lain));
        self.by_client += by_client.unwrap_or_default();
        self.unknown += if by_client.is_none() { lain } else { 0 };
        self.elsewhere += shared - by_client.unwrap_or(lain);
    }
}

/// Whether what was seen so late may have lain unread next to what came before it.
pub(super) fn may_have_lain(clock: ArrivalClock, lag_us: u32) -> bool {
    match clock {
        ArrivalClock::User => true,
        ArrivalClock::KernelBound | ArrivalClock::Kernel => lag_us >= limits::PROMPT_US,
        ArrivalClock::Engine => false,
    }
}

/// How many segments with data came beside those that had a read of their own, if the kernel
/// counted them.
pub(super) fn surplus_segments(record: &RequestRecord, reads_with_pieces: u64) -> Option<u64> {
    let segments = record.socket?.data_segments_in?;
    Some(u64::from(segments).saturating_sub(reads_with_pieces.max(record.reads.into())))
}

fn micros(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
