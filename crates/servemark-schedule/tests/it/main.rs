//! Schedules against SGLang's recorded gaps, and their general properties.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sglang;

use proptest::prelude::*;
use servemark_rng::RandomState;
use servemark_schedule::ArrivalSpec;

proptest! {
    #[test]
    fn a_schedule_is_monotone_and_starts_at_zero(
        seed: u64,
        rate in 1e-3..1e6,
        count in 0_usize..300,
    ) {
        let schedule = ArrivalSpec::at_rate(rate).unwrap().schedule(count, &mut RandomState::seeded(seed));
        prop_assert_eq!(schedule.len(), count);
        prop_assert!(schedule.iter().is_sorted());
        prop_assert!(schedule.iter().take(1).all(|due| due.is_zero()));
    }

    #[test]
    fn a_schedule_hits_its_rate(seed: u64, rate in 0.1..1e4) {
        const GAPS: u32 = 4000;
        let spec = ArrivalSpec::at_rate(rate).unwrap();
        let schedule = spec.schedule(GAPS as usize + 1, &mut RandomState::seeded(seed));
        let achieved = f64::from(GAPS) / schedule.span().as_secs_f64();
        // The sum of n exponential gaps has a relative deviation of 1/sqrt(n); six of them.
        let bound = 6.0 / f64::from(GAPS).sqrt();
        prop_assert!((achieved / rate - 1.0).abs() < bound, "asked {rate}, got {achieved}");
    }
}
