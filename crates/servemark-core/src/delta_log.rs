//! The pieces of output of one request, packed as they arrive.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use crate::{Arrival, Delta, DeltaKind, Stamp, varint};

/// All pieces of output of one request, in order of arrival.
///
/// A row takes seven bytes: the length of its text, the time since the previous row and its lag. A
/// row that does not fit, or whose token count or kind differs from the previous row's, is stored
/// in a longer form. Nothing is rounded. Pushing does not allocate once the expected length is
/// reserved.
///
/// In a run log it is an object of columns: `at` and `bytes`, and `tokens`, `kinds` and `lag_us`
/// where any row has a value other than the default.
///
/// ```
/// use servemark_core::{Delta, DeltaLog, Stamp};
///
/// let mut log = DeltaLog::with_capacity(2);
/// log.push(Stamp::from_nanos(1_000), Delta::content("a"));
/// log.push(Stamp::from_nanos(3_000), Delta::content("bc"));
/// let rows: Vec<_> = log.rows().map(|row| (row.at.as_nanos(), row.bytes)).collect();
/// assert_eq!(rows, [(1_000, 1), (3_000, 2)]);
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "Columns")]
pub struct DeltaLog {
    packed: Vec<u8>,
    rows: usize,
    last: Before,
}

/// One row of a [`DeltaLog`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DeltaRow {
    /// When the piece arrived.
    pub at: Stamp,
    /// Length of the text in bytes.
    pub bytes: u32,
    /// Number of tokens in the piece, if the wire gave it.
    pub tokens: Option<u32>,
    /// What the piece is a part of.
    pub kind: DeltaKind,
    /// Microseconds between the arrival of the piece and its read by the client; zero if only the
    /// client's own clock stamped the arrival.
    pub lag_us: u32,
}

impl DeltaRow {
    /// Returns the arrival of the piece, with its lag in whole microseconds.
    pub fn arrival(&self) -> Arrival {
        Arrival::new(self.at, self.at + Duration::from_micros(self.lag_us.into()))
    }
}

impl DeltaLog {
    /// Creates an empty log with capacity reserved for `expected` pieces.
    pub fn with_capacity(expected: usize) -> Self {
        let room = if expected == 0 { 0 } else { FEW_UNUSUAL + expected * USUAL };
        Self { packed: Vec::with_capacity(room), ..Self::default() }
    }

    /// Appends a piece.
    pub fn push(&mut self, arrival: impl Into<Arrival>, delta: Delta<'_>) {
        let arrival = arrival.into();
        self.push_row(DeltaRow {
            at: arrival.at(),
            bytes: u32::try_from(delta.text.len()).unwrap_or(u32::MAX),
            tokens: delta.tokens,
            kind: delta.kind,
            lag_us: arrival.lag_us(),
        });
    }

    /// Frees the capacity that is reserved and not used.
    pub fn compact(&mut self) {
        // A right-sized copy returns the whole allocation to the next log; shrinking in place would
        // leave gaps that are too small for one.
        if self.packed.capacity() > self.packed.len() {
            self.packed = self.packed.as_slice().into();
        }
    }

    /// Returns the log with every arrival moved by a number of nanoseconds.
    #[must_use]
    pub fn shifted(&self, nanos: i64) -> Self {
        let mut shifted = Self { packed: Vec::with_capacity(self.packed.len()), ..Self::default() };
        for row in self.rows() {
            shifted.push_row(DeltaRow { at: row.at.shifted(nanos), ..row });
        }
        shifted
    }

    /// Returns the number of pieces.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no pieces.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns when the first piece arrived.
    pub fn first_at(&self) -> Option<Stamp> {
        self.rows().next().map(|row| row.at)
    }

    /// Returns when the last piece arrived.
    pub fn last_at(&self) -> Option<Stamp> {
        (!self.is_empty()).then_some(self.last.at)
    }

