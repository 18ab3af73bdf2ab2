//! What limits a run: one scripted bottleneck for each cause, and runs that show none.

use std::collections::BTreeMap;
use std::time::Duration;

use servemark_core::{
    ArrivalClock, Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog,
    Sample, SeriesHead, SeriesKind, ServerTimes, Sink, SocketFacts, Stamp, Telemetry,
    TelemetryLine, TelemetrySample, TelemetrySource,
};
use servemark_metrics::{Anatomy, Audit, Confidence, Limit, LimitCause, RequestPart};

const STARTED: u64 = 1_795_350_000_000_000_000;

/// Milliseconds of each part of every request.
#[derive(Clone, Copy, Default)]
struct Parts {
    gate: u64,
    send_lag: u64,
    there: u64,
    frontend: u64,
    queue: u64,
    prefill: u64,
    kv_transfer: u64,
    back: u64,
    decode: u64,
    /// Pause in the middle of an answer, which is part of `decode`.
    pause: u64,
    /// Round trip that the kernel reports.
    rtt: u64,
    /// Whether the server reports no times.
    is_silent: bool,
}

fn at(ms: u64) -> Stamp {
    Stamp::ZERO + Duration::from_millis(ms)
}

impl Parts {
    fn record(self, index: usize) -> RequestRecord {
        let due = 10_000 + 100 * index as u64;
        let granted = due + self.gate;
        let sent = granted + self.send_lag;
        let received = sent + self.there;
        let inside = self.frontend + self.queue + self.prefill + self.kv_transfer;
        let answered = received + inside;
        let arrived = answered + self.back;
        let ended = arrived + self.decode;
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("hi", 1, 2), at(due));
        recorder.granted(at(granted));
        recorder.record_sent(at(sent));
        recorder.arrival_clock(ArrivalClock::Kernel);
        recorder.output(at(arrived), Delta::content("a"));
        if self.pause > 0 {
            let step = (self.decode - self.pause) / 4;
            let (early, late) = ([arrived + step, arrived + 2 * step], ended - step);
            for piece in early.into_iter().chain([late]) {
                recorder.output(at(piece), Delta::content("b"));
            }
        }
        recorder.output(at(ended), Delta::content("c"));
        let mut facts = SocketFacts::default();
        facts.min_rtt_us = Some(self.rtt as u32 * 1000);
        recorder.socket(facts);
        if !self.is_silent {
            let ms = |part: u64| Some(part as f64);
            let unix = |ms: u64| Some(STARTED + ms * 1_000_000);
            let times = ServerTimes::new(ms(self.queue), None)
                .with_frontend(ms(self.frontend))
                .with_prefill(ms(self.prefill))
                .with_kv_transfer((self.kv_transfer > 0).then_some(self.kv_transfer as f64))
                .with_instants(unix(received), unix(answered));
            recorder.at(at(ended)).server_times(times);
        }
        recorder.finish(Ok(Finish::default()), at(ended))
    }
}

/// A series of the server, and its readings every second from the first due time on.
type ServerSeries<'a> = (&'a str, SeriesKind, [f64; 4]);

fn log(parts: Parts, series: &[ServerSeries<'_>]) -> RunLog {
    labelled_log(parts, series, vec![BTreeMap::new(); series.len()])
}

fn labelled_log(
    parts: Parts,
    series: &[ServerSeries<'_>],
    labels: Vec<BTreeMap<String, String>>,
) -> RunLog {
    let mut telemetry = Telemetry::default();
    telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "http://server/metrics")));
    for ((id, (name, kind, _)), labels) in series.iter().enumerate().zip(labels) {
        let head = SeriesHead::new(id, 0, *name, *kind).with_labels(labels);
        telemetry.add(TelemetryLine::Series(head));
    }
    for second in 0..4 {
        let mut sample = TelemetrySample::new(0, at(10_000 + 1000 * second as u64), 0);
        sample.values = series.iter().map(|(_, _, values)| values[second]).enumerate().collect();
        telemetry.add(TelemetryLine::Sample(sample));
    }
    let mut facts = RunFacts::default();
    facts.max_concurrency = (parts.gate > 0).then_some(1);
    facts.request_rate = Some(10.0);
    let header = Header::new(STARTED, facts, serde_json::Value::Null);
    let records = (0..40).map(|index| parts.record(index)).collect();
    let mut footer = Footer::default();
    (footer.began, footer.ended) = (Some(at(10_000)), at(14_000));
    RunLog::new(header, records, Some(footer)).with_telemetry(telemetry)
}

