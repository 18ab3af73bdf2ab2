//! Schedules compared with recorded ones of SGLang and vLLM, and their general properties.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aisbench;
mod sglang;
mod vllm;

use proptest::prelude::*;
use servemark_rng::RandomState;
use servemark_schedule::{ArrivalSpec, Schedule};

fn at_rate(rate: f64, count: usize, seed: u64) -> Schedule {
    let arrivals = ArrivalSpec::at_rate(rate).unwrap();
    arrivals.schedule(&vec![None; count], &mut RandomState::seeded(seed)).unwrap()
}

proptest! {
    #[test]
    fn a_schedule_is_monotone_and_starts_at_zero(
        seed: u64,
        rate in 1e-3..1e6,
        count in 0_usize..300,
    ) {
        let schedule = at_rate(rate, count, seed);
        prop_assert_eq!(schedule.len(), count);
        prop_assert!(schedule.iter().is_sorted());
        prop_assert!(schedule.iter().take(1).all(|due| due.is_zero()));
    }

    #[test]
    fn a_schedule_hits_its_rate(seed: u64, rate in 0.1..1e4) {
        const GAPS: u32 = 4000;
        let schedule = at_rate(rate, GAPS as usize + 1, seed);
        let achieved = f64::from(GAPS) / schedule.span().as_secs_f64();
        // The sum of n exponential gaps has a relative deviation of 1/sqrt(n); the bound is six of
        // them.
        let bound = 6.0 / f64::from(GAPS).sqrt();
        prop_assert!((achieved / rate - 1.0).abs() < bound, "asked {rate}, got {achieved}");
    }
}
