//! Packed token counts of the pieces of an answer.

use serde::{Deserialize, Serialize, Serializer};

use crate::varint;

/// The number of tokens of each piece of an answer, in order.
///
/// Most pieces have one token, and a stretch of equal counts takes a few bytes, so an answer of
/// many pieces takes little memory. In a file it is a list of numbers.
///
/// ```
/// use servemark_core::PieceCounts;
///
/// let counts = PieceCounts::from(vec![1, 1, 1, 4]);
/// assert_eq!((counts.len(), counts.iter().sum::<u32>()), (4, 7));
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(from = "Vec<u32>")]
pub struct PieceCounts {
    packed: Box<[u8]>,
    pieces: usize,
}

impl PieceCounts {
    /// Returns the number of pieces.
    pub fn len(&self) -> usize {
        self.pieces
    }

    /// Returns whether there are no counts.
    pub fn is_empty(&self) -> bool {
        self.pieces == 0
    }

    /// Returns the counts in order.
    pub fn iter(&self) -> PieceCountsIter<'_> {
        PieceCountsIter { packed: &self.packed, count: 0, left: 0 }
    }
}

impl From<Vec<u32>> for PieceCounts {
    fn from(counts: Vec<u32>) -> Self {
        let mut packed = Vec::new();
        for equal in counts.chunk_by(|left, right| left == right) {
            varint::push(&mut packed, equal[0].into());
            varint::push(&mut packed, equal.len() as u64);
        }
        Self { packed: packed.into(), pieces: counts.len() }
    }
}

impl Serialize for PieceCounts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self)
    }
}

impl<'a> IntoIterator for &'a PieceCounts {
    type Item = u32;
    type IntoIter = PieceCountsIter<'a>;

    fn into_iter(self) -> PieceCountsIter<'a> {
        self.iter()
    }
}

/// Iterator over the counts of [`PieceCounts`].
#[derive(Clone, Debug, Default)]
pub struct PieceCountsIter<'a> {
    packed: &'a [u8],
    count: u32,
    left: u64,
}

impl Iterator for PieceCountsIter<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.left == 0 {
            self.count = varint::take(&mut self.packed)? as u32;
            self.left = varint::take(&mut self.packed)?;
        }
        self.left -= 1;
        Some(self.count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_count_comes_back(counts in prop::collection::vec(0u32..3, 0..60)) {
            let packed = PieceCounts::from(counts.clone());
            prop_assert_eq!(packed.len(), counts.len());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), counts.clone());
            prop_assert_eq!(serde_json::to_string(&packed).unwrap(), serde_json::json!(counts).to_string());
        }
    }

    #[test]
    fn a_thousand_single_tokens_take_three_bytes() {
        let counts: PieceCounts = serde_json::from_value(vec![1; 1000].into()).unwrap();
        assert_eq!((counts.packed.len(), counts.iter().sum::<u32>()), (3, 1000));
    }
}
