//! Small runs written by hand, scored by Servemark's definitions and by SGLang's.

use proptest::prelude::*;
use servemark_core::{
    Connection, Delta, DeltaKind, ErrorKind, Finish, Footer, Header, Phase, Recorder, RequestError,
    RequestKey, RequestRecord, Retokenized, RunFacts, RunLog, Sample, SimulatedTimes, Sink, Stamp,
    Usage,
};
use servemark_metrics::{
    Completeness, Evidence, FailureTally, Figure, JudgedPart, Latency, MetricPolicy, Metrics,
    Objective, RequestScore, Slo, TokenSource, Tolerance,
};

const MILLISECOND: u64 = 1_000_000;

fn at(milliseconds: u64) -> Stamp {
    Stamp::from_nanos(milliseconds * MILLISECOND)
}

/// Returns a request in flight, due and sent at `due` milliseconds, with ten prompt tokens and four
/// requested output tokens.
fn request(index: usize, due: u64) -> Recorder {
    let sample = Sample::new("", 10, 4);
    let mut recorder = Recorder::new(index, Phase::Measure, &sample, at(due));
    recorder.granted(at(due));
    recorder.record_sent(at(due));
    recorder
}

fn piece(recorder: &mut Recorder, when: u64, delta: Delta<'_>) {
    recorder.body(at(when), 1);
    recorder.at(at(when)).delta(delta);
}

fn finish(recorder: Recorder) -> RequestRecord {
    recorder.finish(Ok(Finish::default()), at(0))
}

/// Returns one answer. A piece is its time, its text and its token count on the wire.
fn answer(index: usize, due: u64, pieces: &[(u64, &str, Option<u32>)]) -> RequestRecord {
    let mut recorder = request(index, due);
    for &(when, text, tokens) in pieces {
        piece(&mut recorder, when, Delta::content(text).with_tokens(tokens));
    }
    finish(recorder)
}

fn failure(index: usize, due: u64, kind: ErrorKind, message: &str) -> RequestRecord {
    request(index, due).finish(Err(RequestError::new(kind, message)), at(due + 1))
}

fn log(path: &str, records: Vec<RequestRecord>, footer: Option<Footer>) -> RunLog {
    let mut facts = RunFacts::default();
    facts.api_path = path.into();
    facts.requests = records.len();
    RunLog::new(Header::new(0, facts, serde_json::Value::Null), records, footer)
}

fn only_score<'a>(log: &'a RunLog, policy: &MetricPolicy) -> RequestScore<'a> {
    let [score] = RequestScore::of_log(log, policy).try_into().unwrap();
    score
}

#[track_caller]
fn itl_ms(path: &str, record: RequestRecord, ours: &[f64], sglangs: &[f64]) {
    let log = log(path, vec![record], None);
    let read = |policy: MetricPolicy| -> Vec<f64> {
        only_score(&log, &policy).itl_s.iter().map(|gap| gap * 1000.0).collect()
    };
    assert_eq!((&*read(MetricPolicy::native()), &*read(MetricPolicy::sglang())), (ours, sglangs));
}

#[test]
fn a_piece_of_several_tokens_shares_its_gap() {
    let pieces = [(5, "ab", Some(2)), (11, "cde", Some(3)), (12, "f", Some(1))];
    let ours = [0.0, 2.0, 2.0, 2.0, 1.0];
    itl_ms("/generate", answer(0, 0, &pieces), &ours, &ours[1..]);
    itl_ms("/v1/completions", answer(0, 0, &pieces), &ours, &[6.0, 1.0]);
}

#[test]
fn a_piece_without_tokens_leaves_its_gap_to_the_next() {
    let pieces = [(5, "a", Some(1)), (7, "b", Some(0)), (9, "c", Some(1))];
    itl_ms("/generate", answer(0, 0, &pieces), &[4.0], &[4.0]);
}

#[test]
fn a_piece_without_a_count_is_one_token() {
    let pieces = [(5, "a", None), (7, "bc", None)];
    itl_ms("/v1/completions", answer(0, 0, &pieces), &[2.0], &[2.0]);
}