fn limits(parts: Parts, series: &[ServerSeries<'_>]) -> Vec<Limit> {
    let log = log(parts, series);
    Limit::of(&log, &Audit::of(&log))
}

#[track_caller]
fn first(parts: Parts, series: &[ServerSeries<'_>], cause: LimitCause, evidence: &str) {
    let limits = limits(parts, series);
    let first = limits.first().unwrap_or_else(|| panic!("no cause instead of {cause:?}"));
    assert_eq!(first.cause, cause, "{limits:?}");
    assert!(first.evidence.contains(evidence), "{}", first.evidence);
}

/// A request in which nothing stands out.
fn even() -> Parts {
    Parts { there: 1, frontend: 4, queue: 5, prefill: 5, back: 1, decode: 10, ..Parts::default() }
}

#[test]
fn a_cache_that_is_full() {
    let full: ServerSeries<'_> = ("kv_use", SeriesKind::Gauge, [0.5, 0.97, 0.99, 1.0]);
    let parts = Parts { queue: 900, ..even() };
    first(parts, &[full], LimitCause::QueueKvCache, "full for 75 % of the time");
}

const fn gauge(name: &str, values: [f64; 4]) -> ServerSeries<'_> {
    (name, SeriesKind::Gauge, values)
}

/// Five blocks, of which each request takes two: a third request does not fit.
#[test]
fn a_cache_whose_blocks_do_not_divide_evenly_among_requests() {
    let parts = Parts { queue: 900, ..even() };
    let series = [
        gauge("kv_use", [0.8, 0.8, 0.8, 0.8]),
        gauge("running", [2.0, 2.0, 2.0, 2.0]),
        gauge("waiting", [7.0, 5.0, 3.0, 0.0]),
    ];
    first(parts, &series, LimitCause::QueueKvCache, "had no room for the next request for 100 %");
    let evidence = &limits(parts, &series)[0].evidence;
    assert!(evidence.contains("of which 80 % were in use"), "{evidence}");
    assert_eq!(limits(parts, &series)[0].confidence, Confidence::Medium);
    // Nineteen blocks, of which nine requests take eighteen.
    let series = [
        gauge("kv_use", [18.0 / 19.0; 4]),
        gauge("running", [9.0; 4]),
        gauge("waiting", [7.0, 5.0, 3.0, 1.0]),
    ];
    first(parts, &series, LimitCause::QueueKvCache, "of which 95 % were in use");
}

#[test]
fn a_cache_counts_as_full_while_requests_wait() {
    let parts = Parts { queue: 900, ..even() };
    let series = [
        gauge("kv_use", [1.0, 0.6, 0.3, 0.2]),
        gauge("running", [5.0, 3.0, 2.0, 1.0]),
        gauge("waiting", [4.0, 0.0, 0.0, 0.0]),
    ];
    let evidence = "full for 100 % of the time in which requests waited";
    first(parts, &series, LimitCause::QueueKvCache, evidence);
}

#[test]
fn places_that_are_all_taken_are_a_plain_queue_whatever_the_cache_holds() {
    let parts = Parts { queue: 900, ..even() };
    for (running, kv_use) in [
        (2.0, 0.1),
        // One more of these would just fit, also if the use is rounded.
        (2.0, 0.66),
        (2.0, 0.67),
        (9.0, 0.89),
        (64.0, 0.93),
    ] {
        let series = [
            gauge("kv_use", [kv_use; 4]),
            gauge("running", [running; 4]),
            gauge("waiting", [7.0, 5.0, 3.0, 1.0]),
        ];
        first(parts, &series, LimitCause::Queue, "900.0 ms in the server's queue");
    }
}

/// The cache of one of two engines is full, and its own requests decide how many it holds.
#[test]
fn each_engine_is_judged_by_its_own_requests() {
    let parts = Parts { queue: 900, ..even() };
    let labelled = |engine: &str| BTreeMap::from([("engine".to_owned(), engine.to_owned())]);
    let (idle, busy) = (labelled("0"), labelled("1"));
    let series: Vec<(_, ServerSeries<'_>)> = vec![
        (&idle, gauge("kv_use", [0.1; 4])),
        (&idle, gauge("running", [30.0; 4])),
        (&idle, gauge("waiting", [0.0; 4])),
        (&busy, gauge("kv_use", [0.8; 4])),
        (&busy, gauge("running", [2.0; 4])),
        (&busy, gauge("waiting", [50.0; 4])),
    ];
    let labels = series.iter().map(|(labels, _)| (*labels).clone()).collect();
    let series: Vec<_> = series.into_iter().map(|(_, series)| series).collect();
    let log = labelled_log(parts, &series, labels);
    let limits = Limit::of(&log, &Audit::of(&log));
    assert_eq!(limits[0].cause, LimitCause::QueueKvCache, "{limits:?}");
}

#[test]
fn too_few_places() {
    let half: ServerSeries<'_> = ("kv_use", SeriesKind::Gauge, [0.3, 0.4, 0.4, 0.4]);
    first(
        Parts { queue: 900, ..even() },
        &[half],
        LimitCause::Queue,
        "900.0 ms in the server's queue",
    );
}

#[test]
fn a_queue_of_a_server_that_says_nothing_of_requests() {
    let series: [ServerSeries<'_>; 2] = [
        ("waiting", SeriesKind::Gauge, [8.0, 8.0, 8.0, 8.0]),
        ("running", SeriesKind::Gauge, [4.0, 4.0, 4.0, 4.0]),
    ];
    let parts = Parts { queue: 300, is_silent: true, ..even() };
    first(parts, &series, LimitCause::Queue, "8.0 requests waited and 4.0 ran");
    assert_eq!(limits(parts, &series)[0].confidence, Confidence::Medium);
}

#[test]
fn slow_prefill() {
    first(Parts { prefill: 800, ..even() }, &[], LimitCause::Prefill, "prefill took 800.0 ms");
}

#[test]
fn slow_decode() {
    first(Parts { decode: 2000, ..even() }, &[], LimitCause::Decode, "99 % of the whole time");
}

#[test]
fn a_slow_transfer_between_workers() {
    first(Parts { kv_transfer: 300, ..even() }, &[], LimitCause::KvTransfer, "300.0 ms");
}

#[test]
fn a_slow_front_end() {
    first(Parts { frontend: 300, ..even() }, &[], LimitCause::InsideServer, "outside its queue");
}

#[test]
fn a_slow_network() {
    let parts = Parts { there: 80, back: 80, rtt: 160, ..even() };
    first(parts, &[], LimitCause::Network, "the ways there and back took 160.0 ms");
}

#[test]
fn a_slow_network_that_only_the_kernel_sees() {
    let parts = Parts { there: 80, back: 80, rtt: 160, is_silent: true, ..even() };
    first(parts, &[], LimitCause::Network, "the shortest round trip is 160.0 ms");
    assert_eq!(limits(parts, &[])[0].confidence, Confidence::Medium);
}

#[test]
fn the_loads_own_concurrency_limit() {
    first(Parts { gate: 900, ..even() }, &[], LimitCause::Gate, "900.0 ms at the gate");
}

/// A client that is late itself lets requests through late.
#[test]
fn without_a_concurrency_limit_there_is_no_gate() {
    let log = log(Parts { gate: 900, ..even() }, &[]);
    let mut facts = log.header().facts.clone();
    facts.max_concurrency = None;
    let header = Header::new(STARTED, facts, serde_json::Value::Null);
    let log = RunLog::new(header, log.records().to_vec(), log.footer().cloned());
    let limits = Limit::of(&log, &Audit::of(&log));
    assert!(limits.iter().all(|limit| limit.cause != LimitCause::Gate), "{limits:?}");
}

/// All requests were due at once, and each was let through when an earlier one had ended.
#[test]
fn the_limit_of_a_closed_loop_is_no_cause() {
    let parts = Parts { gate: 900, queue: 200, ..even() };
    let log = log(parts, &[]);
    let mut facts = log.header().facts.clone();
    facts.request_rate = None;
    let header = Header::new(STARTED, facts, serde_json::Value::Null);
    let log = RunLog::new(header, log.records().to_vec(), log.footer().cloned());
    let limits = Limit::of(&log, &Audit::of(&log));
    assert_eq!(limits.iter().map(|it| it.cause).collect::<Vec<_>>(), [LimitCause::Queue]);
    let anatomy = Anatomy::of(&log);
    let gate = anatomy.part(RequestPart::GateWait).unwrap();
    assert_eq!((gate.max_ms, anatomy.closed_loop), (0.0, true));
    assert!(anatomy.part(RequestPart::ServerQueue).unwrap().share_of_mean_ttft > Some(0.9));
    assert!(anatomy.residual_ms.p999 < 1e-6);
}

#[test]
fn preemptions() {
    let counted: ServerSeries<'_> = ("preemptions", SeriesKind::Counter, [0.0, 5.0, 9.0, 9.0]);
    first(even(), &[counted], LimitCause::Preemption, "preempted 9 requests");
    // No answer paused, so what they cost is not seen.
    let limits = limits(even(), &[counted]);
    assert_eq!(limits[0].confidence, Confidence::Medium);
    assert!(limits[0].evidence.contains("less than 1 % of the whole time"), "{limits:?}");
}

/// Of forty answers of 440 ms, each with a pause of 400 ms, the preemptions explain some or all.
#[test]
fn preemptions_weigh_as_much_as_the_time_that_they_cost() {
    let paused = Parts { decode: 440, pause: 400, ..even() };
    let counted = |count| ("preemptions", SeriesKind::Counter, [0.0, 1.0, count, count]);
    let causes = |count| limits(paused, &[counted(count)]);
    let most = causes(40.0);
    let named: Vec<_> = most.iter().map(|limit| limit.cause).collect();
    assert_eq!(named, [LimitCause::Preemption, LimitCause::Decode], "{most:?}");
    let evidence = "preempted 40 requests; as many of the longest pauses in answers, attributed to them by \
         their length, took at most 16.00 s, 88 %";
    assert!(most[0].evidence.contains(evidence), "{most:?}");
    // Which pauses are those of preemptions is not known.
    assert_eq!(most[0].confidence, Confidence::Medium);
    let few = causes(4.0);
    let named: Vec<_> = few.iter().map(|limit| limit.cause).collect();
    assert_eq!(named, [LimitCause::Decode, LimitCause::Preemption], "{few:?}");
    assert!(few[1].evidence.contains("took at most 1.60 s, 9 % of the whole time"), "{few:?}");
}

#[test]
fn one_preemption_of_many_requests_limits_nothing() {
    let log = {
        let counted = ("preemptions", SeriesKind::Counter, [0.0, 1.0, 1.0, 1.0]);
        let log = log(even(), &[counted]);
        let mut footer = Footer::default();
        (footer.began, footer.ended) = (Some(at(10_000)), at(40_000));
        let records = (0..200).map(|index| even().record(index)).collect();
        let telemetry = log.telemetry().clone();
        RunLog::new(log.header().clone(), records, Some(footer)).with_telemetry(telemetry)
    };
    assert_eq!(Limit::of(&log, &Audit::of(&log)), []);
}

#[test]
fn a_throttled_gpu() {
    // Bit 5 is a thermal slow-down by software, bit 0 an idle GPU.
    let reasons: ServerSeries<'_> = ("gpu_throttle", SeriesKind::Gauge, [1.0, 32.0, 32.0, 1.0]);
    first(even(), &[reasons], LimitCause::GpuThrottled, "for 50 % of the time");
    // Idle, clocks that were set, those of a group of GPUs, those of a display.
    for unslowed in [0x1, 0x2, 0x10, 0x100, 0x113] {
        let reasons = ("gpu_throttle", SeriesKind::Gauge, [f64::from(unslowed); 4]);
        assert_eq!(limits(even(), &[reasons]), [], "{unslowed:#x}");
    }
    for slowed in [0x4, 0x8, 0x40, 0x80, 0x101 + 0x20] {
        let reasons = ("gpu_throttle", SeriesKind::Gauge, [f64::from(slowed); 4]);
        first(even(), &[reasons], LimitCause::GpuThrottled, "for 100 % of the time");
    }
}

#[test]
fn without_evidence_there_is_no_cause() {
    assert_eq!(limits(even(), &[]), []);
    // The time inside a server that reports nothing may be anything.
    assert_eq!(limits(Parts { queue: 900, is_silent: true, ..even() }, &[]), []);
}

/// Returns the limits of a run whose server reports times that the client cannot have seen: those
/// of `parts`, changed by `change`.
fn limits_by_wrong_times(
    parts: Parts,
    series: &[ServerSeries<'_>],
    change: impl Fn(usize, ServerTimes) -> ServerTimes,
) -> Vec<Limit> {
    let log = log(parts, series);
    let wrong = |record: &RequestRecord| {
        let mut record = record.clone();
        record.server_times =
            record.server_times.map(|times| Box::new(change(record.index, *times)));
        record
    };
    let records = log.records().iter().map(wrong).collect();
    let telemetry = log.telemetry().clone();
    let log = RunLog::new(log.header().clone(), records, log.footer().cloned());
    let log = log.with_telemetry(telemetry);
    assert!(Anatomy::of(&log).residual_ms.p99 > 1000.0);
    Limit::of(&log, &Audit::of(&log))
}

/// A queue of a hundred seconds in requests of less than one.
fn endless_queue(_: usize, mut times: ServerTimes) -> ServerTimes {
    times.queue_ms = Some(100_000.0);
    times
}

#[test]
fn parts_that_exceed_the_whole_are_no_evidence() {
    assert_eq!(limits_by_wrong_times(even(), &[], endless_queue), []);
    let parts = Parts { prefill: 800, ..even() };
    assert_eq!(limits_by_wrong_times(parts, &[], endless_queue), []);
}

#[test]
fn instants_that_exceed_the_whole_are_no_evidence() {
    let early = |index: usize, mut times: ServerTimes| {
        if index.is_multiple_of(2) {
            let hour = 3_600_000_000_000;
            times.first_sent_unix_ns = times.first_sent_unix_ns.map(|sent| sent - hour);
        }
        times
    };
    assert_eq!(limits_by_wrong_times(even(), &[], early), []);
}

#[test]
fn causes_that_need_no_parts_of_the_server_remain() {
    let series = [gauge("waiting", [8.0; 4]), gauge("running", [4.0; 4])];
    let limits = limits_by_wrong_times(even(), &series, endless_queue);
    assert_eq!(limits.iter().map(|it| it.cause).collect::<Vec<_>>(), [LimitCause::Queue]);
    assert_eq!(limits[0].confidence, Confidence::Medium);
    assert_eq!(limits[0].evidence, "8.0 requests waited and 4.0 ran on the mean");
    let parts = Parts { decode: 2000, ..even() };
    let limits = limits_by_wrong_times(parts, &[], endless_queue);
    assert_eq!(limits.iter().map(|it| it.cause).collect::<Vec<_>>(), [LimitCause::Decode]);
}

#[test]
fn several_causes_come_in_their_order() {
    let parts = Parts { queue: 500, prefill: 490, decode: 20, ..even() };
    let counted: ServerSeries<'_> = ("preemptions", SeriesKind::Counter, [0.0, 5.0, 9.0, 9.0]);
    let causes: Vec<_> = limits(parts, &[counted]).iter().map(|limit| limit.cause).collect();
    assert_eq!(causes, [LimitCause::Queue, LimitCause::Prefill, LimitCause::Preemption]);
}

#[test]
fn every_cause_with_evidence_is_listed() {
    let parts = Parts { queue: 600, prefill: 590, decode: 2400, pause: 2000, ..even() };
    let series: [ServerSeries<'_>; 2] = [
        ("preemptions", SeriesKind::Counter, [0.0, 5.0, 9.0, 9.0]),
        gauge("gpu_throttle", [32.0; 4]),
    ];
    let causes: Vec<_> = limits(parts, &series).iter().map(|limit| limit.cause).collect();
    let expected = [
        LimitCause::Decode,
        LimitCause::GpuThrottled,
        LimitCause::Queue,
        LimitCause::Prefill,
        LimitCause::Preemption,
    ];
    assert_eq!(causes, expected);
}

/// Prefill is nearly all of the time to the first output, which is little of the whole time.
#[test]
fn causes_are_ordered_by_their_share_of_the_whole_time() {
    let parts = Parts { prefill: 20, decode: 440, pause: 400, ..Parts::default() };
    let counted: ServerSeries<'_> = ("preemptions", SeriesKind::Counter, [0.0, 1.0, 40.0, 40.0]);
    let causes = |series: &[ServerSeries<'_>]| -> Vec<_> {
        limits(parts, series).iter().map(|limit| limit.cause).collect()
    };
    assert_eq!(causes(&[]), [LimitCause::Decode, LimitCause::Prefill]);
    let expected = [LimitCause::Preemption, LimitCause::Decode, LimitCause::Prefill];
    assert_eq!(causes(&[counted]), expected);
}

/// The engine that the second series is of was gone before most of the run.
#[test]
fn what_ended_early_limits_nothing() {
    let waiting =
        [("waiting", SeriesKind::Gauge, [0.0; 4]), ("waiting", SeriesKind::Gauge, [50.0; 4])];
    let labels =
        ["0", "1"].map(|engine| BTreeMap::from([("engine".to_owned(), engine.to_owned())]));
    let mut log = labelled_log(even(), &waiting, labels.to_vec());
    let has_queue = |log: &RunLog| {
        let limits = Limit::of(log, &Audit::of(log));
        limits.iter().any(|limit| limit.cause == LimitCause::Queue)
    };
    assert!(has_queue(&log));
    let mut telemetry = log.telemetry().clone();
    for (second, sample) in telemetry.samples.iter_mut().enumerate().skip(1) {
        sample.values.truncate(1);
        sample.absent.extend((second == 1).then_some(1));
    }
    log = log.with_telemetry(telemetry);
    assert!(!has_queue(&log));
}
