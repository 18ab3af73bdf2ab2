//! Tests evalscope's definitions by its tables of percentiles and by small answers.

use servemark_core::{
    Delta, Finish, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink, Stamp,
    Usage,
};
use servemark_metrics::{
    Distribution, MetricPolicy, Metrics, PerRequest, PercentileRule, RequestScore, Workload,
};

fn at(milliseconds: u64) -> Stamp {
    Stamp::from_nanos(milliseconds * 1_000_000)
}

/// Returns the one-based rank that a rule reads from twenty values.
fn of_twenty(rule: PercentileRule, percent: f64) -> Option<f64> {
    let values = (1..=20).map(f64::from);
    Distribution::by_rule(values, rule, &[percent]).percentile(percent)
}

#[test]
fn nearest_ranks_are_those_of_the_newest_version() {
    let ranks = [(50.0, 10.0), (90.0, 18.0), (95.0, 19.0), (99.0, 20.0), (1.0, 1.0), (0.0, 1.0)];
    for (percent, rank) in ranks {
        assert_eq!(of_twenty(PercentileRule::NearestRank, percent), Some(rank), "p{percent}");
    }
}

#[test]
fn whole_indices_are_those_of_the_versions_before() {
    let ranks = [(1.0, 1.0), (50.0, 11.0), (90.0, 19.0), (95.0, 20.0), (99.0, 20.0), (100.0, 20.0)];
    for (percent, rank) in ranks {
        assert_eq!(of_twenty(PercentileRule::FloorIndex, percent), Some(rank), "p{percent}");
    }
}

#[test]
fn linear_percentiles_are_those_of_conversations() {
    assert_eq!(of_twenty(PercentileRule::Linear, 50.0), Some(10.5));
    assert_eq!(of_twenty(PercentileRule::Linear, 95.0), Some(19.05));
}

/// A share of a hundred values that is a whole number must not be rounded up to the next rank.
#[test]
fn a_whole_rank_stays_whole() {
    for percent in 1..=99 {
        let percent = f64::from(percent);
        let values = (1..=100).map(f64::from);
        let read = Distribution::by_rule(values, PercentileRule::NearestRank, &[percent]);
        assert_eq!(read.percentile(percent), Some(percent));
    }
}

/// Returns a request whose answer has a role without text at 10 ms, pieces at 40, 50 and 60 ms, and
/// an event with the reason to stop at 80 ms.
fn streamed(index: usize, tokens: u32) -> RequestRecord {
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 5, 4), at(0));
    recorder.record_sent(at(0));
    recorder.body(at(10), 1);
    recorder.at(at(10)).silent_event();
    for when in [40, 50, 60] {
        recorder.body(at(when), 1);
        recorder.at(at(when)).delta(Delta::content("a"));
    }
    recorder.body(at(80), 1);
    recorder.at(at(80)).silent_event();
    recorder.at(at(80)).usage(Usage::new(Some(5), Some(tokens)));
    recorder.finish(Ok(Finish::default()), at(0))
}

fn document(index: usize) -> RequestRecord {
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 5, 4), at(0));
    recorder.record_sent(at(0));
    recorder.body(at(500), 1);
    recorder.document();
    recorder.at(at(500)).delta(Delta::content("all at once"));
    recorder.at(at(500)).usage(Usage::new(Some(5), Some(9)));
    recorder.finish(Ok(Finish::default()), at(0))
}

fn log(records: Vec<RequestRecord>) -> RunLog {
    RunLog::new(Header::new(0, RunFacts::default(), serde_json::Value::Null), records, None)
}

#[test]
fn the_first_token_is_the_first_output_or_the_first_event() {
    let log = log(vec![streamed(0, 5)]);
    let newest = Metrics::score(&log, &MetricPolicy::evalscope());
    let older = Metrics::score(&log, &MetricPolicy::evalscope_1_7());
    assert_eq!(newest.latencies.ttft.mean_ms, Some(40.0));
    assert_eq!(older.latencies.ttft.mean_ms, Some(10.0));
    assert_eq!((newest.latencies.itl.samples, older.latencies.itl.samples), (2, 4));
    assert_eq!(newest.latencies.tpot.mean_ms, Some(10.0));
    assert_eq!(older.latencies.tpot.mean_ms, Some(17.5));
}

