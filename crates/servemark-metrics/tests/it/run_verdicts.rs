//! Verdicts on runs, and their settled part, from made-up logs.

use std::collections::VecDeque;

use servemark_core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark_metrics::{
    Audit, Latency, Level, MetricPolicy, Metrics, Objective, RunVerdict, RunVerdictKind,
    SettledRun, SettledStatus, SettlingOf, SloVerdict, UndecidedReason, Verdict, gate,
};
use servemark_rng::NumpyRandom;

/// A request to be recorded; times are in seconds.
struct RequestCase {
    due: f64,
    ttft: f64,
    /// Number of pieces, each of one token.
    pieces: u32,
    gap: f64,
    requested: u32,
    /// The server's count of output tokens.
    usage: Option<u32>,
}

impl RequestCase {
    fn new(due: f64, ttft: f64) -> Self {
        Self { due, ttft, pieces: 8, gap: 0.01, requested: 8, usage: Some(8) }
    }

    fn record(&self, index: usize) -> RequestRecord {
        let sample = Sample::new("", 10, self.requested);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, at(self.due));
        recorder.granted(at(self.due));
        recorder.record_sent(at(self.due));
        for piece in 0..self.pieces {
            let now = at(self.due + self.ttft + f64::from(piece) * self.gap);
            recorder.body(now, 1);
            recorder.at(now).delta(Delta::content("x"));
        }
        let end = at(self.due + self.ttft + f64::from(self.pieces - 1) * self.gap);
        if let Some(tokens) = self.usage {
            recorder.at(end).usage(Usage::new(Some(10), Some(tokens)));
        }
        recorder.finish(Ok(Finish::default()), end)
    }
}

#[expect(clippy::cast_sign_loss, reason = "times of a run are not negative")]
fn at(seconds: f64) -> Stamp {
    Stamp::from_nanos((seconds * 1e9).round() as u64)
}

fn log(requests: &[RequestCase], rate: Option<f64>, limit: Option<usize>) -> RunLog {
    let mut facts = RunFacts::default();
    "/v1/completions".clone_into(&mut facts.api_path);
    (facts.request_rate, facts.max_concurrency) = (rate, limit);
    facts.requests = requests.len();
    let records: Vec<RequestRecord> =
        requests.iter().enumerate().map(|(index, request)| request.record(index)).collect();
    let mut footer = Footer::default();
    footer.ended = records.iter().map(|record| record.ended).max().unwrap_or_default();
    RunLog::new(Header::new(0, facts, serde_json::Value::Null), records, Some(footer))
}

fn native(log: &RunLog) -> Metrics {
    Metrics::score(log, &MetricPolicy::native())
}

fn kinds(metrics: &Metrics) -> Vec<RunVerdictKind> {
    metrics.verdicts.iter().map(|verdict| verdict.kind).collect()
}

fn settled_run(metrics: &Metrics) -> &SettledRun {
    metrics.settled.as_ref().unwrap()
}

/// Returns an open loop of ten requests per second. Times to first token are around 100 ms times
/// `level` of the request.
fn open_loop(requests: usize, seed: u32, level: impl Fn(usize) -> f64) -> Vec<RequestCase> {
    let mut random = NumpyRandom::seeded(seed);
    let mut due = 0.0;
    let mut next = |index| {
        due += random.exponential(0.1);
        RequestCase::new(due, 0.1 * level(index) * random.normal(1.0, 0.1).max(0.5))
    };
    (0..requests).map(&mut next).collect()
}

#[test]
fn a_steady_run_has_no_verdict_and_is_settled_from_its_start() {
    let metrics = native(&log(&open_loop(500, 1, |_| 1.0), Some(10.0), None));
    assert_eq!(kinds(&metrics), []);
    let settled = settled_run(&metrics);
    assert_eq!((settled.status, &settled.part), (SettledStatus::Whole, &None));
}

#[test]
fn a_slow_first_part_is_a_warm_up_with_its_figure_and_length() {
    let slow_start = open_loop(500, 2, |index| if index < 100 { 2.0 } else { 1.0 });
    let metrics = native(&log(&slow_start, Some(10.0), None));
    assert_eq!(kinds(&metrics), [RunVerdictKind::WarmingUp]);
    let reason = &metrics.verdicts[0].reason;
    assert!(reason.starts_with("TTFT (ms): ") && reason.contains(" until "), "{reason}");
    let settled = settled_run(&metrics);
    let part = settled.part.as_ref().unwrap();
    assert!((7.0..16.0).contains(&part.from_s), "{}", part.from_s);
    let (whole, rest) = (&metrics.latencies.ttft, &part.latencies.ttft);
    assert!(whole.mean_ms.unwrap() > 115.0, "{whole:?}");
    assert!((rest.mean_ms.unwrap() - 100.0).abs() < 3.0, "{rest:?}");
    assert!(part.requests >= 330 && part.requests <= 410, "{}", part.requests);
    assert!((part.requests_per_s - 10.0).abs() < 1.5, "{}", part.requests_per_s);
    assert!((part.output_tokens_per_s.unwrap() - 80.0).abs() < 12.0, "{part:?}");
    assert!((part.in_flight - 1.7).abs() < 0.4, "{}", part.in_flight);
}

