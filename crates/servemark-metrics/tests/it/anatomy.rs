//! The parts of requests, from records with times of servers in each form.

use std::time::Duration;

use servemark_core::{
    Arrival, ArrivalClock, Delta, Finish, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog,
    Sample, SeriesHead, SeriesKind, ServerTimes, Sink, Stamp, Telemetry, TelemetryLine,
    TelemetrySample, TelemetrySource,
};
use servemark_metrics::{
    Anatomy, ComparedRun, Comparison, Evidence, Figure, JudgedPart, MetricPolicy, Metrics,
    Objective, RequestPart, SloVerdict,
};

const STARTED: u64 = 1_795_350_000_000_000_000;
const SECOND: i64 = 1_000_000_000;

fn at(us: u64) -> Stamp {
    Stamp::from_nanos(us * 1000)
}

/// What happened to a request, in microseconds of the client's clock; the server's instants too.
#[derive(Clone, Copy)]
struct Life {
    due: u64,
    granted: u64,
    sent: u64,
    received: u64,
    answered: u64,
    arrived: u64,
    read: u64,
    ended: u64,
}

impl Life {
    /// A request with a gate wait of 1 ms, a send lag of 0.1 ms, ways of `there` and `back`
    /// microseconds, 20 ms in the server and 10 ms after the first output.
    fn of(due: u64, there: u64, back: u64) -> Self {
        let sent = due + 1100;
        let received = sent + there;
        let answered = received + 20_000;
        let arrived = answered + back;
        let (granted, read, ended) = (due + 1000, arrived + 30, arrived + 10_000);
        Self { due, granted, sent, received, answered, arrived, read, ended }
    }

    fn record(self, index: usize, times: Option<ServerTimes>) -> RequestRecord {
        let mut recorder =
            Recorder::new(index, Phase::Measure, &Sample::new("hi", 1, 2), at(self.due));
        recorder.granted(at(self.granted));
        recorder.record_sent(at(self.sent));
        recorder.arrival_clock(ArrivalClock::Kernel);
        let first = Arrival::new(at(self.arrived), at(self.read));
        recorder.output(first, Delta::content("a"));
        recorder.output(at(self.ended), Delta::content("b"));
        if let Some(times) = times {
            recorder.at(at(self.ended)).server_times(times);
        }
        recorder.finish(Ok(Finish::default()), at(self.ended))
    }

    /// The server's instants by a clock that is `skew` nanoseconds ahead of the client's.
    fn instants(self, skew: i64) -> (Option<u64>, Option<u64>) {
        let by_server = |us: u64| (STARTED + us * 1000).checked_add_signed(skew);
        (by_server(self.received), by_server(self.answered))
    }
}

fn log(records: Vec<RequestRecord>) -> RunLog {
    RunLog::new(Header::new(STARTED, RunFacts::default(), serde_json::Value::Null), records, None)
}

#[track_caller]
fn close(actual: Option<f64>, expected: f64) {
    let actual = actual.unwrap();
    assert!((actual - expected).abs() < 1e-6, "{actual} is not {expected}");
}

fn mean(anatomy: &Anatomy, part: RequestPart) -> Option<f64> {
    anatomy.part(part).map(|part| part.mean_ms)
}

#[test]
fn durations_alone_need_no_clock() {
    let times = ServerTimes::new(Some(4.0), Some(15.0)).with_decode(Some(10.0));
    let records =
        (0..5).map(|index| Life::of(index * 50_000, 40, 60).record(index as usize, Some(times)));
    let anatomy = Anatomy::of(&log(records.collect()));
    assert_eq!((anatomy.requests, anatomy.with_server_times, &anatomy.clock), (5, 5, &None));
    for (part, expected) in [
        (RequestPart::GateWait, 1.0),
        (RequestPart::SendLag, 0.1),
        (RequestPart::ServerQueue, 4.0),
        (RequestPart::Prefill, 15.0),
        (RequestPart::InsideServer, 1.1),
        (RequestPart::ReadLag, 0.03),
        (RequestPart::Decode, 10.0),
    ] {
        close(mean(&anatomy, part), expected);
    }
    assert_eq!(mean(&anatomy, RequestPart::RequestTransit), None);
    let [there, back] = [RequestPart::RequestTransit, RequestPart::ResponseTransit];
    assert_eq!(anatomy.untold, [there, RequestPart::ServerFrontend, back]);
    let shares: f64 = anatomy.parts.iter().map(|part| part.share_of_mean).sum();
    let of_p99: f64 = anatomy.parts.iter().map(|part| part.share_of_p99).sum();
    let of_ttft: f64 = anatomy.parts.iter().filter_map(|part| part.share_of_mean_ttft).sum();
    for shares in [shares, of_p99, of_ttft] {
        close(Some(shares), 1.0);
    }
    close(Some(anatomy.residual_ms.p999), 0.0);
}