#[test]
fn a_document_has_no_part_in_the_times_to_first_tokens() {
    let log = log(vec![streamed(0, 5), document(1)]);
    let newest = Metrics::score(&log, &MetricPolicy::evalscope());
    let older = Metrics::score(&log, &MetricPolicy::evalscope_1_7());
    assert_eq!(newest.latencies.ttft.samples, 1);
    assert_eq!(older.latencies.ttft.mean_ms, Some(255.0));
    assert_eq!(newest.latencies.e2el.samples, 2);
}

#[test]
fn without_any_stream_a_documents_first_token_is_its_end() {
    let newest = Metrics::score(&log(vec![document(0)]), &MetricPolicy::evalscope());
    assert_eq!(newest.latencies.ttft.mean_ms, Some(500.0));
    assert_eq!(newest.latencies.tpot.mean_ms, Some(0.0));
}

/// A request of one token has no time per output token; in evalscope 1.7 it is zero and halves the
/// mean.
#[test]
fn a_request_of_one_token_counts_as_zero_in_older_versions() {
    let log = log(vec![streamed(0, 5), streamed(1, 1)]);
    let mean = |policy| Metrics::score(&log, &policy).latencies.tpot.mean_ms;
    assert_eq!(mean(MetricPolicy::evalscope()), Some(10.0));
    assert_eq!(mean(MetricPolicy::evalscope_1_7()), Some(8.75));
}

/// Three pieces and the last event are four steps; the event with the role is a fifth.
#[test]
fn steps_count_events_without_output() {
    let log = log(vec![streamed(0, 13)]);
    let yielded = |policy: MetricPolicy| {
        PerRequest::of(&RequestScore::of_log(&log, &policy), &policy).tokens_per_step
    };
    assert_eq!(yielded(MetricPolicy::evalscope()), Some(4.0));
    assert_eq!(yielded(MetricPolicy::evalscope_1_7()), Some(3.0));
}

/// The rate of embeddings is that of one client that sends one request after the other.
#[test]
fn prompt_tokens_per_busy_second_are_no_rate_of_the_server() {
    let policy = MetricPolicy::evalscope();
    let log = log((0..8).map(document).collect());
    let per_request = PerRequest::of(&RequestScore::of_log(&log, &policy), &policy);
    assert_eq!(per_request.input_per_busy_s, Some(10.0));
    assert_eq!(Metrics::score(&log, &policy).throughput.input_tokens_per_s, Some(80.0));
}

/// A request of 100 output tokens ends in each second for a hundred seconds.
#[test]
fn the_parts_of_a_workload_start_at_the_end_of_a_request() {
    let record = |index: usize| {
        let begin = 1000 * index as u64;
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 5, 4), at(begin));
        recorder.record_sent(at(begin));
        recorder.body(at(begin + 1000), 1);
        let usage = Usage::new(Some(40), Some(if index < 30 { 10 } else { 100 }));
        recorder.at(at(begin + 1000)).usage(usage.with_cached(Some(10)));
        recorder.finish(Ok(Finish::default()), at(0))
    };
    let log = log((0..100).map(record).collect());
    let workload = Workload::of(&log, &RequestScore::of_log(&log, &MetricPolicy::evalscope()));
    assert_eq!((workload.points.len(), workload.duration_s()), (100, 100.0));
    let overall = workload.overall();
    assert_eq!((overall.output, overall.prompt), (73.0, 40.0));
    assert_eq!((overall.new_prompt, overall.cached_prompt), (30.0, 10.0));
    let (end, rest) = (workload.last(30.0), workload.without_first(0.2));
    assert_eq!((end.output, rest.output), (100.0, 88.75));
    assert_eq!(workload.last(200.0), overall);
    assert_eq!(workload.without_first(1.0), overall);
}
