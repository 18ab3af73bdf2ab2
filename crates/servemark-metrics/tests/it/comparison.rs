//! Two runs held against each other.

use std::time::Duration;

use serde_json::Value;
use servemark_core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark_metrics::{
    Comparison, Condition, Figure, MetricPolicy, Metrics, ScoredRun, SeveralRuns, Worth,
};
use servemark_rng::Pcg64;

/// A run of a request at a time, each of which takes `latency_ms` and up to 20 ms more, drawn.
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
    recorder.sent(start);
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
    let [before, after] = [before, after].map(|log| ScoredRun::of(log, &policy));
    Comparison::of_runs(&before, &after, &figures())
}

fn worth(comparison: &Comparison) -> Vec<Worth> {
    comparison.changes.iter().map(servemark_metrics::Change::worth).collect()
}

#[test]
fn two_draws_of_the_same_are_no_change() {
    let comparison = compared(&log(200, 100.0, 1), &log(200, 100.0, 2));
    let noise = Worth::Noise;
    assert_eq!(worth(&comparison), [noise, noise, noise, noise, Worth::Unknown]);
}

#[test]
fn what_is_slower_by_more_than_chance_is_worse() {
    let comparison = compared(&log(200, 100.0, 1), &log(200, 110.0, 2));
    let worse = Worth::Worse;
    assert_eq!(worth(&comparison), [worse, worse, worse, worse, Worth::Unknown]);
    let back = compared(&log(200, 110.0, 2), &log(200, 100.0, 1));
    assert_eq!(worth(&back)[..4], [Worth::Better; 4]);
    let mean = comparison.changes[0];
    let interval = mean.interval.unwrap();
    assert!(interval.low < mean.delta() && mean.delta() < interval.high);
    // The standard error of the difference is sqrt(2) * (20 / sqrt(12)) / sqrt(200) = 0.58 ms, and
    // 99 % lie within 2.58 of those.
    let width = interval.high - interval.low;
    assert!((width / (2.0 * 2.58 * 0.577) - 1.0).abs() < 0.2, "{width}");
}

#[test]
fn the_same_two_logs_give_the_same_answer() {
    let (before, after) = (log(50, 100.0, 1), log(50, 105.0, 2));
    assert_eq!(compared(&before, &after), compared(&before, &after));
}

#[test]
fn of_a_few_requests_nobody_can_tell() {
    let comparison = compared(&log(5, 100.0, 1), &log(5, 200.0, 2));
    assert!(worth(&comparison).iter().all(|worth| *worth == Worth::Unknown));
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
    // Of ten requests the median is known and p90, too; itl:median of all runs.
    assert_eq!(several.figures.len(), 5);
}
