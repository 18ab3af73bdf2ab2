//! The server's metrics and headers in the words of each engine, held to what it really did.

use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock};
use servemark_mock::{ImitatedEngine, MockServer, MockSpec};

use crate::client::{Response, connect, get, post, request, start};

/// A request with a prompt of eight words, for four tokens.
const BODY: &str = r#"{"prompt": "one two three four five six seven eight", "max_tokens": 4}"#;

/// The request of [`BODY`] with a streamed answer.
const STREAM: &str = r#"{"prompt": "one two three four five six seven eight", "max_tokens": 4,
    "stream": true}"#;

/// Text of a server's metrics.
struct Exposition(String);

impl Exposition {
    fn of(server: &MockServer) -> Self {
        Self(get(server, "/metrics").body)
    }

    fn value(&self, name: &str) -> f64 {
        let line = self.0.lines().find(|line| line.split(['{', ' ']).next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name} is not in {}", self.0));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    #[track_caller]
    fn assert_value(&self, name: &str, expected: f64) {
        let value = self.value(name);
        assert!((value - expected).abs() < 1e-9, "{name} is {value} and not {expected}");
    }
}

/// Two of three equal requests are answered while the third waits. Each takes three blocks of four
/// tokens, and the prefix cache holds all but the last token of the second and the third prompt.
fn busy(engine: ImitatedEngine) -> (MockServer, Exposition) {
    let server = start(|spec: &mut MockSpec| {
        spec.ttft = Duration::from_secs(2);
        spec.engine = Some(engine);
        spec.places = NonZeroUsize::new(2);
        spec.kv_blocks = NonZeroUsize::new(100);
        spec.cache_blocks = NonZeroUsize::new(100);
        spec.cache_block_tokens = NonZeroUsize::new(4).unwrap();
        spec.faults = vec!["preempt@2:1ms/3".parse().unwrap()];
    });
    let mut sockets: Vec<_> = (0..3).map(|_| connect(&server)).collect();
    for socket in &mut sockets {
        socket.write_all(&request("POST", "/v1/completions", "", STREAM)).unwrap();
    }
    let waiting = names(engine).waiting;
    let clock = MonotonicClock::start();
    let during = loop {
        let exposition = Exposition::of(&server);
        if exposition.value(waiting) > 0.0 {
            break exposition;
        }
        assert!(clock.now().as_secs_f64() < 30.0, "{}", exposition.0);
    };
    for socket in &mut sockets {
        assert_eq!(Response::read_one(socket).status, 200);
    }
    (server, during)
}

struct Names {
    running: &'static str,
    waiting: &'static str,
    kv_use: Option<&'static str>,
    prompt_tokens: Option<(&'static str, f64)>,
    output_tokens: Option<&'static str>,
    hits: Option<&'static str>,
    requests: Option<&'static str>,
    preemptions: Option<&'static str>,
}

fn names(engine: ImitatedEngine) -> Names {
    match engine {
        ImitatedEngine::Vllm => Names {
            running: "vllm:num_requests_running",
            waiting: "vllm:num_requests_waiting",
            kv_use: Some("vllm:kv_cache_usage_perc"),
            prompt_tokens: Some(("vllm:prompt_tokens_total", 24.0)),
            output_tokens: Some("vllm:generation_tokens_total"),
            hits: Some("vllm:prefix_cache_hits_total"),
            requests: Some("vllm:request_success_total"),
            preemptions: Some("vllm:num_preemptions_total"),
        },
        ImitatedEngine::Sglang => Names {
            running: "sglang:num_running_reqs",
            waiting: "sglang:num_queue_reqs",
            kv_use: Some("sglang:token_usage"),
            prompt_tokens: Some(("sglang:prompt_tokens_total", 24.0)),
            output_tokens: Some("sglang:generation_tokens_total"),
            hits: Some("sglang:cached_tokens_total"),
            requests: Some("sglang:num_requests_total"),
            preemptions: Some("sglang:num_retracted_requests_total"),
        },
        // Its count of prompt tokens leaves out those from the cache.
        ImitatedEngine::LlamaCpp => Names {
            running: "llamacpp:requests_processing",
            waiting: "llamacpp:requests_deferred",
            kv_use: Some("llamacpp:kv_cache_usage_ratio"),
            prompt_tokens: Some(("llamacpp:prompt_tokens_total", 10.0)),
            output_tokens: Some("llamacpp:tokens_predicted_total"),
            hits: Some("llamacpp:prompt_tokens_cached_total"),
            requests: None,
            preemptions: None,
        },
        _ => Names {
            running: "tgi_batch_current_size",
            waiting: "tgi_queue_size",
            kv_use: None,
            prompt_tokens: None,
            output_tokens: None,
            hits: None,
            requests: Some("tgi_request_success"),
            preemptions: None,
        },
    }
}

#[test]
fn the_metrics_of_each_engine_are_true() {
    for engine in [
        ImitatedEngine::Vllm,
        ImitatedEngine::Sglang,
        ImitatedEngine::LlamaCpp,
        ImitatedEngine::Tgi,
    ] {
        let names = names(engine);
        let (server, during) = busy(engine);
        during.assert_value(names.running, 2.0);
        during.assert_value(names.waiting, 1.0);
        if let Some(kv_use) = names.kv_use {
            during.assert_value(kv_use, 0.06);
        }
        let after = Exposition::of(&server);
        after.assert_value(names.running, 0.0);
        after.assert_value(names.waiting, 0.0);
        let counts = [
            names.prompt_tokens,
            names.output_tokens.map(|name| (name, 12.0)),
            names.hits.map(|name| (name, 14.0)),
            names.requests.map(|name| (name, 3.0)),
            names.preemptions.map(|name| (name, 1.0)),
        ];
        for (name, expected) in counts.into_iter().flatten() {
            after.assert_value(name, expected);
        }
    }
}

#[test]
fn what_the_server_hides_is_not_in_its_metrics() {
    let server = start(|spec| {
        spec.cache_blocks = NonZeroUsize::new(100);
        spec.cache_block_tokens = NonZeroUsize::MIN;
        spec.hides_cached = true;
    });
    for _ in 0..2 {
        let usage = &post(&server, "/v1/completions", BODY).json()["usage"];
        assert_eq!(usage["prompt_tokens_details"], serde_json::Value::Null);
        let generate = r#"{"text": "a b c", "sampling_params": {"max_new_tokens": 2}}"#;
        let meta = &post(&server, "/generate", generate).json()["meta_info"];
        assert_eq!(meta.get("cached_tokens"), None, "{meta}");
    }
    let text = get(&server, "/metrics").body;
    assert!(!text.contains("cached") && !text.contains("prefix_cache"), "{text}");
}

#[test]
fn a_cached_prompt_is_computed_sooner() {
    let server = start(|spec| {
        spec.prefill_per_token = Duration::from_millis(20);
        spec.cache_blocks = NonZeroUsize::new(100);
        spec.cache_block_tokens = NonZeroUsize::MIN;
    });
    for _ in 0..2 {
        post(&server, "/v1/completions", BODY);
    }
    let prefills: Vec<u64> =
        server.truth().iter().map(|row| row.parts.unwrap().prefill_ns / 1_000_000).collect();
    assert_eq!(prefills, [160, 20], "the last token is always computed");
}

#[test]
fn tgis_headers_are_the_true_times_in_whole_milliseconds() {
    let server = start(|spec| {
        spec.engine = Some(ImitatedEngine::Tgi);
        spec.frontend = Duration::from_millis(30);
        spec.ttft = Duration::from_millis(50);
        spec.itl = Duration::from_millis(10);
    });
    let body = r#"{"inputs": "one two three", "parameters": {"max_new_tokens": 4}}"#;
    let response = post(&server, "/generate", body);
    let header = |name: &str| -> f64 {
        let line = response.head.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {}", response.head)).trim().parse().unwrap()
    };
    let parts = server.truth()[0].parts.unwrap();
    for (name, ns) in [
        ("x-validation-time:", parts.frontend_ns),
        ("x-queue-time:", parts.queue_ns),
        ("x-inference-time:", 80_000_000),
        ("x-total-time:", 110_000_000),
        ("x-time-per-token:", 20_000_000),
    ] {
        assert!((header(name) - ns as f64 / 1e6).abs() < 0.51, "{name} {}", response.head);
    }
    assert!((header("x-prompt-tokens:") - 3.0).abs() < 0.1, "{}", response.head);
    assert!((header("x-generated-tokens:") - 4.0).abs() < 0.1, "{}", response.head);
    let stream = r#"{"inputs": "one", "parameters": {"max_new_tokens": 4}, "stream": true}"#;
    assert!(!post(&server, "/generate_stream", stream).head.contains("x-total-time"));
}

#[test]
fn the_network_is_beside_the_servers_own_times() {
    let server = start(|spec| {
        spec.network = Duration::from_millis(40);
        spec.ttft = Duration::from_millis(20);
    });
    let body = r#"{"text": "a b c", "sampling_params": {"max_new_tokens": 2}}"#;
    let clock = MonotonicClock::start();
    let meta = post(&server, "/generate", body).json()["meta_info"].clone();
    assert!(clock.now().as_secs_f64() >= 0.1);
    let e2e = meta["e2e_latency"].as_f64().unwrap();
    assert!((e2e - 0.02).abs() < 1e-6, "{meta}");
    let received = meta["request_received_ts"].as_f64().unwrap();
    let sent = meta["response_sent_to_client_ts"].as_f64().unwrap();
    assert!((sent - received - 0.02).abs() < 1e-3, "{meta}");
}
