//! Tests AISBench's stable stage, and what its rates count.

use servemark_core::{
    Delta, ErrorKind, Finish, Header, Phase, Recorder, RequestError, RequestRecord, RunFacts,
    RunLog, Sample, Sink, Stamp, Usage,
};
use servemark_metrics::{
    MetricPolicy, NoStage, RequestScore, StableCounting, StableRule, StableStage, Stage, StageSpec,
    StageStatistic,
};

const FULL: StableRule = StableRule::Full;
const NEARLY: StableRule = StableRule::NearlyFull;

#[track_caller]
fn stage(requests: &[(f64, f64)], limit: usize, rule: StableRule) -> ((f64, f64), Vec<usize>) {
    let stage = StableStage::find(requests, limit, rule).unwrap();
    (stage.window, stage.requests)
}

/// Requests of two clients, which both pause at four seconds.
const PAUSE: [(f64, f64); 6] =
    [(0.0, 2.0), (0.5, 1.5), (1.6, 4.0), (4.5, 6.0), (4.6, 9.0), (6.5, 8.0)];

#[test]
fn a_hole_ends_the_older_rules_stage_and_not_the_newer_ones() {
    assert_eq!(stage(&PAUSE, 2, FULL), ((1.6, 6.5), vec![2, 3, 4, 5]));
    assert_eq!(stage(&PAUSE, 2, NEARLY), ((1.6, 4.0), vec![2]));
}

#[test]
fn a_hole_of_less_than_a_millisecond_ends_nothing() {
    let quick =
        [(0.0, 1.0), (0.1, 1.0), (1.2, 2.0), (1.3, 2.0), (2.0004, 3.0), (2.0005, 3.0), (3.5, 5.0)];
    assert_eq!(stage(&quick, 2, NEARLY), ((1.3, 3.0), vec![3, 5]));
    assert_eq!(stage(&quick, 2, FULL), ((1.3, 2.0005), vec![3, 4, 5]));
}

#[test]
fn a_limit_that_is_full_once_is_no_stage() {
    for rule in [FULL, NEARLY] {
        assert_eq!(StableStage::find(&[(0.0, 2.0), (1.0, 3.0)], 2, rule), None);
        assert_eq!(StableStage::find(&PAUSE, 3, rule), None);
        assert_eq!(StableStage::find(&[], 1, rule), None);
    }
}

/// Returns a log of two clients. Each answer has one piece per second, the last one at its end.
fn log() -> RunLog {
    let spans = [(0, 4), (0, 6), (4, 9), (6, 8), (8, 20), (9, 10)];
    let records = spans.into_iter().enumerate();
    let mut records: Vec<RequestRecord> =
        records.map(|(index, span)| record(index, span, true)).collect();
    records.push(record(6, (7, 8), false));
    let mut facts = RunFacts::default();
    facts.max_concurrency = Some(2);
    RunLog::new(Header::new(0, facts, serde_json::Value::Null), records, None)
}

fn record(index: usize, (start, end): (u64, u64), succeeds: bool) -> RequestRecord {
    let at = |second: u64| Stamp::from_nanos(second * 1_000_000_000 + index as u64);
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), at(start));
    recorder.record_sent(at(start));
    for second in start + 1..=end {
        recorder.at(at(second)).delta(Delta::content("x"));
    }
    let tokens = u32::try_from(end - start).unwrap();
    recorder.at(at(end)).usage(Usage::new(Some(10), Some(tokens)));
    recorder.body(at(end), 1);
    let failure = RequestError::new(ErrorKind::Status, "no");
    recorder.finish(succeeds.then(Finish::default).ok_or(failure), at(end))
}

fn stable(counting: StableCounting) -> StageSpec {
    StageSpec::Stable { rule: FULL, counting }
}

#[test]
fn a_stages_rates_are_of_what_was_done_in_it() {
    let log = log();
    let scores = RequestScore::of_log(&log, &MetricPolicy::aisbench());
    let stage = Stage::of(&scores, Some(2), stable(StableCounting::Within)).unwrap();
    let (start, end) = (stage.window.0.round(), stage.window.1.round());
    assert_eq!((start, end), (4.0, 9.0));
    // The failed request is not a member of the stage, but it is counted.
    assert_eq!((stage.scores.len(), stage.failed), (4, 1));
    let peer = stage.peer_rates.unwrap();
    // Of the twelve seconds of the longest request, one lies within the stage.
    assert!(stage.rates.output_tokens_per_s < 2.3, "{:?}", stage.rates);
    assert!(stage.rates.concurrency <= 2.0 + 1e-6, "{:?}", stage.rates);
    assert!((peer.output_tokens_per_s - 20.0 / 5.0).abs() < 1e-6, "{peer:?}");
    assert!((peer.concurrency - 20.0 / 5.0).abs() < 1e-6, "{peer:?}");
    let theirs = Stage::of(&scores, Some(2), stable(StableCounting::Requests)).unwrap();
    assert_eq!((theirs.rates, theirs.peer_rates), (peer, None));
}

#[test]
fn a_run_without_a_limit_or_a_success_has_no_stage() {
    let log = log();
    let scores = RequestScore::of_log(&log, &MetricPolicy::aisbench());
    let counting = StableCounting::Within;
    assert_eq!(Stage::of(&scores, None, stable(counting)).unwrap_err(), NoStage::NotStable);
    let failed = &scores[6..];
    assert_eq!(Stage::of(failed, None, StageSpec::Total).unwrap_err(), NoStage::NothingSucceeded);
    let total = Stage::of(&scores, None, StageSpec::Total).unwrap();
    assert_eq!((total.scores.len(), total.failed, total.duration_s().round()), (6, 1, 20.0));
}

#[test]
fn statistics_have_names() {
    let names = ["Average", "Min", "Max", "Median", "P1", "P99"];
    for name in names {
        assert_eq!(name.parse::<StageStatistic>().unwrap().to_string(), name);
    }
    for name in ["P0", "P100", "p50", "Mean", "P99.9"] {
        let refusal = name.parse::<StageStatistic>().unwrap_err();
        assert!(refusal.contains("there are Average, Min, Max, Median, P1 to P99"), "{refusal}");
    }
}
