//! When AISBench's producer releases each request, recorded in `fixtures/aisbench/arrivals.json`.

use std::time::Duration;

use serde::Deserialize;
use servemark_rng::RandomState;
use servemark_schedule::{ArrivalSpec, Burstiness, Ramp, RampShape, Rate};

const ARRIVALS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/aisbench/arrivals.json"));

#[derive(Deserialize)]
struct Case {
    rate: f64,
    burstiness: f64,
    ramp: Option<(String, f64, f64)>,
    due: Vec<f64>,
}

impl Case {
    fn spec(&self) -> ArrivalSpec {
        // AISBench uses a shape of zero for even gaps.
        let burstiness = Burstiness::new(self.burstiness).unwrap_or(Burstiness::EVEN);
        let rate = |rate| Rate::new(rate).unwrap();
        match &self.ramp {
            None => ArrivalSpec::Gamma { requests_per_second: rate(self.rate), burstiness },
            Some((strategy, from, to)) => {
                let growth =
                    if strategy == "linear" { RampShape::Linear } else { RampShape::Exponential };
                let ramp = Ramp::new(growth, rate(*from), rate(*to)).unwrap();
                ArrivalSpec::Ramp { ramp, burstiness }
            }
        }
    }
}

#[test]
fn requests_are_due_when_the_peer_lets_them_go() {
    let cases: Vec<Case> = serde_json::from_str(ARRIVALS).unwrap();
    assert_eq!(cases.len(), 6);
    for case in cases {
        let begins = vec![None; case.due.len()];
        let schedule = case.spec().schedule(&begins, &mut RandomState::seeded(7)).unwrap();
        let due: Vec<Duration> = case.due.iter().copied().map(Duration::from_secs_f64).collect();
        assert!(schedule.iter().eq(due), "{} {} {:?}", case.rate, case.burstiness, case.ramp);
    }
}