#[test]
fn a_speculating_server_has_its_gaps_split_by_re_tokenized_pieces() {
    let pieces = [(5, "a", None), (7, "", None), (9, "bc", None), (12, "d", None)];
    let mut footer = Footer::default();
    footer.accept_length = Some(1.5);
    footer.retokenized = vec![Retokenized::new((0, 0), 3, vec![1, 0, 2, 0])];
    let log = log("/v1/completions", vec![answer(0, 0, &pieces)], Some(footer));
    let score = only_score(&log, &MetricPolicy::sglang());
    assert_eq!(score.itl_s, vec![0.004, 0.003].into());
    // The peer divides by zero at a piece without tokens; here the piece has no entry.
    assert_eq!(score.speculative_itl_s, Some(vec![0.002, 0.002].into()));
}

#[test]
fn sglang_counts_the_joined_text_of_events() {
    let mut footer = Footer::default();
    footer.retokenized = vec![Retokenized::new((0, 0), 3, vec![]).with_joined(Some(6))];
    let log = log(TRT, vec![answer(0, 0, &[(5, "a", None), (7, "bc", None)])], Some(footer));
    let counted = |policy: MetricPolicy| {
        (
            only_score(&log, &policy).retokenized_tokens,
            Metrics::score(&log, &policy).tokens.output_retokenized,
        )
    };
    assert_eq!(counted(MetricPolicy::sglang()), (Some(6), Some(6)));
    assert_eq!(counted(MetricPolicy::native()), (Some(3), Some(3)));
}

const TRT: &str = "/v2/models/ensemble/generate_stream";

#[test]
fn a_server_that_claims_billions_of_tokens_in_a_piece_does_not_cost_memory() {
    let pieces = [(5, "a", Some(1)), (7, "b", Some(u32::MAX))];
    let log = log("/generate", vec![answer(0, 0, &pieces)], None);
    let score = only_score(&log, &MetricPolicy::native());
    assert!(score.itl_s.iter().count() < 100_000);
    assert_eq!(score.output_token_count(), 1 + u64::from(u32::MAX));
}

#[test]
fn on_generate_output_begins_with_the_first_text() {
    let pieces = [(3, "", Some(1)), (5, "a", Some(1)), (7, "", Some(1))];
    let log = log("/generate", vec![answer(0, 0, &pieces)], None);
    let ours = only_score(&log, &MetricPolicy::native());
    let sglangs = only_score(&log, &MetricPolicy::sglang());
    assert_eq!((ours.ttft_s, ours.itl_s), (Some(0.003), vec![0.002, 0.002].into()));
    assert_eq!((sglangs.ttft_s, sglangs.itl_s), (Some(0.005), vec![0.002].into()));
    assert_eq!(sglangs.output_tokens, Some((3, TokenSource::Deltas)));
}

#[test]
fn tool_calls_are_output_to_us_and_not_to_sglang() {
    let mut recorder = request(0, 0);
    piece(&mut recorder, 2, Delta::content("f()").of_kind(DeltaKind::ToolCall));
    piece(&mut recorder, 3, Delta::content("hm").of_kind(DeltaKind::Reasoning));
    piece(&mut recorder, 4, Delta::content("so"));
    let log = log("/v1/chat/completions", vec![finish(recorder)], None);
    let ours = only_score(&log, &MetricPolicy::native());
    let sglangs = only_score(&log, &MetricPolicy::sglang());
    assert_eq!((ours.ttft_s, ours.itl_s.iter().count()), (Some(0.002), 2));
    assert_eq!((sglangs.ttft_s, sglangs.itl_s.iter().count()), (Some(0.003), 1));
}

#[test]
fn output_tokens_are_asked_of_the_best_source_that_knows() {
    let counted = |usage: Option<u32>, retokenized: Option<u32>, policy: MetricPolicy| {
        let mut recorder = request(0, 0);
        piece(&mut recorder, 2, Delta::content("a").with_tokens(Some(3)));
        recorder.at(at(3)).usage(Usage::new(None, usage));
        let mut footer = Footer::default();
        footer.retokenized =
            retokenized.map(|n| Retokenized::new((0, 0), n, vec![])).into_iter().collect();
        let log = log("/v1/completions", vec![finish(recorder)], Some(footer));
        only_score(&log, &policy).output_tokens
    };
    let (native, sglang) = (MetricPolicy::native, MetricPolicy::sglang);
    assert_eq!(counted(Some(7), Some(6), native()), Some((7, TokenSource::Usage)));
    assert_eq!(counted(None, Some(6), native()), Some((6, TokenSource::Retokenized)));
    assert_eq!(counted(None, None, native()), Some((3, TokenSource::Deltas)));
    assert_eq!(counted(Some(7), Some(6), sglang()), Some((7, TokenSource::Usage)));
    assert_eq!(counted(None, Some(6), sglang()), Some((4, TokenSource::Requested)));
}