#[test]
fn a_closed_loop_that_begins_with_a_queue_has_a_warm_up() {
    // 16 users send at once, so the first answers wait for each other.
    let mut random = NumpyRandom::seeded(3);
    let mut free: VecDeque<f64> = VecDeque::from([0.0; 16]);
    let mut requests = Vec::new();
    for index in 0..640 {
        let due = free.pop_front().unwrap();
        let slow = if index < 64 { 4.0 } else { 1.0 };
        let made = RequestCase::new(due, 0.2 * slow * random.normal(1.0, 0.1));
        let end = due + made.ttft + 0.07;
        let place = free.partition_point(|other| *other <= end);
        free.insert(place, end);
        requests.push(made);
    }
    let metrics = native(&log(&requests, None, Some(16)));
    assert_eq!(kinds(&metrics), [RunVerdictKind::WarmingUp]);
    let part = settled_run(&metrics).part.as_ref().unwrap();
    // No requests followed the last sixteen.
    assert!(part.requests <= 640 - 16 - 50, "{}", part.requests);
    assert!((part.latencies.ttft.mean_ms.unwrap() - 200.0).abs() < 10.0);
    assert!((part.in_flight - 16.0).abs() < 0.5, "{}", part.in_flight);
}

#[test]
fn a_change_in_the_second_half_leaves_no_settled_part_and_is_no_warm_up() {
    let late = open_loop(500, 4, |index| if index < 400 { 1.0 } else { 2.0 });
    let metrics = native(&log(&late, Some(10.0), None));
    assert_eq!(kinds(&metrics), []);
    let settled = settled_run(&metrics);
    assert_eq!(settled.status, SettledStatus::None);
    let reason = settled.reason.as_ref().unwrap();
    assert!(
        reason.starts_with("TTFT (ms): 1") && reason.ends_with("not settled after that"),
        "{reason}"
    );
    let ttft = settled
        .figures
        .iter()
        .find(|figure| figure.figure == SettlingOf::Latency(Latency::Ttft))
        .unwrap();
    assert!(matches!(ttft.level, Level::Unsettled(_)), "{ttft:?}");
}

#[test]
fn a_burst_and_a_short_run_say_why_they_have_no_settled_part() {
    let burst: Vec<RequestCase> =
        (0..200).map(|index| RequestCase::new(0.0, 0.1 + 0.01 * f64::from(index))).collect();
    let metrics = native(&log(&burst, None, None));
    let why = |metrics: &Metrics| settled_run(metrics).reason.clone().unwrap();
    assert_eq!(why(&metrics), "requests were sent in only 0 % of the run's time");
    let short = native(&log(&open_loop(30, 1, |_| 1.0), Some(10.0), None));
    assert!(why(&short).starts_with("too few requests"), "{}", why(&short));
}

#[test]
fn a_server_that_falls_behind_is_saturated_and_not_warming_up() {
    // Twenty requests are due each second and ten are done.
    let requests: Vec<RequestCase> = (0..400)
        .map(|index| {
            let due = f64::from(index) * 0.05;
            RequestCase::new(due, f64::from(index) * 0.1 - due + 0.1)
        })
        .collect();
    let metrics = native(&log(&requests, Some(20.0), None));
    assert_eq!(kinds(&metrics), [RunVerdictKind::Saturated]);
    let reason = &metrics.verdicts[0].reason;
    assert!(reason.starts_with("asked 20.0 requests/s, done 10.0/s"), "{reason}");
}

