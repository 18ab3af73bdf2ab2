//! The times at which pieces were really sent.
//!
//! Each request collects its stamps in a column of its own; the column joins the log just before
//! the last bytes of the answer are written, so a client that has received the whole answer finds
//! the complete row.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use servemark_core::{ArrivalClock, SimulatedParts, SimulatedTimes, Stamp};

use crate::reception::Reception;

/// When one request was received and when each piece of its output was written.
///
/// Its JSON line can also be read as a [`SimulatedTimes`]: that reader ignores the additional keys.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TruthRow {
    /// The number in the request's `x-servemark-request` header, else the zero-based order of
    /// arrival. The prompts of a batch have consecutive numbers from there.
    pub index: usize,
    /// When the request's last byte was received, on the machine's monotonic clock.
    pub received: Stamp,
    /// Which clock produced `received`: the kernel's receive stamp, or the server's own as it read.
    #[serde(default)]
    pub clock: ArrivalClock,
    /// Nanoseconds from `received` to the write of each piece of output.
    pub sent_ns: Vec<u64>,
    /// The parts of the time before the first piece was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<SimulatedParts>,
}

impl From<TruthRow> for SimulatedTimes {
    fn from(row: TruthRow) -> Self {
        Self::new((row.index, 0), row.sent_ns).with_parts(row.parts)
    }
}

/// Writes one line of JSON per row.
pub fn write_truth(rows: &[TruthRow], out: &mut dyn Write) -> io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *out, row)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The rows of finished answers. The lock is taken once per request, never per piece.
#[derive(Debug, Default)]
pub(crate) struct TruthLog {
    rows: Mutex<Vec<Arc<TruthRow>>>,
}

impl TruthLog {
    /// Opens a column for a request, with memory reserved for `pieces` stamps.
    pub(crate) fn open(
        self: &Arc<Self>,
        index: usize,
        reception: Reception,
        pieces: usize,
        prompts: usize,
    ) -> OpenTruth {
        let Reception { at: received, clock } = reception;
        let sent_ns = Vec::with_capacity(pieces.min(MOST_RESERVED));
        let row = Some(TruthRow { index, received, clock, sent_ns, parts: None });
        OpenTruth { row, prompts, log: Arc::clone(self) }
    }

    /// Returns all rows sorted by index. Only pointers are copied while the log is locked.
    pub(crate) fn rows(&self) -> Vec<TruthRow> {
        let shared = self.lock().clone();
        sorted(shared)
    }

    /// Returns all rows sorted by index and clears the log.
    pub(crate) fn take(&self) -> Vec<TruthRow> {
        let shared = mem::take(&mut *self.lock());
        sorted(shared)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<TruthRow>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sorted(shared: Vec<Arc<TruthRow>>) -> Vec<TruthRow> {
    let mut rows: Vec<_> = shared.into_iter().map(Arc::unwrap_or_clone).collect();
    rows.sort_by_key(|row| (row.index, row.received));
    rows
}

/// The stamps of an unfinished answer. They join the log when this is closed or dropped.
#[derive(Debug)]
pub(crate) struct OpenTruth {
    row: Option<TruthRow>,
    /// The number of prompts in the request; their pieces alternate in `sent_ns`.
    prompts: usize,
    log: Arc<TruthLog>,
}

impl OpenTruth {
    /// Sets the parts of the time before the first piece.
    pub(crate) fn with_parts(mut self, parts: SimulatedParts) -> Self {
        if let Some(row) = &mut self.row {
            row.parts = Some(parts);
        }
        self
    }

    /// Records that `pieces` pieces of output are about to be written at `at`.
    pub(crate) fn record_sent(&mut self, at: Stamp, pieces: usize) {
        if let Some(row) = &mut self.row {
            let after = at.as_nanos().saturating_sub(row.received.as_nanos());
            row.sent_ns.extend(std::iter::repeat_n(after, pieces));
        }
    }

    /// Moves the row, or one row for each prompt of a batch, to the log.
    pub(crate) fn close(&mut self) {
        let Some(row) = self.row.take() else { return };
        if self.prompts <= 1 {
            return self.log.lock().push(Arc::new(row));
        }
        let of_prompt = |place| {
            let sent_ns = row.sent_ns.iter().skip(place).step_by(self.prompts).copied().collect();
            Arc::new(TruthRow { index: row.index + place, sent_ns, ..row.clone() })
        };
        self.log.lock().extend((0..self.prompts).map(of_prompt));
    }
}

impl Drop for OpenTruth {
    fn drop(&mut self) {
        self.close();
    }
}

/// The largest number of stamps to reserve memory for, as a request may ask for any number of
/// tokens.
const MOST_RESERVED: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    fn reception(nanos: u64) -> Reception {
        Reception { at: at(nanos), clock: ArrivalClock::Kernel }
    }

    fn row(index: usize, received: u64, sent_ns: &[u64]) -> TruthRow {
        let clock = ArrivalClock::Kernel;
        TruthRow { index, received: at(received), clock, sent_ns: sent_ns.to_vec(), parts: None }
    }

    #[test]
    fn rows_come_by_index_and_count_from_received() {
        let log = Arc::new(TruthLog::default());
        let mut late = log.open(7, reception(100), 2, 1);
        let mut early = log.open(2, reception(200), 2, 1);
        late.record_sent(at(150), 1);
        late.record_sent(at(170), 2);
        late.close();
        early.record_sent(at(201), 1);
        drop(early);
        assert_eq!(log.take(), [row(2, 200, &[1]), row(7, 100, &[50, 70, 70])]);
        assert!(log.rows().is_empty());
    }

    #[test]
    fn every_prompt_of_a_batch_has_a_row() {
        let log = Arc::new(TruthLog::default());
        let mut batch = log.open(4, reception(100), 4, 2);
        batch.record_sent(at(110), 2);
        batch.record_sent(at(120), 2);
        batch.close();
        assert_eq!(log.take(), [row(4, 100, &[10, 20]), row(5, 100, &[10, 20])]);
    }

    #[test]
    fn a_line_is_a_truth_of_the_run_log() {
        let row = row(3, 9, &[1, 2]);
        let mut line = Vec::new();
        write_truth(std::slice::from_ref(&row), &mut line).unwrap();
        assert_eq!(line, b"{\"index\":3,\"received\":9,\"clock\":\"kernel\",\"sent_ns\":[1,2]}\n");
        assert_eq!(
            serde_json::from_slice::<SimulatedTimes>(&line).unwrap(),
            SimulatedTimes::from(row)
        );
    }
}
