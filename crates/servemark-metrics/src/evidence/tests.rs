//! Tests judgements on queues whose latencies are known: requests arrive at random, each takes a
//! second at one of four places, and service is first come, first served.

use std::collections::VecDeque;
use std::time::Duration;

use servemark_core::{
    Delta, Finish, Header, Phase, Recorder, RunFacts, RunLog, Sample, Sink, Stamp, Usage,
};
use servemark_rng::Mt19937;

use super::*;

const PLACES: usize = 4;

/// Returns the latencies of requests at a load, as a share of what the places can serve.
fn queue(load: f64, requests: usize, random: &mut Mt19937) -> Vec<f64> {
    let mut free = VecDeque::from([0.0; PLACES]);
    let mut now = 0.0;
    let mut latency = || {
        now -= (1.0 - random.next_f64()).ln() / (load * PLACES as f64);
        let begins = free.pop_front().map_or(now, |free: f64| free.max(now));
        free.push_back(begins + 1.0);
        begins + 1.0 - now
    };
    (0..requests).map(|_| latency()).collect()
}

/// Judges runs by an objective after their first fifth, and returns whether latencies grew.
fn judged(
    runs: &[Vec<f64>],
    objective: Objective,
    alpha: f64,
) -> (Judgement, Option<BacklogTrend>) {
    let (mut column, mut series) = (Observations::default(), Series::default());
    for run in runs {
        let settled = &run[run.len() / 5..];
        for latency in settled {
            column.push([*latency]);
        }
        series.add(settled.iter().copied());
    }
    (Judgement::of(objective, &column, alpha), series.growth(Latency::ResponseE2el))
}

fn p90(limit_s: f64) -> Objective {
    Objective::at_most(Latency::E2el, Statistic::Percentile(90.0), limit_s * 1e3)
}

/// Counts the verdicts on sixty probes of 600 requests, each of up to four runs: the numbers that
/// hold, are undecided and fail.
fn verdicts(load: f64, limit_s: f64) -> [usize; 3] {
    let mut random = Mt19937::from_u32_seed(1);
    let mut counts = [0; 3];
    for _ in 0..60 {
        counts[verdict(load, limit_s, &mut random) as usize] += 1;
    }
    counts
}

fn verdict(load: f64, limit_s: f64, random: &mut Mt19937) -> SloVerdict {
    let mut runs = Vec::new();
    let mut last = SloVerdict::Undecided;
    while last == SloVerdict::Undecided && runs.len() < 4 {
        runs.push(queue(load, 600, random));
        let (judgement, growth) = judged(&runs, p90(limit_s), 0.05 / 4.0);
        let is_growing = growth.is_some() && judgement.verdict == SloVerdict::Holds;
        last = if is_growing { SloVerdict::Undecided } else { judgement.verdict };
    }
    last
}

/// In runs of 400,000 requests the 90th percentile is 1.64 s at a load of 0.7, 2.11 s at 0.8 and
/// 3.4 s at 0.9.
#[test]
fn what_is_beyond_doubt_holds_or_fails() {
    let [holds, ..] = verdicts(0.7, 2.8);
    let [.., fails] = verdicts(0.9, 1.5);
    assert!(holds >= 55 && fails >= 55, "{holds} hold, {fails} fail");
}

#[test]
fn what_misses_its_limit_by_little_hardly_ever_holds() {
    let holds = verdicts(0.8, 2.0)[0];
    assert!(holds <= 6, "{holds} of 60 hold");
    let fails = verdicts(0.8, 2.2)[2];
    assert!(fails <= 6, "{fails} of 60 fail");
}

#[test]
fn a_backlog_that_grows_never_holds_however_far_the_limit_is() {
    assert_eq!(verdicts(1.2, 100.0)[0], 0);
    let mut random = Mt19937::from_u32_seed(3);
    let (_, growth) = judged(&[queue(1.2, 600, &mut random)], p90(100.0), 0.05);
    let message = growth.unwrap().to_string();
    assert!(message.starts_with("answers came later and later, by "), "{message}");
    assert_eq!(judged(&[queue(0.5, 600, &mut random)], p90(100.0), 0.05).1, None);
}

#[test]
fn runs_that_are_pooled_say_more() {
    let mut random = Mt19937::from_u32_seed(5);
    let runs: Vec<_> = (0..4).map(|_| queue(0.6, 600, &mut random)).collect();
    let width = |count| {
        let (Judgement { low, high, .. }, _) = judged(&runs[..count], p90(5.0), 0.05);
        high - low
    };
    assert!(width(4) < width(1), "{} is not below {}", width(4), width(1));
}

/// Returns the log of a server with constant times under one stream: 50 ms to a first token and 25 ms for
/// each of up to four others, whose number is drawn.
fn answers_of_drawn_lengths(random: &mut Mt19937) -> RunLog {
    let at = |ms: u64| Stamp::from_nanos(1_000_000 * ms);
    let mut now = 0;
    let mut record = |index| {
        let tokens = 1 + u64::from(random.next_u32() % 5);
        let prompt = Sample::new("", 1, tokens as u32);
        let mut recorder = Recorder::new(index, Phase::Measure, &prompt, at(now));
        recorder.record_sent(at(now));
        // The machine is some microseconds late.
        let late = Duration::from_micros(u64::from(random.next_u32() % 20));
        let mut arrives = now + 25;
        for _ in 0..tokens {
            arrives += 25;
            recorder.body(at(arrives) + late, 1);
            recorder.at(at(arrives) + late).delta(Delta::content("x"));
        }
        now = arrives;
        recorder.at(at(now) + late).usage(Usage::new(Some(1), Some(tokens as u32)));
        recorder.finish(Ok(Finish::default()), at(now) + late)
    };
    let records = (0..40).map(&mut record).collect();
    let mut facts = RunFacts::default();
    facts.max_concurrency = Some(1);
    RunLog::new(Header::new(0, facts, serde_json::Value::Null), records, None)
}