#[test]
fn the_tpot_of_sglang_has_the_end_of_the_stream_in_it() {
    let mut recorder = request(0, 0);
    piece(&mut recorder, 250, Delta::content("a").with_tokens(Some(1)));
    piece(&mut recorder, 500, Delta::content("b").with_tokens(Some(1)));
    recorder.body(at(750), 1);
    let log = log("/generate", vec![finish(recorder)], None);
    let tpot = |policy| Metrics::score(&log, &policy).latencies.tpot.mean_ms.unwrap();
    assert_eq!((tpot(MetricPolicy::native()), tpot(MetricPolicy::sglang())), (250.0, 500.0));
}

#[test]
fn failures_are_counted_by_kind_with_their_most_common_words() {
    let records = vec![
        failure(0, 0, ErrorKind::Status, "503"),
        answer(1, 0, &[(5, "a", None)]),
        failure(2, 0, ErrorKind::Connect, "refused"),
        failure(3, 0, ErrorKind::Status, "500"),
        failure(4, 0, ErrorKind::Status, "503"),
    ];
    let metrics = Metrics::score(&log("/generate", records, None), &MetricPolicy::native());
    assert_eq!((metrics.requests.completed, metrics.requests.failed), (1, 4));
    let [status, connect] = &metrics.failures[..] else { panic!("two kinds failed") };
    assert_eq!((status.kind, status.count), (ErrorKind::Status, 3));
    assert_eq!((&*status.messages[0].message, status.messages[0].count), ("503", 2));
    assert_eq!((connect.kind, connect.count), (ErrorKind::Connect, 1));
}

#[test]
fn failures_are_tallied_by_class_over_several_runs() {
    let status = |index: usize, code: u16| {
        let mut record = failure(index, 0, ErrorKind::Status, "no");
        record.status = Some(code);
        record
    };
    let first = vec![status(0, 500), status(1, 503), answer(2, 0, &[(5, "a", None)])];
    let second = vec![
        status(0, 500),
        failure(1, 0, ErrorKind::Connect, "refused"),
        failure(2, 0, ErrorKind::Timeout, "30 s"),
        // An engine without a server has no statuses.
        failure(3, 0, ErrorKind::Status, "no"),
    ];
    let [first, second] = [first, second].map(|records| log("/generate", records, None));
    let mut tally = FailureTally::default();
    tally.add_run(&first);
    let expected = "2 of 3 requests failed: 1 http status 500, 1 http status 503";
    assert_eq!(tally.to_string(), expected);
    tally.add_metrics(&Metrics::score(&second, &MetricPolicy::native()));
    let expected = "6 of 7 requests failed: 2 http status 500, 1 http status 503, 1 no connection, \
                    1 refused by status, 1 timeout";
    assert_eq!((tally.failed(), tally.to_string().as_str()), (6, expected));
}

#[test]
fn a_run_without_a_success_has_counts_and_no_latencies() {
    let log = log("/generate", vec![failure(0, 0, ErrorKind::Timeout, "30 s")], None);
    let ours = Metrics::score(&log, &MetricPolicy::native());
    assert_eq!(ours.latencies.e2el.mean_ms, None);
    assert_eq!((ours.tokens.output, ours.throughput.output_tokens_per_s), (None, None));
    let sglangs = Metrics::score(&log, &MetricPolicy::sglang()).latencies;
    assert_eq!((sglangs.ttft.mean_ms, sglangs.e2el.mean_ms), (Some(0.0), None));
}

#[test]
fn response_times_count_from_due_and_service_times_from_sent() {
    let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("", 1, 1), at(0));
    recorder.granted(at(250));
    recorder.connected(Connection::New { connect_ns: 3 * MILLISECOND, tls_ns: Some(MILLISECOND) });
    recorder.record_sent(at(375));
    piece(&mut recorder, 500, Delta::content("a"));
    let log = log("/generate", vec![finish(recorder)], None);
    let metrics = Metrics::score(&log, &MetricPolicy::native());
    assert_eq!(metrics.latencies.ttft.mean_ms, Some(125.0));
    assert_eq!(metrics.response.ttft.mean_ms, Some(500.0));
    let waits = &metrics.waits;
    assert_eq!((waits.queue.mean_ms, waits.send_lag.mean_ms), (Some(250.0), Some(125.0)));
    assert_eq!((waits.connect.samples, waits.connect.mean_ms), (1, Some(4.0)));
}

