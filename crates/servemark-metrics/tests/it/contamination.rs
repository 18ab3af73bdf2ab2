//! Prompt tokens from a prefix cache, meant and not meant.

use servemark_core::{
    CountedWork, Delta, Finish, Footer, Header, Phase, PrefixCacheCounters, Recorder,
    RequestRecord, RunFacts, RunLog, Sample, SeriesHead, SeriesKind, ServerCounters, SharedPrefix,
    Sink, Stamp, Telemetry, TelemetryLine, TelemetrySample, TelemetrySource, Usage,
};
use servemark_metrics::{
    Contamination, ContaminationSource, MetricPolicy, Metrics, RunVerdictKind,
};

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
fn data_sets_that_share_prefixes_are_not_judged_without_their_plan() {
    let records = (0..20).map(|index| record(index, 0, Some(900))).collect();
    let found = Contamination::of(&log("generated-shared-prefix", records, None)).unwrap();
    close(found.share, 0.9);
    assert!(found.expected_share.is_none() && !found.is_found());
}

/// Returns the footer of a run whose first `count` prompts share `tokens` with earlier ones.
fn planned(count: usize, tokens: u32) -> Footer {
    let mut footer = Footer::default();
    footer.shared_prefixes = (0..count).map(|index| SharedPrefix::new(index, tokens)).collect();
    footer
}

#[test]
fn data_sets_that_share_prefixes_are_judged_by_what_their_prompts_share() {
    // The plan of the second half of the prompts is known on average only.
    for count in [20, 10] {
        for (tokens, cached, is_found) in [(100, 988, true), (850, 864, false), (850, 1000, true)] {
            let records = (0..20).map(|index| record(index, 0, Some(cached))).collect();
            let log = log("generated-shared-prefix", records, Some(planned(count, tokens)));
            let found = Contamination::of(&log).unwrap();
            close(found.expected_share.unwrap(), f64::from(tokens) / 1000.0);
            assert_eq!(found.is_found(), is_found, "{found:?}");
            let requests = if is_found { 20 } else { 0 };
            assert_eq!((found.requests, found.counted), (requests, 20), "{found:?}");
        }
    }
}

#[test]
fn a_prompt_is_judged_by_its_own_prefix() {
    let mut footer = planned(20, 0);
    for prefix in footer.shared_prefixes.iter_mut().skip(10) {
        prefix.tokens = 900;
    }
    let cached = |index: usize| if [3, 7].contains(&index) { 900 } else { 0 };
    let records = (0..20).map(|index| record(index, 0, Some(cached(index)))).collect();
    let found = Contamination::of(&log("mooncake", records, Some(footer))).unwrap();
    close(found.expected_share.unwrap(), 0.45);
    assert_eq!((found.requests, found.first.as_slice()), (2, &[3, 7][..]));
}

#[test]
fn turns_of_shared_prefixes_also_have_their_history() {
    let records = vec![record(0, 0, Some(0)), record(0, 1, Some(1000)), record(1, 0, Some(600))];
    let mut footer = planned(2, 0);
    footer.shared_prefixes[1].tokens = 500;
    let found = Contamination::of(&log("agentic-trace", records, Some(footer))).unwrap();
    close(found.expected_share.unwrap(), 0.5);
    assert_eq!(found.requests, 1);
}

#[test]
fn what_a_verdict_lacks_is_told() {
    let counts_only = (0..20).map(|index| record(index, 0, Some(900))).collect();
    let missing = Contamination::missing(&log("mooncake", counts_only, None)).unwrap();
    assert!(missing.starts_with("90 % of the prompt tokens came from a prefix cache"), "{missing}");
    let untold = (0..20).map(|index| record(index, 0, None)).collect();
    let missing = Contamination::missing(&log("random", untold, None)).unwrap();
    assert!(missing.starts_with("neither answers nor counters"), "{missing}");
    for (dataset, cached) in [("random", 0), ("random", 900), ("mooncake", 50)] {
        let records = (0..20).map(|index| record(index, 0, Some(cached))).collect();
        assert_eq!(Contamination::missing(&log(dataset, records, None)), None, "{dataset}");
    }
}

#[test]
fn counters_are_compared_with_what_prompts_share() {
    for (tokens, is_found) in [(100, true), (750, false)] {
        let records = (0..20).map(|index| record(index, 0, None)).collect();
        let log = log("prefix_repetition", records, Some(planned(20, tokens)));
        let names = ["prefix_queries", "prefix_hits"];
        let log = log.with_telemetry(counters(&names, &[0.0, 0.0], &[1000.0, 800.0]));
        let found = Contamination::of(&log).unwrap();
        assert_eq!(found.source, ContaminationSource::Counters);
        close(found.expected_share.unwrap(), f64::from(tokens) / 1000.0);
        assert_eq!(found.is_found(), is_found, "{found:?}");
    }
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

/// Returns counters that were read before and after the measurement.
fn counters(names: &[&str], before: &[f64], after: &[f64]) -> Telemetry {
    let mut telemetry = Telemetry::default();
    telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "http://a/metrics")));
    for (id, name) in names.iter().enumerate() {
        let head = SeriesHead::new(id, 0, *name, SeriesKind::Counter);
        telemetry.add(TelemetryLine::Series(head));
    }
    for (at, values) in [(0, before), (2_000_000_000, after)] {
        let mut sample = TelemetrySample::new(0, Stamp::from_nanos(at), 0);
        sample.values = values.iter().copied().enumerate().collect();
        telemetry.add(TelemetryLine::Sample(sample));
    }
    telemetry
}

#[test]
fn counters_that_were_read_as_series_do_too() {
    for (names, after) in [
        (&["prefix_queries", "prefix_hits"], [20_100.0, 16_050.0]),
        (&["prompt_tokens", "cached_tokens"], [20_100.0, 16_050.0]),
        (&["computed_prompt_tokens", "cached_tokens"], [4_100.0, 16_050.0]),
    ] {
        // Answers with a count of zero may be those of a server that does not count.
        for cached in [None, Some(0)] {
            let records = (0..20).map(|index| record(index, 0, cached)).collect();
            let log = log("random", records, None);
            let log = log.with_telemetry(counters(names, &[100.0, 50.0], &after));
            let found = Contamination::of(&log).unwrap();
            close(found.share, 0.8);
            assert_eq!(found.source, ContaminationSource::Counters);
            assert!(found.is_found(), "{names:?}");
        }
    }
}

#[test]
fn counters_of_a_server_that_restarted_or_of_conversations_judge_nothing() {
    let read = |records, after: &[f64]| {
        let names = ["prefix_queries", "prefix_hits"];
        let log = log("random", records, None);
        Contamination::of(&log.with_telemetry(counters(&names, &[100.0, 50.0], after)))
    };
    assert_eq!(read(vec![record(0, 0, None)], &[90.0, 80.0]), None);
    let turns = vec![record(0, 0, None), record(0, 1, None)];
    let found = read(turns, &[1100.0, 1000.0]).unwrap();
    assert!(found.expected_share.is_none() && !found.is_found(), "{found:?}");
}
