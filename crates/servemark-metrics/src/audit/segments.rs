//! Which pieces may have been queued unread behind others.

use servemark_core::{ArrivalClock, RequestRecord};

use super::limits;

/// Returns whether a piece that was read with this lag may have been queued unread beside earlier
/// pieces.
pub(super) fn may_have_lain(clock: ArrivalClock, lag_us: u32) -> bool {
    match clock {
        ArrivalClock::User => true,
        ArrivalClock::KernelBound | ArrivalClock::Kernel => lag_us >= limits::PROMPT_US,
        ArrivalClock::Engine => false,
    }
}

/// Returns the number of segments with data beyond one for each read, if the kernel counted them.
pub(super) fn surplus_segments(record: &RequestRecord, reads_with_pieces: u64) -> Option<u64> {
    let segments = record.socket?.data_segments_in?;
    Some(u64::from(segments).saturating_sub(reads_with_pieces.max(record.reads.into())))
}
