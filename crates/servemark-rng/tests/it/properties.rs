//! Properties of every seed and size.

use std::collections::HashSet;

use proptest::prelude::*;
use servemark_rng::{NumpyRandom, Pcg64, PythonRandom};

proptest! {
    #[test]
    fn integers_stay_in_their_range(seed: u32, low: i64, high: i64) {
        let (low, high) = (low.min(high), low.max(high));
        let python = PythonRandom::seeded(seed.into()).randint(low, high).unwrap();
        prop_assert!((low..=high).contains(&python));
        if low < high {
            let numpy = NumpyRandom::seeded(seed).randint(low, high).unwrap();
            let generator = Pcg64::seeded(seed.into()).integers(low, high).unwrap();
            prop_assert!((low..high).contains(&numpy) && (low..high).contains(&generator));
        }
    }

    #[test]
    fn a_sample_holds_distinct_members(seed: u64, (n, count) in population()) {
        let sample = PythonRandom::seeded(seed).sample_indices(n, count).unwrap();
        prop_assert_eq!(sample.len(), count);
        prop_assert!(sample.iter().all(|index| *index < n));
        prop_assert_eq!(sample.iter().collect::<HashSet<_>>().len(), count);
    }

    #[test]
    fn permutations_hold_every_index(seed: u32, n in 0_usize..200) {
        let numpy = NumpyRandom::seeded(seed).permutation(n);
        let generator = Pcg64::seeded(seed.into()).permutation(n);
        for mut indices in [numpy, generator] {
            indices.sort_unstable();
            prop_assert!(indices.into_iter().eq(0..n));
        }
    }

    #[test]
    fn a_weighted_choice_never_takes_weight_zero(seed: u32, weights in weights()) {
        let chosen = NumpyRandom::seeded(seed).choice_weighted(&weights);
        prop_assert_eq!(chosen.is_some(), weights.iter().any(|weight| *weight > 0.0));
        prop_assert!(chosen.is_none_or(|index| weights[index] > 0.0));
    }
}

/// The size of a population and the number of items to take.
fn population() -> impl Strategy<Value = (usize, usize)> {
    (0_usize..400).prop_flat_map(|n| (Just(n), 0..=n))
}

/// Small whole weights, often 0.
fn weights() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((0_u8..3).prop_map(f64::from), 1..20)
}
