//! Compares two runs.

use std::time::Duration;

use serde_json::Value;
use servemark_core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark_metrics::{
    Basis, ComparedRun, Comparison, Condition, Figure, MetricPolicy, Metrics, SeveralRuns,
    Significance, SloVerdict, Tolerance,
};
use servemark_rng::Pcg64;

/// Returns a run with one request at a time, each with a latency of `latency_ms` plus a random part
/// of up to 20 ms.
fn log(requests: usize, latency_ms: f64, seed: u64) -> RunLog {
    let mut random = Pcg64::seeded(seed);
    let mut now = Stamp::ZERO;
    let records = (0..requests).map(|index| {
        let latency = Duration::from_secs_f64((latency_ms + 20.0 * random.random()) / 1e3);
        let record = request(index, now, latency);
        now = record.ended;
        record
    });
    let records = records.collect();
    let mut footer = Footer::default();
    footer.ended = now;
    RunLog::new(Header::new(0, RunFacts::default(), Value::Null), records, Some(footer))
}

fn request(index: usize, start: Stamp, latency: Duration) -> RequestRecord {
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 5, 2), start);
    recorder.record_sent(start);
    recorder.body(start + latency, 1);
    recorder.at(start + latency / 2).delta(Delta::content("x"));
    recorder.at(start + latency).delta(Delta::content("y"));
    recorder.at(start + latency).usage(Usage::new(Some(5), Some(2)));
    recorder.finish(Ok(Finish::default()), start + latency)
}

fn figures() -> Vec<Figure> {
    let names = ["e2el:mean", "e2el:p90", "itl:median", "request_throughput", "completed"];
    names.map(|name| name.parse().unwrap()).into()
}

fn compared(before: &RunLog, after: &RunLog) -> Comparison {
    let policy = MetricPolicy::native();
    let [before, after] =
        [before, after].map(|log| [ComparedRun::of_log(log, &policy, &figures())]);
    Comparison::of_runs(&before, &after, &figures())
}

fn significance(comparison: &Comparison) -> Vec<Significance> {
    comparison.changes.iter().map(servemark_metrics::Change::significance).collect()
}

#[test]
fn two_draws_of_the_same_are_no_change() {
    let comparison = compared(&log(200, 100.0, 1), &log(200, 100.0, 2));
    assert_eq!(significance(&comparison), [Significance::Same; 5]);
}

#[test]
fn what_is_slower_by_more_than_chance_is_worse() {
    let comparison = compared(&log(200, 100.0, 1), &log(200, 110.0, 2));
    let worse = Significance::Worse;
    assert_eq!(significance(&comparison), [worse, worse, worse, worse, Significance::Same]);
    let back = compared(&log(200, 110.0, 2), &log(200, 100.0, 1));
    assert_eq!(significance(&back)[..4], [Significance::Better; 4]);
    let mean = comparison.changes[0];
    assert_eq!(mean.basis, Some(Basis::PairedRequests));
    let interval = mean.interval.unwrap();
    assert!(interval.low_percent < mean.percent() && mean.percent() < interval.high_percent);
    // The standard error of the difference is sqrt(2) * (20 / sqrt(12)) / sqrt(200) = 0.58 ms of
    // 110 ms, and 99 % lie within 2.6 standard errors.
    let width = interval.high_percent - interval.low_percent;
    assert!((width / (2.0 * 2.6 * 0.577 / 1.1) - 1.0).abs() < 0.2, "{width}");
}

#[test]
fn the_same_two_logs_give_the_same_answer() {
    let (before, after) = (log(50, 100.0, 1), log(50, 105.0, 2));
    assert_eq!(compared(&before, &after), compared(&before, &after));
}

#[test]
fn a_few_requests_decide_nothing() {
    let comparison = compared(&log(5, 100.0, 1), &log(5, 200.0, 2));
    let actual = significance(&comparison);
    assert!(
        actual[..3].iter().all(|significance| *significance == Significance::Unknown),
        "{actual:?}"
    );
}