#[test]
fn rates_leave_the_first_request_out() {
    let records = (0..5).map(|index| answer(index, index as u64 * 100, &[])).collect();
    let rates = Metrics::score(&log("/generate", records, None), &MetricPolicy::native()).rates;
    assert_eq!(
        (rates.asked_per_s, rates.scheduled_per_s, rates.sent_per_s),
        (None, Some(10.0), Some(10.0))
    );
}

#[test]
fn one_request_after_the_other_is_one_in_flight_to_us() {
    let records = vec![answer(0, 0, &[(100, "a", None)]), answer(1, 100, &[(200, "b", None)])];
    assert_eq!(peaks(records), (1, 2));
}

#[test]
fn a_request_that_fails_was_in_flight_to_us() {
    let failed = failure(1, 500, ErrorKind::Status, "500");
    assert_eq!(peaks(vec![answer(0, 0, &[(900, "a", None)]), failed]), (2, 1));
}

/// Returns the peak concurrency by Servemark's definitions and by SGLang's.
fn peaks(records: Vec<RequestRecord>) -> (usize, usize) {
    let log = log("/generate", records, None);
    let peak = |policy| Metrics::score(&log, &policy).concurrency.peak;
    (peak(MetricPolicy::native()), peak(MetricPolicy::sglang()))
}

