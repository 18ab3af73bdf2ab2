//! The two global generators of a Python process, seeded together.
//!
//! The module only pairs them: the workload decides which of the two it draws from.

use crate::numpy::NumpyRandom;
use crate::python::PythonRandom;

/// The state after `random.seed(seed)` and `numpy.random.seed(seed)`.
///
/// SGLang seeds both with one seed and then draws the workload and the arrivals from them, so one
/// value is passed along the whole of that sequence.
///
/// ```
/// let mut state = servemark_rng::RandomState::seeded(42);
/// assert_eq!(state.python.getrandbits(32), 2_746_317_213);
/// assert_eq!(state.numpy.randint(1, 1025), Some(103));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomState {
    /// The state of Python's `random` module.
    pub python: PythonRandom,
    /// The state of NumPy's `numpy.random` module.
    pub numpy: NumpyRandom,
}

impl RandomState {
    /// Seeds both generators with `seed`.
    ///
    /// NumPy refuses a seed of more than 32 bits; for such a seed NumPy's generator is seeded as
    /// `numpy.random.seed([low_word, high_word])` would.
    pub fn seeded(seed: u64) -> Self {
        let numpy = match u32::try_from(seed) {
            Ok(seed) => NumpyRandom::seeded(seed),
            Err(_) => NumpyRandom::from_key(&[seed as u32, (seed >> 32) as u32]),
        };
        Self { python: PythonRandom::seeded(seed), numpy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_seeds_both() {
        let state = RandomState::seeded(7);
        assert_eq!(state.python, PythonRandom::seeded(7));
        assert_eq!(state.numpy, NumpyRandom::seeded(7));
    }

    #[test]
    fn a_seed_past_32_bits_keys_numpy_with_its_words() {
        let state = RandomState::seeded((256 << 32) + 7);
        assert_eq!(state.numpy, NumpyRandom::from_key(&[7, 256]));
    }
}