#[test]
fn a_client_that_sends_late_does_not_make_the_server_saturated() {
    let requests = open_loop(400, 3, |_| 1.0);
    let mut log = log(&requests, Some(10.0), None);
    // Each request leaves the client half as late again as it was due.
    let late = |stamp: Stamp, due: Stamp| Stamp::from_nanos(stamp.as_nanos() + due.as_nanos() / 2);
    let records = log.records().iter().enumerate().map(|(index, record)| {
        let mut recorder =
            Recorder::new(index, Phase::Measure, &Sample::new("", 10, 8), record.scheduled);
        recorder.granted(record.scheduled);
        recorder.record_sent(late(record.started(), record.scheduled));
        for row in record.deltas.rows() {
            recorder.at(late(row.at, record.scheduled)).delta(Delta::content("x"));
        }
        let end = late(record.ended, record.scheduled);
        recorder.at(end).usage(Usage::new(Some(10), Some(8)));
        recorder.finish(Ok(Finish::default()), end)
    });
    log = RunLog::new(log.header().clone(), records.collect(), None);
    assert_eq!(kinds(&native(&log)), []);
    assert_eq!(RunVerdict::of_log(&log), []);
    let audit = Audit::of(&log);
    assert_eq!(audit.verdict, Verdict::ClientLimited);
    let objectives = Objective::list("ttft:p90<1s").unwrap();
    let judged = gate(&log, &audit, &objectives, &MetricPolicy::native(), 0.95);
    assert_eq!(judged[0].verdict, SloVerdict::Undecided);
    assert_eq!(judged[0].doubt, Some(UndecidedReason::ClientLimited), "{}", judged[0]);
}

#[test]
fn the_verdicts_of_a_log_are_those_of_its_metrics() {
    let slow_start = open_loop(500, 2, |index| if index < 100 { 2.0 } else { 1.0 });
    let log = log(&slow_start, Some(10.0), None);
    assert_eq!(RunVerdict::of_log(&log), native(&log).verdicts);
    assert_eq!(kinds(&native(&log)), [RunVerdictKind::WarmingUp]);
}

#[test]
fn answers_shorter_than_asked_for_are_told() {
    let mut requests = open_loop(100, 1, |_| 1.0);
    for request in &mut requests {
        request.requested = 64;
    }
    let metrics = native(&log(&requests, Some(10.0), None));
    assert_eq!(kinds(&metrics), [RunVerdictKind::ShortOutputs]);
    assert_eq!(metrics.verdicts[0].reason, "8 tokens of 64 asked for, on average");
}

/// A run that was killed has no counts of a tokenizer yet.
#[test]
fn answers_whose_tokens_were_not_counted_are_not_called_short() {
    let mut requests = open_loop(100, 1, |_| 1.0);
    for request in &mut requests {
        (request.requested, request.usage) = (64, None);
    }
    let metrics = native(&log(&requests, Some(10.0), None));
    assert_eq!(metrics.tokens.output, None);
    assert_eq!(kinds(&metrics), []);
    for counted in requests.iter_mut().step_by(5) {
        counted.usage = Some(16);
    }
    let metrics = native(&log(&requests, Some(10.0), None));
    assert_eq!(metrics.verdicts[0].reason, "16 tokens of 64 asked for, on average");
}

#[test]
fn pieces_that_are_no_tokens_are_told() {
    let mut requests = open_loop(100, 1, |_| 1.0);
    for request in &mut requests {
        (request.requested, request.usage) = (24, Some(24));
    }
    let metrics = native(&log(&requests, Some(10.0), None));
    assert_eq!(kinds(&metrics), [RunVerdictKind::UnknownTokens]);
    assert_eq!(metrics.verdicts[0].reason, "800 pieces for 2400 tokens by the server's count");
}

#[test]
fn the_peers_have_neither_verdicts_nor_a_settled_part() {
    let slow_start = open_loop(500, 2, |index| if index < 100 { 2.0 } else { 1.0 });
    let log = log(&slow_start, Some(10.0), None);
    for policy in [MetricPolicy::sglang(), MetricPolicy::vllm(), MetricPolicy::aisbench()] {
        let metrics = Metrics::score(&log, &policy);
        assert_eq!((metrics.settled, metrics.verdicts), (None, Vec::new()));
    }
}

/// Returns the requests of sixteen servers that take a second each, at 70 % of their capacity. The
/// queue starts empty.
fn queue(seed: u32) -> Vec<RequestCase> {
    let mut random = NumpyRandom::seeded(seed);
    let mut free: VecDeque<f64> = VecDeque::from([0.0; 16]);
    let mut due = 0.0;
    let mut next = || {
        due += random.exponential(1.0 / (0.7 * 16.0));
        let begins = free.pop_front().map_or(due, |free| free.max(due));
        free.push_back(begins + 1.0);
        let gap = 0.9 / 7.0 * random.normal(1.0, 0.02);
        RequestCase {
            gap,
            ..RequestCase::new(due, begins - due + 0.05 + 1e-6 * random.random_sample())
        }
    };
    (0..1000).map(|_| next()).collect()
}

#[test]
fn a_steady_queue_is_rarely_called_warming_up_by_any_figure() {
    let called = |seed: &u32| {
        let metrics = native(&log(&queue(*seed), Some(11.2), None));
        kinds(&metrics).contains(&RunVerdictKind::WarmingUp)
    };
    let called: Vec<u32> = (0..60).filter(called).collect();
    assert!(called.len() <= 3, "{called:?}");
}
