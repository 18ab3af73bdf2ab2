//! The steady part of a run.

use serde_json::{Value, json};
use servemark_core::{
    Delta, Finish, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink, Stamp,
};
use servemark_metrics::{ConcurrencyRatio, MetricPolicy, RequestScore, SteadyState};

use crate::golden::Golden;

fn ratio(share: f64) -> ConcurrencyRatio {
    ConcurrencyRatio::new(share).unwrap()
}

#[test]
fn every_number_is_the_peers_bit_for_bit() {
    for golden in Golden::all() {
        let log = golden.log();
        let scores = golden.exact_scores(&log);
        for recorded in golden.steady_state().results {
            let share = recorded["ratio"].as_f64().unwrap();
            let ours = SteadyState::of(&scores, ratio(share));
            let Some(line) = recorded.get("jsonl") else {
                assert_eq!(ours, None, "{}", golden.name);
                continue;
            };
            let mut expected: Value = serde_json::from_str(line.as_str().unwrap()).unwrap();
            if expected["total_input"].is_null() {
                expected["total_input"] = json!(0);
                expected["input_throughput"] = json!(0.0);
            }
            assert_eq!(json!(ours), expected, "{} at {share}", golden.name);
        }
    }
}

/// Returns a request with its start and its pieces in milliseconds; the last piece ends it.
fn request(index: usize, start: u64, pieces: &[u64], prompt: u32, tokens: u32) -> RequestRecord {
    let at = |milliseconds: u64| Stamp::from_nanos(milliseconds * 1_000_000);
    let mut recorder =
        Recorder::new(index, Phase::Measure, &Sample::new("", prompt, tokens), at(start));
    recorder.record_sent(at(start));
    for piece in pieces {
        recorder.body(at(*piece), 1);
        recorder.at(at(*piece)).delta(Delta::content("x"));
    }
    recorder.finish(Ok(Finish::default()), Stamp::ZERO)
}

fn log() -> RunLog {
    let records = vec![
        request(0, 0, &[1000, 2000, 3000, 4000], 10, 4),
        request(1, 1000, &[2000, 3000, 4000, 5000], 20, 8),
        request(2, 2000, &[2500, 3000], 30, 2),
    ];
    RunLog::new(Header::new(0, RunFacts::default(), Value::Null), records, None)
}

fn steady(share: f64) -> SteadyState {
    let log = log();
    let scores = RequestScore::of_log(&log, &MetricPolicy::sglang());
    SteadyState::of(&scores, ratio(share)).unwrap()
}

#[test]
fn the_peak_alone_is_the_time_when_all_three_were_in_flight() {
    let steady = steady(1.0);
    assert_eq!((steady.window_start, steady.window_end), (2.0, 3.0));
    assert_eq!((steady.concurrency_threshold, steady.peak_concurrency), (3, 3));
    assert_eq!((steady.completed, steady.total_input), (1, Some(30)));
    assert_eq!((steady.total_output, steady.peak_output_throughput), (8.0, 8.0));
    assert_eq!(steady.total_output_retokenized, None);
}

#[test]
fn a_smaller_share_is_a_longer_time() {
    let steady = steady(0.6);
    assert_eq!((steady.window_start, steady.window_end), (1.0, 4.0));
    assert_eq!((steady.completed, steady.total_input), (2, Some(50)));
    let output = (steady.total_output, steady.output_throughput, steady.peak_output_throughput);
    assert_eq!(output, (12.0, 4.0, 5.0));
}

#[test]
fn of_two_equal_times_the_first_is_taken() {
    let log = log();
    let scores = RequestScore::of_log(&log, &MetricPolicy::sglang());
    let steady = SteadyState::of(&[scores[2].clone()], ratio(0.5)).unwrap();
    assert_eq!((steady.window_start, steady.window_end), (2.0, 3.0));
    let mut later = scores[2].clone();
    later.start_s += 10.0;
    let both = SteadyState::of(&[later, scores[2].clone()], ratio(0.5)).unwrap();
    assert_eq!(both, steady);
}

#[test]
fn a_share_lies_above_zero_and_at_most_at_one() {
    for share in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        let refusal = ConcurrencyRatio::new(share).unwrap_err();
        assert_eq!(refusal.to_string(), "must be in (0, 1]", "{share}");
    }
    assert!(serde_json::from_str::<ConcurrencyRatio>("2.0").is_err());
    assert_eq!(serde_json::to_string(&ratio(0.5)).unwrap(), "0.5");
}
