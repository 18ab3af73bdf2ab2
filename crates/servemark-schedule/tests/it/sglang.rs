//! The gaps that SGLang 0.5.23 slept, recorded in `fixtures/sglang/arrivals.json`.

use serde::Deserialize;
use servemark_rng::RandomState;
use servemark_schedule::ArrivalSpec;

const ARRIVALS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/arrivals.json"));

/// The base vocabulary of the tokenizer with which the cases were recorded.
const GPT2_VOCABULARY: i64 = 50_257;

#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    requests: usize,
    gaps: Vec<f64>,
}

impl Case {
    fn flag(&self, name: &str) -> Option<&str> {
        let at = self.argv.iter().position(|word| word == name)?;
        Some(&self.argv[at + 1])
    }

    fn number(&self, name: &str, default: f64) -> f64 {
        self.flag(name).map_or(default, |word| word.parse().unwrap())
    }

    /// The state as the data set's draws leave it. ShareGPT draws from Python's generator only.
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

    /// Skewed adapter choices are drawn from the same generator, one between each two gaps.
    fn mixes_in_adapter_draws(&self) -> bool {
        self.flag("--lora-request-distribution") == Some("skewed")
    }

    #[track_caller]
    fn check(&self) {
        let spec = ArrivalSpec::at_rate(self.number("--request-rate", f64::INFINITY)).unwrap();
        let mut random = self.state_after_data_set();
        if self.gaps.is_empty() {
            assert_eq!(spec, ArrivalSpec::Burst, "{:?}", self.argv);
            return;
        }
        // One request more than the peer had shows its last gap, too.
        let schedule = spec.schedule(&vec![None; self.requests + 1], &mut random).unwrap();
        let mut expected = 0.0;
        for (index, gap) in self.gaps.iter().enumerate() {
            expected += gap;
            let due = schedule.due(index + 1).unwrap().as_secs_f64();
            assert!((due - expected).abs() <= 1e-9, "{:?}: {due} for {expected}", self.argv);
        }
    }
}

#[test]
fn gaps_are_those_of_sglang() {
    let cases: Vec<Case> = serde_json::from_str(ARRIVALS).unwrap();
    let (mixed, plain): (Vec<_>, Vec<_>) =
        cases.iter().partition(|case| case.mixes_in_adapter_draws());
    for case in &plain {
        case.check();
    }
    assert_eq!((plain.len(), mixed.len()), (13, 2), "a case was added or lost");
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