#[test]
fn a_run_against_itself_breaks_nothing() {
    let log = log(100, 100.0, 1);
    let comparison = compared(&log, &log);
    let conditions = ["e2el:mean>0%", "request_throughput<0%", "e2el:p90>1000"];
    let conditions = conditions.map(|text| text.parse::<Condition>().unwrap());
    assert_eq!(comparison.broken(&conditions).count(), 0);
    assert!(comparison.changes.iter().all(|change| change.delta() == 0.0));
}

#[test]
fn what_chance_would_do_is_told_of_a_broken_condition() {
    let conditions = ["e2el:mean>0%".parse::<Condition>().unwrap()];
    let (one, two) = (log(200, 100.0, 1), log(200, 100.0, 2));
    let (slow, fast) = if compared(&one, &two).changes[0].delta() > 0.0 {
        (compared(&one, &two), compared(&one, &log(200, 120.0, 3)))
    } else {
        (compared(&two, &one), compared(&two, &log(200, 120.0, 3)))
    };
    assert!(slow.broken(&conditions).next().unwrap().is_noise());
    assert!(!fast.broken(&conditions).next().unwrap().is_noise());
}

#[test]
fn several_runs_have_a_spread() {
    let policy = MetricPolicy::native();
    let runs = [10, 20, 30].map(|requests| Metrics::score(&log(requests, 100.0, 1), &policy));
    let several = SeveralRuns::of(&figures(), &runs);
    let completed = several.figure("completed".parse().unwrap()).unwrap();
    assert_eq!(
        (completed.runs, completed.mean, completed.min, completed.max),
        (3, 20.0, 10.0, 30.0)
    );
    assert_eq!((completed.std, completed.cv), (Some(10.0), Some(0.5)));
    // Ten requests resolve the median and p90, and all runs have itl:median.
    assert_eq!(several.figures.len(), 5);
}

/// Returns the figures of runs with different speeds.
fn runs(latencies_ms: &[f64], seed: u64) -> Vec<ComparedRun> {
    let policy = MetricPolicy::native();
    let numbered = latencies_ms.iter().zip(seed..);
    let logs = numbered.map(|(latency_ms, seed)| log(100, *latency_ms, seed));
    logs.map(|log| ComparedRun::of_log(&log, &policy, &figures()).without_requests()).collect()
}

#[test]
fn several_runs_are_compared_by_their_own_spread() {
    let before = runs(&[100.0, 120.0, 90.0, 110.0], 10);
    let after = runs(&[110.0, 95.0, 122.0, 103.0], 20);
    let comparison = Comparison::of_runs(&before, &after, &figures());
    assert_eq!(comparison.runs, [4, 4]);
    let mean = comparison.change_of("e2el:mean".parse().unwrap()).unwrap();
    assert_eq!(
        (mean.basis, mean.significance(), mean.runs),
        (Some(Basis::Runs), Significance::Same, [4, 4])
    );
    // The runs differ by some 11 %; the requests within each account for 0.5 %.
    let (between, within) = (mean.between_runs_percent.unwrap(), mean.within_run_percent.unwrap());
    assert!((5.0..20.0).contains(&between) && (0.3..1.0).contains(&within), "{between} {within}");
    // These two runs alone differ by more than the requests within them explain.
    let two = Comparison::of_runs(&before[1..2], &before[2..3], &figures());
    assert_eq!(
        (two.changes[0].basis, two.changes[0].significance()),
        (None, Significance::Unknown)
    );
}

#[test]
fn a_change_beyond_the_spread_of_runs_is_found() {
    let before = runs(&[100.0, 101.0, 99.0, 100.5, 100.2], 10);
    let after = runs(&[110.0, 111.0, 109.5, 110.5, 110.0], 20);
    let comparison = Comparison::of_runs(&before, &after, &figures());
    assert_eq!(significance(&comparison)[..4], [Significance::Worse; 4]);
    let one = Comparison::of_runs(&before, &after[..1], &figures());
    assert_eq!((one.runs, one.changes[0].significance()), ([5, 1], Significance::Worse));
    let judged = |tolerance: &str| {
        let tolerance: Tolerance = tolerance.parse().unwrap();
        tolerance.judge(&comparison)[0].verdict
    };
    assert_eq!(judged("e2el:mean=5%"), SloVerdict::Fails);
    assert_eq!(judged("e2el:mean=9%"), SloVerdict::Undecided);
    assert_eq!(judged("e2el:mean=20%"), SloVerdict::Holds);
    assert_eq!(judged("ttft:p75=20%"), SloVerdict::Undecided);
}

