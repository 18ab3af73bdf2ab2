//! Counts events in a stream whose reads end anywhere.

use memchr::memmem;

/// Number of events that have begun so far.
#[derive(Debug, Default)]
pub(super) struct Marks {
    count: u32,
    /// Number of bytes of a mark at the end of the last read.
    begun: usize,
}

impl Marks {
    /// Counts the events in the next read. Returns the total number by its end.
    pub(super) fn count(&mut self, bytes: &[u8]) -> u32 {
        let missing = &MARK[self.begun..];
        let goes_on = self.begun > 0 && missing.starts_with(bytes);
        if goes_on && bytes.len() < missing.len() {
            self.begun += bytes.len();
            return self.count;
        }
        let straddling = self.begun > 0 && bytes.starts_with(missing);
        let whole = memmem::find_iter(bytes, MARK).count() as u32;
        self.count += whole + u32::from(straddling);
        self.begun = (1..MARK.len()).rev().find(|&n| bytes.ends_with(&MARK[..n])).unwrap_or(0);
        self.count
    }
}

/// Mark at the start of an event. Its first byte occurs only once in it, so a partial match never
/// hides another one.
const MARK: &[u8] = b"data:";

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"data: {\"a\":1}\n\ndata: {\"b\":\"dada\"}\n\ndata: [DONE]\n\n";

    #[test]
    fn cuts_change_nothing() {
        for size in 1..=STREAM.len() {
            let mut marks = Marks::default();
            let counts: Vec<u32> = STREAM.chunks(size).map(|read| marks.count(read)).collect();
            assert_eq!(counts.last(), Some(&3), "{size}");
            assert!(counts.is_sorted());
        }
    }
}
