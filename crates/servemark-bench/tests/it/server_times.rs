//! The parts of requests to the simulator, compared with what it really did.

use std::time::Duration;

use servemark::backends::BackendName;
use servemark::core::{NoProgress, RunLog, SimulatedParts};
use servemark::metrics::{Anatomy, RequestPart};
use servemark::mock::{ImitatedEngine, MockSpec, ReportedTimes};
use servemark::plan::{Layout, ServerSpec};
use servemark::{RunContext, Scores, execute};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use crate::runs::plan;

/// A server with a front end, a queue for four places and a clock that is wrong.
fn simulator(skew_ms: f64) -> MockSpec {
    let mut mock = MockSpec::new(Duration::from_millis(6), Duration::from_millis(1));
    mock.frontend = Duration::from_millis(3);
    mock.places = NonZeroUsize::new(4);
    mock.clock_skew_ms = skew_ms;
    mock
}

fn run(backend: BackendName, mock: MockSpec) -> RunLog {
    let mut plan = plan(backend, &[]);
    plan.server = ServerSpec::Simulated(mock);
    plan.control.server_times = true;
    execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log
}

/// Checks that a part's p99 is the one of the simulator's own log.
#[track_caller]
fn is_true(log: &RunLog, anatomy: &Anatomy, part: RequestPart, of: fn(&SimulatedParts) -> u64) {
    let truths = &log.footer().unwrap().truth;
    let mut truths: Vec<f64> =
        truths.iter().map(|truth| of(&truth.parts.unwrap()) as f64 / 1e6).collect();
    truths.sort_unstable_by(f64::total_cmp);
    let expected = servemark::metrics::statistics::percentile(&truths, 99.0).unwrap();
    let p99 = anatomy.part(part).unwrap().p99_ms;
    assert!((p99 - expected).abs() < 0.2, "{part:?}: {p99} is not {expected}");
}

#[test]
fn sglangs_instants_are_placed_whatever_the_clock_of_the_server_shows() {
    for skew_ms in [0.0, 5000.0, -5000.0] {
        let log = run(BackendName::Sglang, simulator(skew_ms));
        let anatomy = Anatomy::of(&log);
        let clock = anatomy.clock.as_ref().unwrap();
        assert!((clock.offset_ms - skew_ms).abs() <= clock.bound_ms + 0.2, "{clock:?}");
        is_true(&log, &anatomy, RequestPart::ServerFrontend, |parts| parts.frontend_ns);
        is_true(&log, &anatomy, RequestPart::ServerQueue, |parts| parts.queue_ns);
        is_true(&log, &anatomy, RequestPart::Prefill, |parts| parts.prefill_ns);
        let queue = anatomy.part(RequestPart::ServerQueue).unwrap();
        assert!(queue.p99_ms > 30.0 && queue.share_of_p99_ttft > Some(0.5), "{queue:?}");
        assert!(anatomy.part(RequestPart::RequestTransit).is_some());
        assert!(anatomy.part(RequestPart::ResponseTransit).is_some());
        assert!(anatomy.residual_ms.p999 < 0.1, "{:?}", anatomy.residual_ms);
    }
}

/// SGLang refuses to add its times to a stream of OpenAI's routes.
#[test]
fn times_that_no_answer_has_are_told_with_the_way_to_them() {
    let of = |backend, engine| {
        let mut mock = simulator(0.0);
        mock.engine = Some(engine);
        let mut plan = plan(backend, &[]);
        plan.server = ServerSpec::Simulated(mock);
        plan.control.server_times = true;
        let log = execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log;
        Scores::of(&log, &plan.scoring).warnings()
    };
    let warnings = of(BackendName::SglangOaiChat, ImitatedEngine::Sglang);
    assert!(warnings[0].contains("bench-serving --backend sglang"), "{warnings:?}");
    assert!(of(BackendName::Sglang, ImitatedEngine::Sglang).is_empty());
    assert!(of(BackendName::VllmChat, ImitatedEngine::Vllm).is_empty());
}

