//! What limits a run: one scripted bottleneck for each cause, and runs that show none.

use std::time::Duration;

use servemark_core::{
    ArrivalClock, Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog,
    Sample, SeriesHead, SeriesKind, ServerTimes, Sink, SocketFacts, Stamp, Telemetry,
    TelemetryLine, TelemetrySample, TelemetrySource,
};
use servemark_metrics::{Audit, Confidence, Limit, LimitCause};

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
        recorder.output(at(ended), Delta::content("b"));
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
    let mut telemetry = Telemetry::default();
    telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "http://server/metrics")));
    for (id, (name, kind, _)) in series.iter().enumerate() {
        telemetry.add(TelemetryLine::Series(SeriesHead::new(id, 0, *name, *kind)));
    }
    for second in 0..4 {
        let mut sample = TelemetrySample::new(0, at(10_000 + 1000 * second as u64), 0);
        sample.values = series.iter().map(|(_, _, values)| values[second]).enumerate().collect();
        telemetry.add(TelemetryLine::Sample(sample));
    }
    let mut facts = RunFacts::default();
    facts.max_concurrency = (parts.gate > 0).then_some(1);
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
    assert!(limits.len() <= 4);
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

#[test]
fn preemptions() {
    let counted: ServerSeries<'_> = ("preemptions", SeriesKind::Counter, [0.0, 5.0, 9.0, 9.0]);
    first(even(), &[counted], LimitCause::Preemption, "preempted 9 requests");
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

#[test]
fn several_causes_come_in_their_order() {
    let parts = Parts { queue: 500, prefill: 490, decode: 20, ..even() };
    let counted: ServerSeries<'_> = ("preemptions", SeriesKind::Counter, [0.0, 5.0, 9.0, 9.0]);
    let causes: Vec<_> = limits(parts, &[counted]).iter().map(|limit| limit.cause).collect();
    assert_eq!(causes, [LimitCause::Queue, LimitCause::Prefill, LimitCause::Preemption]);
}
