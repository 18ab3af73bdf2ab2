use std::fs;

use proptest::prelude::*;
use serde::Deserialize;
use servemark_rng::Mt19937;

use super::*;

/// One array and the statistics that `NumPy` 2.4.6 computes for it.
#[derive(Deserialize)]
struct NumPy {
    #[serde(flatten)]
    array: Array,
    mean: f64,
    std: f64,
    median: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    sum: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Array {
    Stored { values: Vec<f64> },
    Recipe { seed: u32, n: usize, recipe: String, a: f64, b: f64 },
}

impl Array {
    /// Returns the values. The head of `fixtures/record/percentiles.py` describes the recipes.
    fn values(&self) -> Vec<f64> {
        let (seed, n, recipe, a, b) = match self {
            Self::Stored { values } => return values.clone(),
            Self::Recipe { seed, n, recipe, a, b } => (seed, n, recipe, a, b),
        };
        let mut random = Mt19937::from_u32_seed(*seed);
        let mut uniform: Vec<f64> = (0..*n).map(|_| random.next_f64()).collect();
        if recipe == "reversed" {
            uniform.reverse();
        }
        let cooked = |(index, u): (usize, f64)| match recipe.as_str() {
            "scale" => u * a,
            "shift" => u * a + b,
            "product" => u * u * u * a,
            "steps" => (u * a).floor() / b,
            "reversed" => u * a + index as f64,
            other => panic!("no recipe for {other}"),
        };
        uniform.into_iter().enumerate().map(cooked).collect()
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[test]
fn every_statistic_is_numpys_bit_for_bit() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/percentiles.json");
    let arrays: Vec<NumPy> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(arrays.len(), 60);
    for numpy in arrays {
        let values = numpy.array.values();
        let sorted = sorted(&values);
        let check = |what: &str, ours: Option<f64>, theirs: f64| {
            let length = values.len();
            assert_eq!(ours.map(f64::to_bits), Some(theirs.to_bits()), "{what} of {length}");
        };
        check("sum", Some(sum(&values)), numpy.sum);
        check("mean", mean(&values), numpy.mean);
        check("std", std(&values), numpy.std);
        check("median", median(&sorted), numpy.median);
        check("p90", percentile(&sorted, 90.0), numpy.p90);
        check("p95", percentile(&sorted, 95.0), numpy.p95);
        check("p99", percentile(&sorted, 99.0), numpy.p99);
    }
}

#[test]
fn nothing_is_said_of_an_empty_sample() {
    assert_eq!(sum(&[]).to_bits(), 0.0_f64.to_bits());
    let results =
        [mean(&[]), std(&[]), median(&[]), percentile(&[], 50.0), nearest_rank(&[], 50.0)];
    assert_eq!(results, [None; 5]);
}

#[test]
fn the_nearest_rank_is_a_value_of_the_sample() {
    let sorted = [1.0, 2.0, 3.0, 4.0];
    let ranks = [0.0, 25.0, 26.0, 75.0, 100.0].map(|percent| nearest_rank(&sorted, percent));
    assert_eq!(ranks, [1.0, 1.0, 2.0, 3.0, 4.0].map(Some));
}

proptest! {
    /// Compares with the definition: the value at rank q(n-1), weighted between its neighbours.
    #[test]
    fn percentiles_equal_the_naive_ones(
        values in prop::collection::vec(0.0f64..1e6, 1..200),
        percent in 0.0f64..=100.0,
    ) {
        let sorted = sorted(&values);
        let rank = percent / 100.0 * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[whole(rank)], sorted[whole(rank.ceil())]);
        let naive = low * (1.0 - rank.fract()) + high * rank.fract();
        let ours = percentile(&sorted, percent).unwrap();
        prop_assert!((ours - naive).abs() <= naive.abs() * 1e-12, "{} is not {}", ours, naive);
        prop_assert!(ours >= sorted[0] && ours <= sorted[sorted.len() - 1]);
    }

    #[test]
    fn a_sum_in_pairs_is_a_sum(values in prop::collection::vec(0u32..1_000_000, 0..2000)) {
        let floats: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
        let exact: u64 = values.iter().map(|&value| u64::from(value)).sum();
        prop_assert_eq!(sum(&floats).to_bits(), (exact as f64).to_bits());
    }
}
