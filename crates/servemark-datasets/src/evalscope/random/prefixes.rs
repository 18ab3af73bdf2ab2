//! Common prefixes of prompts.

use std::collections::HashSet;
use std::num::NonZero;

use servemark_core::DatasetError;
use servemark_rng::NumpyRandom;

use crate::alphabet::Alphabet;

/// Distinct prefixes of equal length.
pub(super) struct Prefixes(Vec<Vec<u32>>);

impl Prefixes {
    pub(super) fn draw(
        count: NonZero<u32>,
        tokens: u32,
        alphabet: &Alphabet,
        numpy: &mut NumpyRandom,
    ) -> Result<Self, DatasetError> {
        if !is_enough(alphabet.len(), tokens, count.get()) {
            return Err(DatasetError::Settings(format!(
                "{} tokens give fewer than {count} different prefixes of length {tokens}: raise \
                 `workload.dataset.prefix_tokens`, or lower `workload.dataset.prefixes`",
                alphabet.len()
            )));
        }
        let mut taken = HashSet::new();
        let prefixes = (0..count.get()).map(|_| {
            let mut places = places(alphabet.len(), tokens, numpy);
            while taken.contains(&places) {
                count_on(&mut places, alphabet.len());
            }
            let prefix = alphabet.pick(places.iter().copied());
            taken.insert(places);
            prefix
        });
        Ok(Self(prefixes.collect()))
    }

    /// Returns the number of tokens of each prefix.
    pub(super) fn tokens(&self) -> usize {
        self.0[0].len()
    }

    /// Returns the prefix of the prompt with this number.
    pub(super) fn of(&self, number: u64) -> &[u32] {
        &self.0[(number % self.0.len() as u64) as usize]
    }
}

/// Returns whether there are at least `count` distinct prefixes of `tokens` tokens.
fn is_enough(size: u32, tokens: u32, count: u32) -> bool {
    let mut different = 1;
    for _ in 0..tokens {
        if different >= count || size == 1 {
            break;
        }
        different = different.saturating_mul(size);
    }
    different >= count
}

fn places(size: u32, tokens: u32, numpy: &mut NumpyRandom) -> Vec<u32> {
    let drawn = numpy.randint_vec(0, size.into(), tokens as usize).unwrap_or_default();
    drawn.into_iter().map(|place| place.unsigned_abs() as u32).collect()
}

/// Advances to the next combination of indices; the last index changes fastest.
fn count_on(places: &mut [u32], size: u32) {
    for place in places.iter_mut().rev() {
        *place = (*place + 1) % size;
        if *place != 0 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_there_is_can_be_had() {
        let alphabet = Alphabet::without(3, &[]).unwrap();
        let all = NonZero::new(9).unwrap();
        let drawn = Prefixes::draw(all, 2, &alphabet, &mut NumpyRandom::seeded(1)).unwrap();
        assert_eq!(drawn.0.iter().collect::<HashSet<_>>().len(), 9);
        let one_more = NonZero::new(10).unwrap();
        let refused = Prefixes::draw(one_more, 2, &alphabet, &mut NumpyRandom::seeded(1));
        assert!(
            refused
                .err()
                .unwrap()
                .to_string()
                .contains("3 tokens give fewer than 10 different prefixes")
        );
    }
}
