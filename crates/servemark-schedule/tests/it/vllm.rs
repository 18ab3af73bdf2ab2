//! When vLLM 0.33.0 sends each request, and which adapter it asks for, recorded in
//! `fixtures/vllm/arrivals.json`.

use std::time::Duration;

use serde::Deserialize;
use servemark_rng::RandomState;
use servemark_schedule::{
    AdapterChoice, AdapterSpec, ArrivalSpec, Burstiness, Ramp, RampShape, Rate, Schedule,
    ScheduleError,
};

const ARRIVALS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vllm/arrivals.json"));

/// A recorded case, with either `due` or `error`.
#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    due: Option<Vec<f64>>,
    lora: Option<Vec<String>>,
    error: Option<String>,
}

impl Case {
    fn flag(&self, name: &str) -> Option<&str> {
        let at = self.argv.iter().position(|word| word == name)?;
        Some(&self.argv[at + 1])
    }

    fn number(&self, name: &str, default: f64) -> f64 {
        self.flag(name).map_or(default, |word| word.parse().unwrap())
    }

    /// Returns whether the data set draws nothing from the shared state: `random` has a generator
    /// of its own, and timed traces draw nothing. The draws of the other data sets are tested with
    /// the data sets.
    fn draws_apart(&self) -> bool {
        ["random", "timed_trace"].contains(&self.flag("--dataset-name").unwrap())
    }

    fn spec(&self) -> Result<ArrivalSpec, ScheduleError> {
        let burstiness = Burstiness::new(self.number("--burstiness", 1.0))?;
        if let Some(strategy) = self.flag("--ramp-up-strategy") {
            let growth =
                if strategy == "linear" { RampShape::Linear } else { RampShape::Exponential };
            let end = |flag| Rate::new(self.number(flag, f64::NAN));
            let ramp = Ramp::new(growth, end("--ramp-up-start-rps")?, end("--ramp-up-end-rps")?)?;
            return Ok(ArrivalSpec::Ramp { ramp, burstiness });
        }
        let is_self_timed = !self.argv.iter().any(|word| word == "--no-self-timed");
        if is_self_timed && self.flag("--dataset-name") == Some("timed_trace") {
            return Ok(ArrivalSpec::Timetable);
        }
        let rate = self.number("--request-rate", f64::INFINITY);
        if rate == f64::INFINITY {
            return Ok(ArrivalSpec::Burst);
        }
        Ok(ArrivalSpec::Gamma { requests_per_second: Rate::new(rate)?, burstiness })
    }

    fn adapters(&self) -> Option<AdapterSpec> {
        let at = self.argv.iter().position(|word| word == "--lora-modules")?;
        let names = self.argv[at + 1..].iter().take_while(|word| !word.starts_with("--"));
        let choice = match self.flag("--lora-assignment") {
            Some("round-robin") => AdapterChoice::Distinct,
            _ => AdapterChoice::Uniform,
        };
        Some(AdapterSpec::new(names.cloned().collect(), choice).unwrap())
    }

    /// Returns the seed of the state from which arrivals are drawn. Timed traces leave it at 0,
    /// whatever the command line says.
    fn seed(&self) -> u64 {
        match self.flag("--dataset-name") {
            Some("timed_trace") => 0,
            _ => self.flag("--seed").map_or(0, |seed| seed.parse().unwrap()),
        }
    }

    #[track_caller]
    fn check(&self, expected: &[f64]) {
        let mut random = RandomState::seeded(self.seed());
        let adapters = self.adapters();
        let mut chooser = adapters.as_ref().map(AdapterSpec::chooser);
        let mut chosen = Vec::new();
        let begins: Vec<_> =
            expected.iter().map(|due| Some(Duration::from_secs_f64(*due))).collect();
        let spec = self.spec().unwrap();
        let schedule = spec.schedule_with(&begins, &mut random, |random| {
            chosen.extend(chooser.as_mut().map(|chooser| chooser.choose(random)));
        });
        assert!(same(&schedule.unwrap(), expected), "{:?}", self.argv);
        if let Some(expected) = &self.lora {
            assert_eq!(&chosen, expected, "{:?}", self.argv);
        }
    }
}

/// Compares to the nanosecond, the resolution of a schedule.
fn same(schedule: &Schedule, expected: &[f64]) -> bool {
    schedule.iter().eq(expected.iter().map(|due| Duration::from_secs_f64(*due)))
}

#[test]
fn schedules_and_adapters_are_those_of_vllm() {
    let cases: Vec<Case> = serde_json::from_str(ARRIVALS).unwrap();
    let (mut checked, mut refused) = (0, 0);
    for case in &cases {
        match &case.due {
            Some(due) if case.draws_apart() => {
                case.check(due);
                checked += 1;
            }
            Some(_) => {}
            None => refused += usize::from(case.spec().is_err()),
        }
    }
    // A rate together with a ramp is refused by the command line, not here.
    let errors = cases.iter().filter(|case| case.error.is_some()).count();
    assert_eq!((checked, refused, errors), (17, 6, 7), "a case was added or lost");
}
