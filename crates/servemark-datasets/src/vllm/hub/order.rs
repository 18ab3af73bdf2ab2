//! Order of a published table's rows, as in the hub's own library.
//!
//! The rules are those of `datasets` 5.2.0. Only row numbers are needed, because a shuffle depends
//! only on the number of rows in each file.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use servemark_rng::Pcg64;

/// How a published table is read, which determines how it is shuffled. Exhaustive: as a stream or
/// not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HubReading {
    /// As a stream of files, shuffled within a buffer of about a thousand rows.
    #[default]
    Stream,
    /// As a whole table (`--no-stream`).
    Whole,
}

impl HubReading {
    /// Returns the shuffled row numbers, given the number of rows in each file.
    pub(super) fn shuffled(self, files: &[usize], seed: u32) -> Vec<usize> {
        let random = Pcg64::seeded(seed.into());
        match self {
            Self::Stream => streamed(files, random),
            Self::Whole => random.clone().permutation(files.iter().sum()),
        }
    }
}

/// Returns the order of a streamed shuffle. Up to ten readers share the files, which are shuffled,
/// and deliver batches in turn. Once a thousand rows are buffered, they are shuffled, and all but
/// 500 are emitted; these stay in the buffer.
fn streamed(files: &[usize], random: Pcg64) -> Vec<usize> {
    let mut rows = Vec::with_capacity(files.iter().sum());
    let mut buffer: Vec<usize> = Vec::new();
    let mut shuffling = random.clone();
    for batch in batches(&ranges(files, random)) {
        buffer.extend(batch);
        if buffer.len() >= BUFFER {
            let mut shuffled = permuted(&buffer, &mut shuffling);
            buffer = shuffled.split_off(shuffled.len() - BUFFER / 2);
            rows.extend(shuffled);
        }
    }
    rows.extend(permuted(&buffer, &mut shuffling));
    rows
}

/// Returns the row numbers of each file, with the files shuffled.
fn ranges(files: &[usize], mut random: Pcg64) -> Vec<Range<usize>> {
    let ends = files.iter().scan(0, |end, rows| {
        *end += rows;
        Some(*end)
    });
    let mut ranges: Vec<_> = ends.zip(files).map(|(end, rows)| end - rows..end).collect();
    random.shuffle(&mut ranges);
    ranges
}

/// Returns the readers' batches in round-robin order, until all rows are delivered.
fn batches(files: &[Range<usize>]) -> Vec<Vec<usize>> {
    let readers = files.len().min(READERS);
    let shares = (0..readers).map(|reader| {
        let share = share(files.len(), readers, reader);
        files[share].iter().cloned().flatten().collect::<VecDeque<usize>>()
    });
    let mut waiting: VecDeque<VecDeque<usize>> = shares.filter(|rows| !rows.is_empty()).collect();
    let mut batches = Vec::new();
    while let Some(mut rows) = waiting.pop_front() {
        let most = rows.len().min(BUFFER / READERS);
        batches.push(rows.drain(..most).collect());
        if !rows.is_empty() {
            waiting.push_back(rows);
        }
    }
    batches
}

/// Returns the files of a reader. Files are distributed evenly; the first readers have one more.
fn share(files: usize, readers: usize, reader: usize) -> Range<usize> {
    let (each, more) = (files / readers, files % readers);
    let start = each * reader + reader.min(more);
    start..start + each + usize::from(reader < more)
}

fn permuted(rows: &[usize], random: &mut Pcg64) -> Vec<usize> {
    random.permutation(rows.len()).into_iter().map(|place| rows[place]).collect()
}

/// Number of rows that are shuffled at a time.
const BUFFER: usize = 1000;

/// Number of files that are read at a time.
const READERS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_once() {
        for files in [vec![], vec![7], vec![2_345], vec![0, 3, 1_200, 99, 100], vec![40; 23]] {
            for reading in [HubReading::Stream, HubReading::Whole] {
                let mut rows = reading.shuffled(&files, 5);
                rows.sort_unstable();
                assert!(rows.into_iter().eq(0..files.iter().sum()), "{files:?}");
            }
        }
    }

    #[test]
    fn readers_share_files_without_gaps() {
        let shares: Vec<_> = (0..10).map(|reader| share(23, 10, reader)).collect();
        assert_eq!(
            (&shares[0], &shares[2], &shares[3], &shares[9]),
            (&(0..3), &(6..9), &(9..11), &(21..23))
        );
    }
}