/// Only medians are compared with the truth: a busy machine delays single wake-ups, and such a
/// delay counts as transit.
#[test]
fn the_ways_through_a_network_are_placed_whatever_the_clock_of_the_server_shows() {
    for skew_ms in [5000.0, -5000.0] {
        let mut mock = simulator(skew_ms);
        mock.network = Duration::from_millis(20);
        let log = run(BackendName::Sglang, mock);
        let anatomy = Anatomy::of(&log);
        let clock = anatomy.clock.as_ref().unwrap();
        // Each way is bounded by the whole round trip only, so the bound is one way.
        assert!((clock.offset_ms - skew_ms).abs() <= clock.bound_ms, "{clock:?}");
        assert!(clock.bound_ms < 22.0, "{clock:?}");
        for part in [RequestPart::RequestTransit, RequestPart::ResponseTransit] {
            let told = anatomy.part(part).unwrap();
            assert!((told.p50_ms - 20.0).abs() < 1.0, "{told:?}");
        }
        is_true(&log, &anatomy, RequestPart::ServerFrontend, |parts| parts.frontend_ns);
        is_true(&log, &anatomy, RequestPart::ServerQueue, |parts| parts.queue_ns);
        is_true(&log, &anatomy, RequestPart::Prefill, |parts| parts.prefill_ns);
    }
}

#[test]
fn every_engines_words_are_read() {
    let llama_cpp = |mut mock: MockSpec| {
        mock.server_times = ReportedTimes::LlamaCpp;
        mock
    };
    for (backend, mock, has_queue) in [
        (BackendName::VllmChat, simulator(0.0), true),
        (BackendName::Vllm, simulator(0.0), true),
        (BackendName::Ollama, simulator(0.0), true),
        (BackendName::VllmChat, llama_cpp(simulator(0.0)), false),
        (BackendName::Vllm, llama_cpp(simulator(0.0)), false),
    ] {
        let log = run(backend, mock);
        let anatomy = Anatomy::of(&log);
        assert_eq!((anatomy.with_server_times, anatomy.requests), (20, 20), "{backend}");
        assert_eq!(anatomy.clock, None, "{backend}: durations need no clock");
        assert_eq!(anatomy.part(RequestPart::ServerQueue).is_some(), has_queue, "{backend}");
        if has_queue {
            is_true(&log, &anatomy, RequestPart::ServerQueue, |parts| parts.queue_ns);
        }
        // vLLM's prefill ends when the first output is sent, which a busy machine delays.
        let least = 6.0;
        assert!(anatomy.part(RequestPart::Prefill).unwrap().p50_ms >= least, "{backend}");
        assert!(anatomy.residual_ms.p999 < 0.1, "{backend}: {:?}", anatomy.residual_ms);
    }
}

#[test]
fn documents_have_parts_too() {
    for backend in [BackendName::Sglang, BackendName::VllmChat, BackendName::Ollama] {
        let mut plan = plan(backend, &[]);
        plan.server = ServerSpec::Simulated(simulator(5000.0));
        plan.wire.common_mut().stream = false;
        let log = execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log;
        let anatomy = Anatomy::of(&log);
        assert_eq!(anatomy.with_server_times, 20, "{backend}");
        is_true(&log, &anatomy, RequestPart::ServerQueue, |parts| parts.queue_ns);
        assert!(anatomy.parts.iter().all(|part| part.share_of_p99_ttft.is_none()));
    }
}