/// Tokens that came from another server are counted by vLLM as a source of prompt tokens.
#[test]
fn a_time_to_first_token_with_a_transfer_is_no_prefill() {
    let times = ServerTimes::new(Some(4.0), Some(15.0));
    let counted = |tokens: [f64; 2]| {
        let records = (0..5u64).map(|index| {
            let life = Life::of(1_000_000 + index * 50_000, 40, 60);
            life.record(index as usize, Some(times))
        });
        let mut telemetry = Telemetry::default();
        telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "http://server/metrics")));
        let head = SeriesHead::new(0, 0, "transferred_tokens", SeriesKind::Counter);
        telemetry.add(TelemetryLine::Series(head));
        for (at_ms, value) in [900, 1300].into_iter().zip(tokens) {
            let mut sample = TelemetrySample::new(0, at(at_ms * 1000), 0);
            sample.values = vec![(0, value)];
            telemetry.add(TelemetryLine::Sample(sample));
        }
        Anatomy::of(&log(records.collect()).with_telemetry(telemetry))
    };
    let none = counted([70.0, 70.0]);
    close(mean(&none, RequestPart::Prefill), 15.0);
    assert_eq!(none.together, []);
    let some = counted([70.0, 90.0]);
    assert_eq!(mean(&some, RequestPart::Prefill), None);
    close(mean(&some, RequestPart::InsideServer), 16.1);
    assert_eq!(some.together, [RequestPart::Prefill, RequestPart::KvTransfer]);
    close(Some(some.residual_ms.p999), 0.0);
}

#[test]
fn the_servers_clock_is_placed_by_the_shortest_ways() {
    for skew in [0, 5 * SECOND, -5 * SECOND] {
        let lives = (0..50u64).map(|index| {
            let slow = 40 + 100 * (index % 7);
            Life::of(index * 50_000, slow, 60 + 90 * (index % 5))
        });
        let records = lives.enumerate().map(|(index, life)| {
            let (received, answered) = life.instants(skew);
            let times = ServerTimes::new(Some(2.0), None)
                .with_frontend(Some(1.0))
                .with_prefill(Some(16.5))
                .with_instants(received, answered);
            life.record(index, Some(times))
        });
        let anatomy = Anatomy::of(&log(records.collect()));
        let clock = anatomy.clock.as_ref().unwrap();
        // Of the shortest ways, 40 us there and 60 us back, the middle is 10 us off.
        close(Some(clock.offset_ms), skew as f64 / 1e6 - 0.01);
        close(Some(clock.bound_ms), 0.05);
        assert_eq!(clock.stretches, 1);
        close(mean(&anatomy, RequestPart::InsideServer), 0.5);
        close(mean(&anatomy, RequestPart::ServerFrontend), 1.0);
        close(anatomy.part(RequestPart::RequestTransit).map(|part| part.max_ms), 0.65);
        close(anatomy.part(RequestPart::ResponseTransit).map(|part| part.max_ms), 0.41);
        assert!(anatomy.residual_ms.p999 < 1e-6);
    }
}

#[test]
fn a_clock_that_steps_is_placed_on_each_side_of_the_step() {
    let records = (0..64u64).map(|index| {
        let life = Life::of(index * 50_000, 40, 60);
        let skew = if index < 40 { SECOND } else { 2 * SECOND };
        let (received, answered) = life.instants(skew);
        let times = ServerTimes::default().with_instants(received, answered);
        life.record(index as usize, Some(times))
    });
    let anatomy = Anatomy::of(&log(records.collect()));
    let clock = anatomy.clock.as_ref().unwrap();
    assert!(clock.stretches > 1, "{clock:?}");
    close(Some(clock.bound_ms), 0.05);
    let p99 = |part| anatomy.part(part).map(|part| part.p99_ms);
    close(p99(RequestPart::RequestTransit), 0.05);
    close(p99(RequestPart::ResponseTransit), 0.05);
}

#[test]
fn a_server_that_claims_more_time_than_there_was_leaves_a_residual() {
    let times = ServerTimes::new(Some(4.0), Some(30.0));
    let record = Life::of(0, 40, 60).record(0, Some(times));
    let anatomy = Anatomy::of(&log(vec![record]));
    close(Some(anatomy.residual_ms.p50), 13.9);
    close(mean(&anatomy, RequestPart::InsideServer), 0.0);
}

#[test]
fn requests_without_times_of_a_server_have_the_clients_parts() {
    let records = vec![Life::of(0, 40, 60).record(0, None)];
    let anatomy = Anatomy::of(&log(records));
    assert_eq!(anatomy.with_server_times, 0);
    close(mean(&anatomy, RequestPart::InsideServer), 20.1);
    close(mean(&anatomy, RequestPart::Decode), 10.0);
    let json = serde_json::to_value(&anatomy).unwrap();
    assert_eq!(json["clock"], serde_json::Value::Null);
    assert_eq!(json["parts"][0]["name"], "gate_wait");
    assert!(json["residual_ms"]["p99.9"].is_number());
}