#[test]
fn goodput_counts_failures_against_the_objectives() {
    let records = vec![
        answer(0, 0, &[(10, "a", Some(1)), (20, "b", Some(1))]),
        answer(1, 0, &[(30, "a", Some(1))]),
        failure(2, 0, ErrorKind::Status, "500"),
    ];
    let slos = [(Latency::Ttft, 10.0), (Latency::Tpot, 15.0)]
        .map(|(metric, limit)| Slo::new(metric, limit).unwrap());
    let policy = MetricPolicy::sglang().with_slos(slos);
    let goodput = Metrics::score(&log("/generate", records, None), &policy).goodput.unwrap();
    assert_eq!((goodput.good, goodput.attainment), (1, Some(1.0 / 3.0)));
    assert_eq!(goodput.by_slo.iter().map(|result| result.met).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn the_time_to_second_token_is_known_wherever_a_latency_is() {
    let records = vec![
        answer(0, 0, &[(10, "a", Some(1)), (35, "bc", Some(2)), (40, "d", Some(1))]),
        answer(1, 0, &[(10, "a", Some(1)), (25, "b", Some(1))]),
        answer(2, 0, &[(10, "a", Some(1))]),
    ];
    let log = log("/generate", records, None);
    let policy = MetricPolicy::native().with_slos([Slo::new(Latency::Ttst, 20.0).unwrap()]);
    let metrics = Metrics::score(&log, &policy);
    let summary = metrics.latency(Latency::Ttst).unwrap();
    assert_eq!((summary.samples, summary.mean_ms), (2, Some(20.0)));
    // An answer of one token has no second token to wait for.
    assert_eq!(metrics.goodput.as_ref().unwrap().good, 2);
    let figure: Figure = "ttst:mean".parse().unwrap();
    assert_eq!(figure.read(&metrics), Some(20.0));
    let objective: Objective = "ttst:p99<=30ms".parse().unwrap();
    let mut evidence = Evidence::of(&[objective]);
    evidence.add(&log, &policy, JudgedPart::Whole);
    assert_eq!(evidence.judge(0.95)[0].objective, objective);
    assert!("ttst:p99=3%".parse::<Tolerance>().is_ok());
}

#[test]
fn the_simulators_truth_is_compared_request_by_request() {
    let records = vec![
        answer(0, 0, &[(11, "a", None), (22, "b", None)]),
        answer(1, 5, &[(17, "a", None)]),
        answer(2, 6, &[(17, "a", None)]),
    ];
    let mut footer = Footer::default();
    footer.truth = vec![
        SimulatedTimes::new((0, 0), vec![10 * MILLISECOND, 20 * MILLISECOND]),
        SimulatedTimes::new((1, 0), vec![11 * MILLISECOND, 12 * MILLISECOND]),
    ];
    let metrics = Metrics::score(&log("/generate", records, Some(footer)), &MetricPolicy::native());
    let truth = metrics.truth.unwrap();
    assert_eq!((truth.requests, truth.without_truth, truth.other_pieces), (2, 1, 1));
    assert_eq!((truth.mean_ttft.reported_ms, truth.mean_ttft.difference_ms), (11.5, 1.0));
    assert_eq!(truth.max_itl.map(|deviation| deviation.difference_ms), Some(1.0));
}

#[test]
fn a_killed_run_is_scored_and_marked() {
    let records = vec![answer(0, 100, &[(600, "a", None)])];
    let killed = Metrics::score(&log("/generate", records.clone(), None), &MetricPolicy::native());
    assert_eq!((killed.completeness, killed.duration_s), (Completeness::Killed, 0.5));
    let mut footer = Footer::default();
    (footer.ended, footer.interrupted) = (at(1100), true);
    let log = log("/generate", records, Some(footer));
    let stopped = Metrics::score(&log, &MetricPolicy::native());
    assert_eq!((stopped.completeness, stopped.duration_s), (Completeness::Interrupted, 0.5));
}

#[test]
fn the_duration_ends_with_the_last_byte_and_not_when_the_client_noticed() {
    let records = vec![answer(0, 100, &[(600, "a", None)]), answer(1, 100, &[(400, "a", None)])];
    let mut footer = Footer::default();
    footer.ended = at(935);
    let log = log("/generate", records, Some(footer));
    let seconds = |policy| Metrics::score(&log, &policy).duration_s;
    assert_eq!((seconds(MetricPolicy::native()), seconds(MetricPolicy::sglang())), (0.5, 0.835));
}

#[test]
fn tokens_that_came_with_the_first_took_no_time_of_their_own() {
    let tpot_ms = |pieces: &[(u64, &str, Option<u32>)], policy| {
        let log = log("/generate", vec![answer(0, 0, pieces)], None);
        Metrics::score(&log, &policy).latencies.tpot.mean_ms
    };
    let pieces = [(40, "abcd", Some(4)), (80, "efgh", Some(4)), (120, "ijkl", Some(4))];
    assert_eq!(tpot_ms(&pieces, MetricPolicy::native()), Some(10.0));
    let sglangs = tpot_ms(&pieces, MetricPolicy::sglang()).unwrap();
    assert!((sglangs - 80.0 / 11.0).abs() < 1e-9, "{sglangs}");
    // All tokens came at once, so there is no time between them.
    assert_eq!(tpot_ms(&pieces[..1], MetricPolicy::native()), None);
}

/// Scores pieces that the server counts as one token each, and its tokenizer, given each piece
/// alone, as two.
fn marked(usage: Option<u32>, placed: Vec<u32>) -> Vec<f64> {
    let mut recorder = request(0, 0);
    (0..8).for_each(|piece| self::piece(&mut recorder, 10 * (piece + 1), Delta::content("x")));
    recorder.at(at(80)).usage(Usage::new(None, usage));
    let mut footer = Footer::default();
    footer.retokenized = vec![Retokenized::new((0, 0), 8, vec![2; 8]).with_placed(placed)];
    let log = log("/v1/completions", vec![finish(recorder)], Some(footer));
    let score = only_score(&log, &MetricPolicy::native());
    score.itl_s.iter().map(|gap| (gap * 1000.0).round()).collect()
}

#[test]
fn a_piece_is_one_token_where_there_are_as_many_as_the_server_counts() {
    assert_eq!(marked(Some(8), vec![]), [10.0; 7]);
    assert_eq!(marked(Some(8), vec![3, 5, 0, 0, 0, 0, 0, 0]), [10.0; 7]);
}

#[test]
fn tokens_of_pieces_are_those_of_the_whole_text() {
    // The tokens are assigned by their offsets where those are known.
    let placed = vec![1, 0, 2, 1, 1, 1, 1, 1];
    assert_eq!(marked(Some(9), placed.clone()), [10.0; 7]);
    assert_eq!(marked(None, placed), [10.0; 7]);
    // Otherwise the counts of the pieces are scaled to the count of the whole text.
    assert_eq!(marked(None, vec![]), [10.0; 7]);
}

/// Generates requests in the order of the plan, and the same requests in some order of ending.
fn shuffled() -> impl Strategy<Value = (Vec<RequestRecord>, Vec<RequestRecord>)> {
    let request = (0u64..50, 1u64..40, any::<bool>());
    prop::collection::vec(request, 1..20).prop_flat_map(|requests| {
        let numbered = requests.into_iter().enumerate();
        let records: Vec<_> =
            numbered.map(|(index, request)| generated_record(index, request)).collect();
        (Just(records.clone()), Just(records).prop_shuffle())
    })
}

fn generated_record(index: usize, (due, length, ends_well): (u64, u64, bool)) -> RequestRecord {
    if ends_well {
        answer(index, due, &[(due + length, "a", None), (due + 2 * length, "b", None)])
    } else {
        failure(index, due, ErrorKind::Status, "500")
    }
}

proptest! {
    /// Shards append to one log in any order.
    #[test]
    fn the_order_in_which_requests_end_changes_nothing((planned, ended) in shuffled()) {
        for policy in [MetricPolicy::native(), MetricPolicy::sglang()] {
            let by_plan = Metrics::score(&log("/generate", planned.clone(), None), &policy);
            let by_end = Metrics::score(&log("/generate", ended.clone(), None), &policy);
            prop_assert_eq!(by_plan, by_end);
        }
    }

    /// Every token after the first has one gap, and the gaps add up to the decoding time.
    #[test]
    fn gaps_per_token_cover_the_time_from_first_to_last(
        pieces in prop::collection::vec((1u64..50, 1u32..5), 1..30),
    ) {
        let mut now = 0;
        let mut recorder = request(0, 0);
        for &(gap, tokens) in &pieces {
            now += gap;
            piece(&mut recorder, now, Delta::content("x").with_tokens(Some(tokens)));
        }
        let log = log("/generate", vec![finish(recorder)], None);
        let score = only_score(&log, &MetricPolicy::native());
        let tokens: u32 = pieces.iter().map(|(_, tokens)| tokens).sum();
        prop_assert_eq!(score.itl_s.iter().count() as u32, tokens - 1);
        prop_assert!((score.itl_s.iter().sum::<f64>() - score.decode_s).abs() < 1e-9);
    }
}

/// Returns a turn of a session whose first piece comes after `ttft` milliseconds.
fn turn(key: RequestKey, follow_ups: u32, ttft: u64, cached: u32) -> RequestRecord {
    let mut recorder = request(key.0, 0).of_turn(key.1, follow_ups);
    piece(&mut recorder, ttft, Delta::content("x"));
    let usage = Usage::new(Some(100 * (key.1 + 1)), Some(1)).with_cached(Some(cached));
    recorder.at(at(ttft)).usage(usage);
    finish(recorder)
}

#[test]
fn turns_are_scored_apart_and_counted_by_the_server() {
    let failed = request(1, 0).of_turn(1, 3);
    let failed = failed.finish(Err(RequestError::new(ErrorKind::Status, "500")), at(9));
    let records = vec![
        turn((0, 0), 2, 10, 0),
        turn((0, 1), 1, 20, 150),
        turn((0, 2), 0, 30, 300),
        turn((1, 0), 4, 12, 20),
        failed,
    ];
    let metrics =
        Metrics::score(&log("/v1/chat/completions", records, None), &MetricPolicy::native());
    let sessions = metrics.sessions.unwrap();
    assert_eq!((sessions.begun, sessions.ended_early, sessions.turns_unsent), (2, 1, 3));
    let means: Vec<_> = sessions.turns.iter().map(|turn| turn.ttft.mean_ms).collect();
    assert_eq!(means, [Some(11.0), Some(20.0), Some(30.0)]);
    let shares: Vec<_> = sessions.turns.iter().map(|turn| turn.cached_share).collect();
    assert_eq!(shares, [Some(0.1), Some(0.75), Some(1.0)]);
    assert_eq!((sessions.turns[1].requests, sessions.turns[1].failed), (2, 1));
    // By the server's counts of the requests that succeeded: 100, 200, 300 and 100.
    assert_eq!((metrics.tokens.input, metrics.tokens.input_text), (700, 700));
}

#[test]
fn late_turns_are_taken_together_and_single_requests_are_no_sessions() {
    let records = (0..12).map(|number| turn((0, number), 11 - number, 10, 0)).collect();
    let log_of = |records| log("/v1/chat/completions", records, None);
    let metrics = Metrics::score(&log_of(records), &MetricPolicy::native());
    let turns = metrics.sessions.unwrap().turns;
    assert_eq!(turns.len(), 8);
    assert_eq!((turns[7].turn, turns[7].and_later, turns[7].requests), (8, true, 5));
    assert!(!turns[6].and_later);
    let alone = Metrics::score(&log_of(vec![turn((0, 0), 0, 10, 0)]), &MetricPolicy::native());
    assert_eq!(alone.sessions, None);
}