/// Mean lengths differ from run to run, and an answer of one token does not show the time of others.
/// Neither is a drift of the server.
#[test]
fn drawn_lengths_of_pooled_runs_do_not_look_like_a_drift() {
    let objective = "e2el:mean<250ms".parse().unwrap();
    let mut random = Mt19937::from_u32_seed(9);
    for pooled in 0..20 {
        let mut evidence = Evidence::of(&[objective]);
        for _ in 0..4 {
            let log = answers_of_drawn_lengths(&mut random);
            evidence.add(&log, &MetricPolicy::native(), JudgedPart::Whole);
        }
        let judgement = evidence.judge(0.95)[0];
        assert_eq!(judgement.verdict, SloVerdict::Holds, "{pooled}: {judgement}");
        assert!((150.0..=160.0).contains(&judgement.effective), "{pooled}: {judgement:?}");
    }
}

fn column(values: &[f64]) -> Observations {
    values.iter().copied().collect()
}

#[track_caller]
fn stands(objective: &str, values: &[f64], expected: SloVerdict) {
    let judgement = Judgement::of(objective.parse().unwrap(), &column(values), 0.05);
    assert_eq!(judgement.verdict, expected, "{judgement}");
}

#[test]
fn a_percentile_takes_as_many_requests_as_can_show_it() {
    stands("e2el:p99<2s", &[1.0; 367], SloVerdict::Undecided);
    stands("e2el:p99<2s", &[1.0; 368], SloVerdict::Holds);
    stands("e2el:p99<1s", &[1.0; 368], SloVerdict::Fails);
    // All values equal the limit, so a busy phase that the run missed would decide.
    stands("e2el:p99<=1s", &[1.0; 368], SloVerdict::Undecided);
    stands("e2el:p99<=1s", &vec![1.0; 5000], SloVerdict::Holds);
    stands("e2el:p99<2s", &[], SloVerdict::Undecided);
}

#[test]
fn small_differences_that_depend_on_each_other_do_not_matter_far_from_the_limit() {
    // A slow wave of 0.1 ms around 50 ms, with a rare value of 80 ms.
    let wave = |index: usize| 0.05 + 1e-4 * (index as f64 / 25.0).sin();
    let values: Vec<f64> =
        (0..400).map(|index| if index == 77 { 0.08 } else { wave(index) }).collect();
    stands("e2el:median<125ms", &values, SloVerdict::Holds);
    stands("e2el:median<50.2ms", &values, SloVerdict::Undecided);
    let wide: Vec<f64> =
        (0..400).map(|index| 0.05 + 0.02 * (f64::from(index) / 25.0).sin()).collect();
    stands("e2el:median<125ms", &wide, SloVerdict::Undecided);
}

#[test]
fn a_request_that_failed_is_later_than_any_limit() {
    let values: Vec<f64> =
        (0..300).map(|index| if index % 30 == 7 { f64::INFINITY } else { 1.0 }).collect();
    stands("e2el:p99<2s", &values, SloVerdict::Fails);
    stands("e2el:max<2s", &values, SloVerdict::Fails);
    stands("e2el:median<2s", &values, SloVerdict::Holds);
    let judgement = Judgement::of("e2el:p99<2s".parse().unwrap(), &column(&values), 0.05);
    let message = judgement.to_string();
    assert!(message.ends_with("; 3.3 % of the requests failed, so no p99 exists"), "{message}");
}

#[test]
fn shares_and_means_have_bounds_too() {
    stands("success>=99%", &[1.0; 298], SloVerdict::Undecided);
    stands("success>=99%", &[1.0; 299], SloVerdict::Holds);
    stands("success>=100%", &[1.0; 3], SloVerdict::Holds);
    let mut random = Mt19937::from_u32_seed(2);
    let scattered: Vec<f64> = (0..200).map(|_| 0.95 + random.next_f64()).collect();
    stands("tpot:mean<1500ms", &scattered, SloVerdict::Holds);
    stands("tpot:mean<1430ms", &scattered, SloVerdict::Undecided);
    stands("tpot:mean<1350ms", &scattered, SloVerdict::Fails);
}

#[test]
fn a_judgement_says_what_it_is_made_of() {
    let judgement = Judgement::of(p90(2.0), &column(&[1.0; 400]), 0.05);
    let message = "e2el:p90<=2000ms holds: 1000.00 ms, between 1000.00 ms and 1000.00 ms";
    assert_eq!(judgement.to_string(), message);
    let none = Judgement::of("success>=99%".parse().unwrap(), &column(&[]), 0.05);
    let message =
        "success>=99% is undecided: no value, between 0.00 % and any; no request showed a value";
    assert_eq!(none.to_string(), message);
}
