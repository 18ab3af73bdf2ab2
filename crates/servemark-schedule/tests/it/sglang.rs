//! The gaps that SGLang 0.5.23 slept, recorded in `fixtures/sglang/arrivals.json`.

use serde::Deserialize;
use servemark_rng::RandomState;
use servemark_schedule::{AdapterChoice, AdapterSpec, ArrivalSpec, Schedule};

const ARRIVALS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/arrivals.json"));

/// The base vocabulary of the tokenizer with which the cases were recorded.
const GPT2_VOCABULARY: i64 = 50_257;

#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    requests: usize,
    gaps: Vec<f64>,
    lora: Option<Vec<String>>,
}

impl Case {
    fn flag(&self, name: &str) -> Option<&str> {
        let at = self.argv.iter().position(|word| word == name)?;
        Some(&self.argv[at + 1])
    }

    fn number(&self, name: &str, default: f64) -> f64 {
        self.flag(name).map_or(default, |word| word.parse().unwrap())
    }

    /// Returns the state as the data set's draws leave it. ShareGPT draws from Python's generator
    /// only.
    fn state_after_data_set(&self) -> RandomState {
        let seed = self.flag("--seed").map_or(42, |word| word.parse().unwrap());
        let mut random = RandomState::seeded(seed);
        let data_set = self.flag("--dataset-name").unwrap();
        if data_set != "sharegpt" {
            let ratio = self.number("--random-range-ratio", 0.0);
            for flag in ["--random-input-len", "--random-output-len"] {
                let longest = self.number(flag, 1024.0);
                let shortest = (longest * ratio).trunc().max(1.0) as i64;
                random.numpy.randint_vec(shortest, longest as i64 + 1, self.requests).unwrap();
            }
        }
        if data_set == "random-ids" {
            random.numpy.randint_vec(0, GPT2_VOCABULARY, self.requests).unwrap();
        }
        random
    }

    /// Returns the adapters of the command line, unless the data set is ShareGPT, whose shuffle is
    /// not drawn here.
    fn adapters(&self) -> Option<AdapterSpec> {
        self.flag("--dataset-name").filter(|name| *name != "sharegpt")?;
        let at = self.argv.iter().position(|word| word == "--lora-name")?;
        let names = self.argv[at + 1..].iter().take_while(|word| !word.starts_with("--"));
        let choice = match self.flag("--lora-request-distribution") {
            Some("distinct") => AdapterChoice::Distinct,
            Some("skewed") => {
                AdapterChoice::Skewed { alpha: self.number("--lora-zipf-alpha", 1.5) }
            }
            _ => AdapterChoice::Uniform,
        };
        Some(AdapterSpec::new(names.cloned().collect(), choice).unwrap())
    }

    #[track_caller]
    fn check(&self) {
        let spec = ArrivalSpec::at_rate(self.number("--request-rate", f64::INFINITY)).unwrap();
        let mut random = self.state_after_data_set();
        let adapters = self.adapters();
        let mut chooser = adapters.as_ref().map(AdapterSpec::chooser);
        let mut chosen = Vec::new();
        // One request more than the peer had also shows its last gap.
        let begins = vec![None; self.requests + 1];
        let schedule = spec.schedule_with(&begins, &mut random, |random| {
            chosen.extend(chooser.as_mut().map(|chooser| chooser.choose(random)));
        });
        self.check_gaps(&spec, &schedule.unwrap());
        if adapters.is_some() {
            let lora = self.lora.as_ref().unwrap();
            assert_eq!(chosen[..self.requests], lora[..], "{:?}", self.argv);
        }
    }

    #[track_caller]
    fn check_gaps(&self, spec: &ArrivalSpec, schedule: &Schedule) {
        assert_eq!(self.gaps.is_empty(), spec.is_burst(), "{:?}", self.argv);
        let mut expected = 0.0;
        for (index, gap) in self.gaps.iter().enumerate() {
            expected += gap;
            let due = schedule.due(index + 1).unwrap().as_secs_f64();
            assert!((due - expected).abs() <= 1e-9, "{:?}: {due} for {expected}", self.argv);
        }
    }
}

#[test]
fn gaps_and_adapters_are_those_of_sglang() {
    let cases: Vec<Case> = serde_json::from_str(ARRIVALS).unwrap();
    for case in &cases {
        case.check();
    }
    let with_adapters = cases.iter().filter(|case| case.adapters().is_some()).count();
    assert_eq!((cases.len(), with_adapters), (15, 5), "a case was added or lost");
}

#[test]
fn gaps_follow_an_end_to_end_draw() {
    let mut random = RandomState::seeded(42);
    assert_eq!(random.numpy.randint_vec(1, 17, 3), Some(vec![7, 4, 13]));
    assert_eq!(random.numpy.randint_vec(1, 9, 3), Some(vec![7, 3, 8]));
    assert_eq!(random.numpy.randint_vec(0, 1000, 3), Some(vec![700, 20, 614]));
    let schedule = ArrivalSpec::at_rate(10.0).unwrap().schedule(&[None; 4], &mut random).unwrap();
    let nanos: Vec<u128> = schedule.iter().map(|due| due.as_nanos()).collect();
    assert_eq!(nanos, [0, 59_028_875, 69_562_139, 131_041_756]);
}