#[test]
fn sglangs_chat_documents_have_their_times_on_request() {
    let mut mock = simulator(5000.0);
    mock.engine = Some(ImitatedEngine::Sglang);
    let mut plan = plan(BackendName::SglangOaiChat, &[]);
    plan.server = ServerSpec::Simulated(mock);
    plan.wire.common_mut().stream = false;
    let anatomy_of = |plan: &_| {
        let log = execute(plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log;
        (Anatomy::of(&log), log)
    };
    assert_eq!(anatomy_of(&plan).0.with_server_times, 0, "it was not asked");
    plan.control.server_times = true;
    let (anatomy, log) = anatomy_of(&plan);
    assert_eq!(anatomy.with_server_times, 20);
    is_true(&log, &anatomy, RequestPart::ServerQueue, |parts| parts.queue_ns);
    is_true(&log, &anatomy, RequestPart::Prefill, |parts| parts.prefill_ns);
    let clock = anatomy.clock.as_ref().unwrap();
    assert!((clock.offset_ms - 5000.0).abs() <= clock.bound_ms + 0.2, "{clock:?}");
}

#[test]
fn a_transfer_between_workers_is_a_part() {
    for skew_ms in [0.0, 5000.0, -5000.0] {
        let mut mock = simulator(skew_ms);
        mock.kv_transfer = Duration::from_millis(2);
        let log = run(BackendName::Sglang, mock);
        let anatomy = Anatomy::of(&log);
        is_true(&log, &anatomy, RequestPart::KvTransfer, |parts| parts.kv_transfer_ns);
        is_true(&log, &anatomy, RequestPart::Prefill, |parts| parts.prefill_ns);
    }
}

/// vLLM's time to first token begins at the end of the queue; its counters show that it includes a
/// transfer.
#[test]
fn a_transfer_that_the_server_does_not_tell_apart_is_no_prefill() {
    let mut mock = simulator(0.0);
    mock.kv_transfer = Duration::from_millis(20);
    for backend in [BackendName::VllmChat, BackendName::Vllm] {
        let log = run(backend, mock.clone());
        let anatomy = Anatomy::of(&log);
        assert_eq!(anatomy.with_server_times, 20, "{backend}");
        assert_eq!(anatomy.together, [RequestPart::Prefill, RequestPart::KvTransfer], "{backend}");
        for absent in anatomy.together.clone() {
            assert_eq!(anatomy.part(absent), None, "{backend}");
        }
        is_true(&log, &anatomy, RequestPart::ServerQueue, |parts| parts.queue_ns);
        let rest = anatomy.part(RequestPart::InsideServer).unwrap();
        assert!(rest.p50_ms >= 26.0, "{backend}: {rest:?}");
        let mut out = Vec::new();
        let mut plan = plan(backend, &[]);
        plan.scoring.layouts = vec![Layout::Native];
        Scores::of(&log, &plan.scoring).write_tables(&mut out).unwrap();
        let table = String::from_utf8(out).unwrap();
        let note =
            "the server does not tell prefill and KV transfer apart: they are in the rest inside";
        assert!(table.contains(note), "{table}");
    }
}

#[test]
fn a_server_that_reports_nothing_leaves_one_part_inside() {
    let mut mock = simulator(0.0);
    mock.server_times = ReportedTimes::None;
    let log = run(BackendName::Sglang, mock);
    let anatomy = Anatomy::of(&log);
    assert_eq!(anatomy.with_server_times, 0);
    assert!(anatomy.part(RequestPart::InsideServer).unwrap().p50_ms > 9.0);
    let plan = plan(BackendName::Sglang, &[]);
    let mut out = Vec::new();
    Scores::of(&log, &plan.scoring).write_tables(&mut out).unwrap();
    assert!(!String::from_utf8(out).unwrap().contains("Anatomy"));
}

#[test]
fn the_parts_are_in_the_table_and_in_json() {
    let log = run(BackendName::Sglang, simulator(5000.0));
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.scoring.layouts = vec![Layout::Native];
    let scores = Scores::of(&log, &plan.scoring);
    let mut out = Vec::new();
    scores.write_tables(&mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    for text in ["Anatomy of a request (ms)", "server queue", "way back", "ms by ours"] {
        assert!(table.contains(text), "{table}");
    }
    let mut out = Vec::new();
    scores.write_json(&mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let names: Vec<_> =
        json["anatomy"]["parts"].as_array().unwrap().iter().map(|part| &part["name"]).collect();
    let expected = [
        "gate_wait",
        "send_lag",
        "request_transit",
        "server_frontend",
        "server_queue",
        "prefill",
        "inside_server",
        "response_transit",
        "read_lag",
        "decode",
    ];
    // Without a kernel stamp the read lag is not known.
    let expected = expected
        .into_iter()
        .filter(|name| *name != "read_lag" || names.iter().any(|it| *it == "read_lag"));
    assert_eq!(names, expected.collect::<Vec<_>>());
    assert!(json["anatomy"]["clock"]["offset_ms"].as_f64().unwrap() > 4990.0);
    let shares: f64 = json["anatomy"]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["share_of_mean"].as_f64().unwrap())
        .sum();
    assert!((shares - 1.0).abs() < 0.01, "{shares}");
}

/// Logs of earlier versions have no times of servers, no metrics, no facts of sockets and no
/// checksums.
#[test]
fn a_log_from_before_all_this_is_scored_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let (new, old) = (folder.path().join("new.jsonl"), folder.path().join("old.jsonl"));
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.server = ServerSpec::Simulated(simulator(5000.0));
    plan.control.telemetry = Some(servemark::plan::TelemetrySpec::of_server());
    plan.output.run_log = Some(new.clone());
    let log = execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log;
    let mut lines = Vec::new();
    for line in std::fs::read_to_string(&new).unwrap().lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let line = line.as_object_mut().unwrap();
        line.remove("crc32");
        for newer in ["server_times", "socket", "left", "connection", "end_lag_us"] {
            if let Some(request) = line.get_mut("request") {
                request.as_object_mut().unwrap().remove(newer);
            }
        }
        for newer in ["audit", "server_counters", "truth"] {
            if let Some(footer) = line.get_mut("footer") {
                footer.as_object_mut().unwrap().remove(newer);
            }
        }
        if !line.contains_key("telemetry") {
            lines.push(serde_json::to_string(line).unwrap() + "\n");
        }
    }
    std::fs::write(&old, lines.concat()).unwrap();
    let old = RunLog::read(&old).unwrap();
    let policy = servemark::metrics::MetricPolicy::native();
    let metrics = |log: &RunLog| servemark::metrics::Metrics::score(log, &policy);
    assert_eq!(metrics(&old).latencies, metrics(&log).latencies);
    assert_eq!(metrics(&old).throughput, metrics(&log).throughput);
    let anatomy = Anatomy::of(&old);
    assert_eq!((anatomy.requests, anatomy.with_server_times), (20, 0));
    assert!(anatomy.clock.is_none() && anatomy.part(RequestPart::InsideServer).is_some());
    let scores = Scores::of(&old, &plan.scoring);
    let mut out = Vec::new();
    scores.write_tables(&mut out).unwrap();
    scores.write_json(&mut out).unwrap();
    scores.write_page(None, &mut out).unwrap();
    assert!(servemark::metrics::CacheAudit::of(&old).is_none());
}