    /// Returns the number of bytes that the rows use of the memory reserved for them.
    pub fn used_bytes(&self) -> usize {
        self.packed.len()
    }

    /// Returns the number of bytes of memory reserved for the rows.
    pub fn packed_bytes(&self) -> usize {
        self.packed.capacity()
    }

    /// Returns the pieces in order of arrival.
    pub fn rows(&self) -> DeltaRows<'_> {
        DeltaRows { packed: &self.packed, left: self.rows, before: Before::default() }
    }

    fn push_row(&mut self, row: DeltaRow) {
        let gap = row.at.as_nanos().wrapping_sub(self.last.at.as_nanos());
        let now = Before { at: row.at, words: words(row.tokens, row.kind) };
        match usual(gap, row).filter(|_| now.words == self.last.words) {
            Some(usual) => self.packed.extend_from_slice(&usual),
            None => self.push_unusual(gap, row, now.words),
        }
        self.last = now;
        self.rows += 1;
    }

    #[cold]
    fn push_unusual(&mut self, gap: u64, row: DeltaRow, words: u64) {
        self.packed.push(UNUSUAL);
        for number in [gap, row.bytes.into(), row.lag_us.into(), words] {
            varint::push(&mut self.packed, number);
        }
    }
}

/// Two logs are equal if their rows are, whatever their capacity.
impl PartialEq for DeltaLog {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.packed == other.packed
    }
}

/// The rows of a [`DeltaLog`], unpacked one by one.
#[derive(Clone, Debug)]
pub struct DeltaRows<'a> {
    packed: &'a [u8],
    left: usize,
    before: Before,
}

impl Iterator for DeltaRows<'_> {
    type Item = DeltaRow;

    fn next(&mut self) -> Option<DeltaRow> {
        let (gap, bytes, lag_us) = match *self.packed {
            [bytes, g0, g1, g2, g3, l0, l1, ref rest @ ..] if bytes != UNUSUAL => {
                self.packed = rest;
                let gap = u32::from_le_bytes([g0, g1, g2, g3]);
                (gap.into(), bytes.into(), u16::from_le_bytes([l0, l1]).into())
            }
            _ => self.take_unusual()?,
        };
        self.before.at = Stamp::from_nanos(self.before.at.as_nanos().wrapping_add(gap));
        self.left -= 1;
        let Before { at, words } = self.before;
        Some(DeltaRow { at, bytes, tokens: tokens(words), kind: kind(words), lag_us })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for DeltaRows<'_> {}

impl DeltaRows<'_> {
    /// Returns the row's gap, length and lag; stores its words for the rows that follow.
    #[cold]
    fn take_unusual(&mut self) -> Option<(u64, u32, u32)> {
        self.packed = self.packed.get(1..)?;
        let mut take = || varint::take(&mut self.packed);
        let (gap, bytes, lag_us) = (take()?, take()? as u32, take()? as u32);
        self.before.words = take()?;
        Some((gap, bytes, lag_us))
    }
}

/// The arrival and the words of the previous row, against which a row is encoded.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    at: Stamp,
    words: u64,
}

/// Packs a token count and a kind into one number; zero is content without a token count.
fn words(tokens: Option<u32>, kind: DeltaKind) -> u64 {
    let kind = match kind {
        DeltaKind::Content => 0,
        DeltaKind::Reasoning => 1,
        DeltaKind::ToolCall => 2,
    };
    tokens.map_or(0, |tokens| u64::from(tokens) + 1) << KIND_BITS | kind
}

fn tokens(words: u64) -> Option<u32> {
    (words >> KIND_BITS).checked_sub(1).map(|tokens| tokens as u32)
}

fn kind(words: u64) -> DeltaKind {
    match words & KIND_MASK {
        0 => DeltaKind::Content,
        1 => DeltaKind::Reasoning,
        _ => DeltaKind::ToolCall,
    }
}

const KIND_BITS: u32 = 2;
const KIND_MASK: u64 = (1 << KIND_BITS) - 1;

