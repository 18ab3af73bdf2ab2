//! Plain token ids from which texts are made.

use servemark_core::{DatasetError, Tokenizer};

/// Token ids in ascending order.
pub(crate) struct Alphabet(Vec<u32>);

impl Alphabet {
    /// Returns the base vocabulary without the tokenizer's special ids (tokens with a role).
    pub(crate) fn of(tokenizer: &dyn Tokenizer) -> Result<Self, DatasetError> {
        Self::without(tokenizer.vocab_size(), tokenizer.special_ids())
    }

    /// Returns the base vocabulary without any special token. An added one may be an image
    /// placeholder.
    pub(crate) fn of_text(tokenizer: &dyn Tokenizer) -> Result<Self, DatasetError> {
        Self::without(tokenizer.vocab_size(), &tokenizer.added_special_ids()?)
    }

    /// Returns the ids below `size` without those in `special`, which must be sorted.
    pub(crate) fn without(size: u32, special: &[u32]) -> Result<Self, DatasetError> {
        let is_plain = |id: &u32| special.binary_search(id).is_err();
        let ids: Vec<u32> = (0..size).filter(is_plain).collect();
        if ids.is_empty() {
            return Err(DatasetError::Settings("the tokenizer has no plain tokens".to_owned()));
        }
        Ok(Self(ids))
    }

    /// Returns the number of ids.
    pub(crate) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the ids at the given indices.
    pub(crate) fn pick(&self, places: impl IntoIterator<Item = u32>) -> Vec<u32> {
        places.into_iter().map(|place| self.0[place as usize]).collect()
    }

    /// Returns `count` consecutive ids from index `start` on, wrapping around at the end.
    pub(crate) fn count_up(&self, start: u64, count: usize) -> Vec<u32> {
        let start = (start % self.0.len() as u64) as usize;
        self.0.iter().copied().cycle().skip(start).take(count).collect()
    }
}