/// The run log was written by a program of that day, whose table had these lines.
#[test]
fn a_log_of_22_november_2026_is_scored_to_what_was_told_then() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/run_logs");
    let log = RunLog::read(&Path::new(folder).join("servemark-2026-11-22.jsonl")).unwrap();
    let mut plan = plan(BackendName::Sglang, &[]);
    let mut write = |layout| {
        plan.scoring.layouts = vec![layout];
        let scores = Scores::of(&log, &plan.scoring);
        let mut out = Vec::new();
        scores.write_tables(&mut out).unwrap();
        scores.write_json(&mut out).unwrap();
        scores.write_page(None, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let peer = write(Layout::Sglang);
    for line in [
        "Successful requests:                     12 ",
        "Request throughput (req/s):              32.20 ",
        "Output token throughput (tok/s):         147.59 ",
        "Mean E2E Latency (ms):                   27.26 ",
        "Mean TTFT (ms):                          20.11 ",
        "P99 ITL (ms):                            2.02 ",
    ] {
        assert!(peer.contains(line), "{line} is not in {peer}");
    }
    let own = write(Layout::Native);
    for line in ["mean TTFT          20.109   20.072     +0.037", "p99 gap           2.02 ms"] {
        assert!(own.contains(line), "{line} is not in {own}");
    }
    let anatomy = Anatomy::of(&log);
    assert_eq!((anatomy.requests, anatomy.with_server_times), (12, 0));
    assert!(anatomy.part(RequestPart::InsideServer).is_some() && log.telemetry().is_empty());
}