/// Encodes a usual row: a text below 255 bytes, a gap below 2^32 ns (4.3 s), a lag below 65.536 ms.
fn usual(gap: u64, row: DeltaRow) -> Option<[u8; USUAL]> {
    let bytes = u8::try_from(row.bytes).ok().filter(|&bytes| bytes != UNUSUAL)?;
    let [g0, g1, g2, g3] = u32::try_from(gap).ok()?.to_le_bytes();
    let [l0, l1] = u16::try_from(row.lag_us).ok()?.to_le_bytes();
    Some([bytes, g0, g1, g2, g3, l0, l1])
}

/// Number of bytes of a usual row.
const USUAL: usize = 7;

/// Marks an unusual row, in the place of the text length.
const UNUSUAL: u8 = u8::MAX;

/// Bytes reserved for unusual rows. The first row always is one: its gap is the time since the
/// clock's start, and there is no previous row to take words from.
const FEW_UNUSUAL: usize = 64;

/// A delta log as a run log stores it: one array for each column.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Columns {
    at: Vec<Stamp>,
    bytes: Vec<u32>,
    #[serde(skip_serializing_if = "all_default")]
    tokens: Vec<Option<u32>>,
    #[serde(skip_serializing_if = "all_default")]
    kinds: Vec<DeltaKind>,
    #[serde(skip_serializing_if = "all_default")]
    lag_us: Vec<u32>,
}

impl Serialize for DeltaLog {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Columns::from(self).serialize(to)
    }
}

impl Columns {
    fn with_capacity(rows: usize) -> Self {
        Self {
            at: Vec::with_capacity(rows),
            bytes: Vec::with_capacity(rows),
            tokens: Vec::with_capacity(rows),
            kinds: Vec::with_capacity(rows),
            lag_us: Vec::with_capacity(rows),
        }
    }

    /// Returns an error that names a column whose length is not that of `at`.
    fn check(&self) -> Result<(), String> {
        let rows = self.at.len();
        let optional = [
            ("tokens", self.tokens.len()),
            ("kinds", self.kinds.len()),
            ("lag_us", self.lag_us.len()),
        ];
        let optional = optional.into_iter().filter(|(_, length)| *length > 0);
        let mut columns = [("bytes", self.bytes.len())].into_iter().chain(optional);
        match columns.find(|(_, length)| *length != rows) {
            Some((name, length)) => {
                Err(format!("`deltas` has {rows} values in `at` and {length} in `{name}`"))
            }
            None => Ok(()),
        }
    }
}

impl From<&DeltaLog> for Columns {
    fn from(log: &DeltaLog) -> Self {
        let mut columns = Self::with_capacity(log.len());
        for DeltaRow { at, bytes, tokens, kind, lag_us } in log.rows() {
            columns.at.push(at);
            columns.bytes.push(bytes);
            columns.tokens.push(tokens);
            columns.kinds.push(kind);
            columns.lag_us.push(lag_us);
        }
        columns
    }
}

impl TryFrom<Columns> for DeltaLog {
    type Error = String;

    /// Uses the default value in every row of an optional column that the file does not have.
    fn try_from(columns: Columns) -> Result<Self, String> {
        columns.check()?;
        let mut log = Self::with_capacity(columns.at.len());
        for (row, (&at, &bytes)) in columns.at.iter().zip(&columns.bytes).enumerate() {
            log.push_row(DeltaRow {
                at,
                bytes,
                tokens: columns.tokens.get(row).copied().flatten(),
                kind: columns.kinds.get(row).copied().unwrap_or_default(),
                lag_us: columns.lag_us.get(row).copied().unwrap_or_default(),
            });
        }
        log.compact();
        Ok(log)
    }
}

fn all_default<T: Default + PartialEq>(column: &[T]) -> bool {
    column.iter().all(|value| *value == T::default())
}

#[cfg(test)]
mod tests;