#[test]
fn a_document_has_the_servers_parts_and_no_first_output() {
    let life = Life::of(0, 40, 60);
    let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("hi", 1, 2), at(life.due));
    recorder.granted(at(life.granted));
    recorder.record_sent(at(life.sent));
    recorder.output(at(life.arrived), Delta::content("ab"));
    recorder.document();
    let times = ServerTimes::new(Some(4.0), None).with_prefill(Some(6.0)).with_decode(Some(8.0));
    recorder.at(at(life.arrived)).server_times(times);
    let record = recorder.finish(Ok(Finish::default()), at(life.arrived));
    let anatomy = Anatomy::of(&log(vec![record]));
    close(mean(&anatomy, RequestPart::InsideServer), 2.1);
    close(mean(&anatomy, RequestPart::Decode), 8.0);
    assert!(anatomy.parts.iter().all(|part| part.share_of_mean_ttft.is_none()));
    close(Some(anatomy.residual_ms.p50), 0.0);
}

#[test]
fn what_the_p99_is_made_of_is_not_what_the_mean_is_made_of() {
    let records = (0..200u64).map(|index| {
        let mut life = Life::of(index * 50_000, 40, 60);
        let queue = if index >= 198 { 300.0 } else { 1.0 };
        let later = if index >= 198 { 299_000 } else { 0 };
        life.answered += later;
        life.arrived += later;
        life.read += later;
        life.ended += later;
        let times = ServerTimes::new(Some(queue), Some(15.0));
        life.record(index as usize, Some(times))
    });
    let anatomy = Anatomy::of(&log(records.collect()));
    let queue = anatomy.part(RequestPart::ServerQueue).unwrap();
    assert!(queue.share_of_mean < 0.15, "{}", queue.share_of_mean);
    assert!(queue.share_of_p99 > 0.9, "{}", queue.share_of_p99);
}

#[test]
fn an_objective_can_name_a_part() {
    let records = (0..1200u64).map(|index| {
        // The words of a mixing function do not depend on each other.
        let word = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (word ^ (word >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let queue = 4.0 + (word >> 40) as f64 / f64::from(1 << 24);
        let times = ServerTimes::new(Some(queue), Some(13.0));
        Life::of(index * 50_000, 40, 60).record(index as usize, Some(times))
    });
    let log = log(records.collect());
    let objectives =
        Objective::list("server_queue:p99<200ms,prefill:mean<5ms,kv_transfer:p50<1ms").unwrap();
    let mut evidence = Evidence::of(&objectives);
    evidence.add(&log, &MetricPolicy::native(), JudgedPart::Whole);
    let verdicts: Vec<_> = evidence.judge(0.95).iter().map(|judged| judged.verdict).collect();
    assert_eq!(verdicts, [SloVerdict::Holds, SloVerdict::Fails, SloVerdict::Undecided]);
}

#[test]
fn an_old_record_has_no_further_times() {
    let life = Life::of(0, 40, 60).record(0, Some(ServerTimes::new(Some(1.5), Some(2.5))));
    let line = serde_json::to_value(&life).unwrap();
    assert_eq!(line["server_times"], serde_json::json!({"queue_ms": 1.5, "ttft_ms": 2.5}));
    let read: RequestRecord = serde_json::from_value(line).unwrap();
    assert_eq!(read, life);
    assert!(life.ended.since(life.scheduled) > Duration::ZERO);
}

#[test]
fn parts_are_limits_of_goodput_and_figures_of_comparisons() {
    // Queues of 0 to 15 ms, all equally often.
    let run = |step: usize| {
        let record = |index: usize| {
            let times = ServerTimes::new(Some((index * step % 16) as f64), None);
            let times = times.with_prefill(Some(2.0));
            Life::of(index as u64 * 10_000, 300, 200).record(index, Some(times))
        };
        log((0..400).map(record).collect())
    };
    let (before, after) = (run(7), run(11));
    let policy = MetricPolicy::native().with_slos(["server_queue:5".parse().unwrap()]);
    let goodput = Metrics::score(&before, &policy).goodput.unwrap();
    assert_eq!((goodput.good, goodput.by_slo[0].met), (150, 150));
    let figure: Figure = "server_queue:mean".parse().unwrap();
    let metrics = Metrics::score(&before, &MetricPolicy::native());
    assert_eq!(figure.read(&metrics), None, "only policies that ask for parts have them");
    let policy = MetricPolicy::native().with_parts([RequestPart::ServerQueue]);
    close(figure.read(&Metrics::score(&before, &policy)), 7.5);
    let json = serde_json::to_value(&policy).unwrap();
    assert_eq!(json["parts"], serde_json::json!(["server_queue"]));
    assert_eq!(serde_json::from_value::<MetricPolicy>(json).unwrap(), policy);
    let [before, after] =
        [&before, &after].map(|log| [ComparedRun::of_log(log, &policy, &[figure])]);
    let change = Comparison::of_runs(&before, &after, &[figure]).changes.pop().unwrap();
    close(Some(change.after), 7.5);
    assert!(change.basis.is_some(), "{change:?}");
}
