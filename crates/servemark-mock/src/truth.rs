//! What was really sent, and when.
//!
//! A request collects its stamps in a column of its own; the column joins the log when the last
//! bytes of the answer are about to be written, so that a client which has the whole answer finds
//! the whole truth.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use servemark_core::{Stamp, Truth};

/// When one request was received and when each piece of its output was written.
///
/// As a line of JSON it is also a [`Truth`]: the reader passes over `received`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TruthRow {
    /// The number in the request's `x-servemark-request` header, else its place in the order of
    /// arrival, from zero.
    pub index: usize,
    /// When the whole request had been read, by the machine's monotonic clock.
    pub received: Stamp,
    /// Nanoseconds from there to the write of each piece of output.
    pub sent_ns: Vec<u64>,
}

impl From<TruthRow> for Truth {
    fn from(row: TruthRow) -> Self {
        Self::new((row.index, 0), row.sent_ns)
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

/// The rows of the answers that are done. It is locked once per request, never per piece.
#[derive(Debug, Default)]
pub(crate) struct TruthLog {
    rows: Mutex<Vec<Arc<TruthRow>>>,
}

impl TruthLog {
    /// A column for a request that was received at `received`.
    pub(crate) fn open(
        self: &Arc<Self>,
        index: usize,
        received: Stamp,
        pieces: usize,
    ) -> OpenTruth {
        let sent_ns = Vec::with_capacity(pieces.min(MOST_RESERVED));
        OpenTruth { row: Some(TruthRow { index, received, sent_ns }), log: Arc::clone(self) }
    }

    /// All rows by their index. Only pointers are copied while the log is locked.
    pub(crate) fn rows(&self) -> Vec<TruthRow> {
        let shared = self.lock().clone();
        sorted(shared)
    }

    /// All rows by their index, which are then forgotten.
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

/// The truth of an answer that is under way. It joins the log when it is closed or dropped.
#[derive(Debug)]
pub(crate) struct OpenTruth {
    row: Option<TruthRow>,
    log: Arc<TruthLog>,
}

impl OpenTruth {
    /// `pieces` pieces of output are about to be written.
    pub(crate) fn sent(&mut self, at: Stamp, pieces: usize) {
        if let Some(row) = &mut self.row {
            let after = at.as_nanos().saturating_sub(row.received.as_nanos());
            row.sent_ns.extend(std::iter::repeat_n(after, pieces));
        }
    }

    /// Nothing more will be sent.
    pub(crate) fn close(&mut self) {
        if let Some(row) = self.row.take() {
            self.log.lock().push(Arc::new(row));
        }
    }
}

impl Drop for OpenTruth {
    fn drop(&mut self) {
        self.close();
    }
}

/// A request may ask for any number of tokens; memory is reserved for at most so many pieces.
const MOST_RESERVED: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    #[test]
    fn rows_come_by_index_and_count_from_received() {
        let log = Arc::new(TruthLog::default());
        let mut late = log.open(7, at(100), 2);
        let mut early = log.open(2, at(200), 2);
        late.sent(at(150), 1);
        late.sent(at(170), 2);
        late.close();
        early.sent(at(201), 1);
        drop(early);
        let rows = log.take();
        assert_eq!(rows[0], TruthRow { index: 2, received: at(200), sent_ns: vec![1] });
        assert_eq!(rows[1], TruthRow { index: 7, received: at(100), sent_ns: vec![50, 70, 70] });
        assert!(log.rows().is_empty());
    }

    #[test]
    fn a_line_is_a_truth_of_the_run_log() {
        let row = TruthRow { index: 3, received: at(9), sent_ns: vec![1, 2] };
        let mut line = Vec::new();
        write_truth(std::slice::from_ref(&row), &mut line).unwrap();
        assert_eq!(line, b"{\"index\":3,\"received\":9,\"sent_ns\":[1,2]}\n");
        assert_eq!(serde_json::from_slice::<Truth>(&line).unwrap(), Truth::from(row));
    }
}
