//! Prompt tokens from a prefix cache, meant and not meant.

use servemark_core::{
    CountedWork, Delta, Finish, Footer, Header, Phase, PrefixCacheCounters, Recorder,
    RequestRecord, RunFacts, RunLog, Sample, ServerCounters, Sink, Stamp, Usage,
};
use servemark_metrics::{Contamination, MetricPolicy, Metrics, RunVerdictKind};

fn record(index: usize, turn: u32, cached: Option<u32>) -> RequestRecord {
    let due = Stamp::from_nanos(index as u64 * 1000);
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("hi", 1000, 100), due);
    recorder = recorder.of_turn(turn, 0);
    recorder.record_sent(due);
    let end = Stamp::from_nanos(1_000_000_000);
    recorder.output(end, Delta::content("a"));
    recorder.at(end).usage(Usage::new(Some(1000), Some(100)).with_cached(cached));
    recorder.finish(Ok(Finish::default()), end)
}

fn log(dataset: &str, records: Vec<RequestRecord>, footer: Option<Footer>) -> RunLog {
    let mut facts = RunFacts::default();
    dataset.clone_into(&mut facts.dataset);
    RunLog::new(Header::new(0, facts, serde_json::Value::Null), records, footer)
}

#[track_caller]
fn close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9, "{actual} is not {expected}");
}

#[test]
fn random_prompts_in_a_cache_contaminate_a_run() {
    let cached = |index: usize| Some(if index < 18 { 1000 } else { 0 });
    let log = log("random", (0..20).map(|index| record(index, 0, cached(index))).collect(), None);
    let found = Contamination::of(&log).unwrap();
    close(found.share, 0.9);
    assert_eq!(found.expected_share, Some(0.0));
    assert_eq!((found.requests, found.first.as_slice()), (18, &[0, 1, 2, 3, 4][..]));
    assert!(found.is_found());
    let verdicts = Metrics::score(&log, &MetricPolicy::native()).verdicts;
    let verdict = verdicts.iter().find(|it| it.kind == RunVerdictKind::Contaminated).unwrap();
    let message = "90 % of the prompt tokens came from a prefix cache, and the data set intends 0 %: \
                18 of 20 requests, the first are 0, 1, 2, 3, 4";
    assert_eq!(verdict.reason, message);
}

#[test]
fn a_shared_first_block_and_a_cold_cache_do_not() {
    for cached in [Some(0), Some(16), None] {
        let log = log("random", (0..20).map(|index| record(index, 0, cached)).collect(), None);
        assert!(!Contamination::of(&log).is_some_and(|found| found.is_found()), "{cached:?}");
    }
}

#[test]
fn the_history_of_a_conversation_is_meant_to_be_cached() {
    let turns = |second| vec![record(0, 0, Some(0)), record(0, 1, Some(second))];
    let found = Contamination::of(&log("sharegpt", turns(1000), None)).unwrap();
    assert!(!found.is_found(), "{found:?}");
    close(found.expected_share.unwrap(), 0.5);
}

#[test]
fn data_sets_that_share_prefixes_are_not_judged() {
    let records = (0..20).map(|index| record(index, 0, Some(900))).collect();
    let found = Contamination::of(&log("generated-shared-prefix", records, None)).unwrap();
    close(found.share, 0.9);
    assert!(found.expected_share.is_none() && !found.is_found());
}

#[test]
fn counters_of_the_server_do_where_answers_say_nothing() {
    let counters = |queries, hits| {
        let mut cache = PrefixCacheCounters::default();
        (cache.queries, cache.hits) = (queries, hits);
        let mut counters = ServerCounters::default();
        counters.prefix_cache = Some(cache);
        counters
    };
    let mut footer = Footer::default();
    footer.server_counters = Some(CountedWork::new(counters(100, 50), counters(1100, 850)));
    let records = (0..20).map(|index| record(index, 0, None)).collect();
    let found = Contamination::of(&log("random", records, Some(footer))).unwrap();
    close(found.share, 0.8);
    assert!(found.is_found() && found.counted == 0);
}