/// Returns runs of requests of one size, one at a time, each with a latency around `latency_ms`. Each
/// run has a seed and a number of prompt tokens.
fn sized_runs(runs: &[(u64, u32)], latency_ms: f64) -> Vec<ComparedRun> {
    let policy = MetricPolicy::native();
    let run = |(seed, prompt_tokens): &(u64, u32)| {
        let mut random = Pcg64::seeded(*seed);
        let mut now = Stamp::ZERO;
        let records = (0..60).map(|index| {
            let latency = Duration::from_secs_f64((latency_ms + 20.0 * random.random()) / 1e3);
            let sample = Sample::new("", *prompt_tokens, 2);
            let mut recorder = Recorder::new(index, Phase::Measure, &sample, now);
            recorder.record_sent(now);
            now = now + latency;
            recorder.body(now, 1);
            recorder.at(now).delta(Delta::content("x"));
            recorder.finish(Ok(Finish::default()), now)
        });
        let records = records.collect();
        let mut facts = RunFacts::default();
        facts.seed = *seed;
        let log = RunLog::new(Header::new(0, facts, Value::Null), records, None);
        ComparedRun::of_log(&log, &policy, &figures()).without_requests()
    };
    runs.iter().map(run).collect()
}

fn basis(before: &[(u64, u32)], after: &[(u64, u32)]) -> Option<Basis> {
    let (before, after) = (sized_runs(before, 100.0), sized_runs(after, 110.0));
    Comparison::of_runs(&before, &after, &figures()).changes[0].basis
}

#[test]
fn runs_of_one_seed_are_pairs_though_letters_set_their_prompts_apart() {
    // The letters before each prompt have 2 to 6 tokens.
    let before = [(1, 34), (2, 36), (3, 33)];
    assert_eq!(basis(&before, &[(1, 36), (2, 32), (3, 35)]), Some(Basis::PairedRuns));
    // Other prompts.
    assert_eq!(basis(&before, &[(1, 64), (2, 66), (3, 63)]), Some(Basis::Runs));
    assert_eq!(basis(&before, &[(4, 34), (5, 36), (6, 33)]), Some(Basis::Runs));
    // The same requests in every run.
    assert_eq!(basis(&[(1, 34); 3], &[(1, 36); 3]), Some(Basis::Runs));
}

#[test]
fn values_alone_are_enough_where_there_are_several_runs() {
    let figure: [Figure; 1] = ["ttft:mean".parse().unwrap()];
    let side =
        |values: [f64; 3]| values.map(|value| ComparedRun::of_values(&figure, |_| Some(value)));
    let comparison =
        Comparison::of_runs(&side([10.0, 10.1, 9.9]), &side([20.0, 20.1, 19.9]), &figure);
    assert_eq!(comparison.changes[0].significance(), Significance::Worse);
    assert_eq!(comparison.changes[0].within_run_percent, None);
}

#[test]
fn failures_are_compared_by_their_counts() {
    let figure = ["failed", "completed"].map(|name| name.parse().unwrap());
    let side = |failed: f64| {
        let value = |of: Figure| if of == figure[0] { failed } else { 200.0 - failed };
        [ComparedRun::of_values(&figure, |of| Some(value(of)))]
    };
    let significance = |before, after| {
        let comparison = Comparison::of_runs(&side(before), &side(after), &figure);
        (comparison.changes[0].basis, comparison.changes[0].significance())
    };
    assert_eq!(significance(0.0, 30.0), (Some(Basis::Counts), Significance::Worse));
    assert_eq!(significance(30.0, 0.0), (Some(Basis::Counts), Significance::Better));
    assert_eq!(significance(10.0, 12.0), (Some(Basis::Counts), Significance::Same));
}
