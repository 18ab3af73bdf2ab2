//! SGLang: `python -m sglang.bench_serving`, and its benchmarks without a server and of one batch.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::{Peer, numbers_only, refuses_long_number};
use crate::{Argued, ComparedPart, Line, Outcome, SentRequest};

/// SGLang: `python -m sglang.bench_serving`, or the module of another subcommand.
#[derive(Clone, Copy, Debug)]
pub struct Sglang;

impl Peer for Sglang {
    fn words(&self, command: &str) -> Vec<String> {
        let module = match command {
            "" => "sglang.bench_serving".to_owned(),
            module => format!("sglang.benchmark.{module}"),
        };
        ["python3", "-m", &module].map(str::to_owned).to_vec()
    }

    fn model(&self) -> &'static str {
        "{DATA}/tokenizers/gpt2"
    }

    /// Returns the keys of the result file's last line with their values; if the file has several
    /// lines, one for each batch, each value is the list of the values of all lines. The calls of
    /// an engine and the keys of other files are added.
    fn result(&self, files: &BTreeMap<String, String>) -> Option<(String, Map<String, Value>)> {
        let is_result = |name: &str| {
            let is_jsonl =
                Path::new(name).extension().is_some_and(|extension| extension == "jsonl");
            is_jsonl && !name.contains(".runlog.") && ![CALLS, STEADY].contains(&name)
        };
        let found = files.iter().find(|(name, _)| is_result(name));
        let (name, mut result) = match found {
            Some((name, text)) => (name.clone(), lines(text)?),
            None => (files.contains_key(CALLS).then(|| CALLS.to_owned())?, Map::new()),
        };
        if let Some(calls) = files.get(CALLS) {
            let call = |line: &str| serde_json::from_str::<Value>(line).ok();
            result.insert("calls".to_owned(), calls.lines().filter_map(call).collect());
        }
        for name in [STEADY, "entries.json"] {
            let keys = files.get(name).map(|text| keys(text));
            result.extend(keys.map(|keys| (format!("keys of {name}"), keys)));
        }
        // What only Servemark adds.
        result.retain(|key, _| !key.starts_with("native_"));
        Some((name, result))
    }

    fn is_time(&self, key: &str) -> bool {
        let is_figure = |end: &&str| key.ends_with(*end);
        ["_ms", "_throughput", "_per_s"].iter().any(is_figure) || TIMES.contains(&key)
    }

    fn labels(&self, stdout: &str) -> Vec<String> {
        let is_title = |line: &&str| TITLES.iter().any(|title| line.contains(title));
        let mut labels = Vec::new();
        let mut lines = stdout.lines();
        while lines.by_ref().any(|line| is_title(&line)) {
            let table = lines.by_ref().take_while(|line| !line.starts_with("======"));
            labels.extend(table.map(label));
        }
        let is_reported = |line: &&str| ONE_BATCH_LINES.iter().any(|start| line.starts_with(start));
        labels.extend(stdout.lines().filter(is_reported).map(label));
        labels
    }

    fn drawn_anew(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("[0-9a-f]{8}_[0-9]{14}_([0-9]+)", "{KEY}_{TIME}_$1"),
            ("/[0-9]{9,}[.][0-9]+", "/{TIME}"),
            ("^([a-z-]+)_[0-9]{4}_", "${1}_{DATE}_"),
        ]
    }

    /// Returns whether a request is not part of the measurement. Servemark sends the headers of all
    /// requests with these, too.
    fn is_control(&self, request: &SentRequest) -> bool {
        request.method == "GET" || !request.body.is_object() || request.path.ends_with("_profile")
    }

    /// Removes all but the last `/server_info` request, because SGLang asks twice after a run and
    /// Servemark once before and once after. Removes the number of failures, which only Servemark's
    /// table has. Counts an error before the first request as a refusal, whatever its exit code.
    fn trim(&self, line: &mut Line) {
        let is_requested = |request: &SentRequest| request.path == "/server_info";
        let last = line.requests.iter().rposition(is_requested);
        let mut at = 0..;
        line.requests.retain(|request| at.next() == last || !is_requested(request));
        line.labels.retain(|label| label != "Failed requests");
        // SGLang refuses some command lines with 1, after it has asked the server for its models.
        let has_sent = line.requests.iter().any(|request| request.method != "GET");
        if line.outcome == Outcome::Failed && !has_sent {
            line.outcome = Outcome::Refused;
        }
        if line.command == "offline_throughput" {
            // The engine's own parser says this, in the worker.
            line.message.take_if(|message| message.starts_with("unrecognized arguments"));
        }
        if line.argv.iter().any(|word| word.ends_with("mmmu")) {
            let bodies = line.requests.iter_mut().map(|request| &mut request.body);
            bodies.for_each(without_pixels);
        }
    }

    fn argued(&self) -> &'static [Argued] {
        ARGUED
    }
}

const TIMESTAMPS: &str = "--use-trace-timestamps";

const ARGUED: &[Argued] = &[
    Argued {
        kind: "choices-of-ours",
        is: |_, _, difference| {
            let choices = difference.peer.strip_suffix(")\")");
            let is_listed = |listed: &str| difference.own.starts_with(&format!("{listed}, "));
            difference.part == ComparedPart::Message
                && difference.peer.contains(": invalid choice: ")
                && choices.is_some_and(is_listed)
        },
    },
    Argued { kind: "whole-numbers-of-64-bits", is: |peer, own, _| refuses_long_number(peer, own) },
    Argued {
        kind: "counters-of-another-server",
        is: |peer, _, difference| {
            let is_vllm = peer.argv.iter().any(|word| word == "vllm" || word.ends_with("=vllm"));
            let rate = ComparedPart::Value("cache_hit_rate".to_owned());
            peer.command == "one_batch_server" && is_vllm && difference.part == rate
        },
    },
    Argued {
        kind: "older-flag",
        is: |peer, own, _| {
            let is_older = |pair: &[String]| pair[0] == TIMESTAMPS && pair[1] == "true";
            // A line with another fault is refused for that one.
            let is_read = [Outcome::Done, Outcome::Refused].contains(&own.outcome);
            is_read && peer.argv.windows(2).any(is_older)
        },
    },
    Argued {
        kind: "rust-client",
        is: |peer, own, _| {
            let is_requested = |word: &String| word.starts_with("--rust-c");
            own.outcome == Outcome::Done && peer.argv.iter().any(is_requested)
        },
    },
    Argued {
        kind: "messages-as-ids",
        is: |peer, _, difference| {
            let is_batch = |request: &SentRequest| request.body["input_ids"][1].is_object();
            let is_count =
                |part: &ComparedPart| matches!(part, ComparedPart::Value(key) if is_of_output(key));
            peer.requests.iter().any(is_batch) && is_count(&difference.part)
        },
    },
];

/// Returns whether the value of a result key depends on the texts of the answers.
fn is_of_output(key: &str) -> bool {
    key.starts_with("total_output_tokens") || ["generated_texts", "output_lens"].contains(&key)
}

/// Reduces pictures to their sizes. MMMU's may be JPEG, whose decoders differ slightly.
fn without_pixels(body: &mut Value) {
    match body {
        Value::String(text) if text.starts_with(PNG) => {
            let end = text[PNG.len()..].find(':').map_or(text.len(), |end| PNG.len() + end);
            text.truncate(end);
        }
        Value::Array(items) => items.iter_mut().for_each(without_pixels),
        Value::Object(map) => map.values_mut().for_each(without_pixels),
        _ => {}
    }
}

const PNG: &str = "data:image/png;base64,";

const TIMES: [&str; 12] = [
    "concurrency",
    "duration",
    "itls",
    "last_gen_throughput",
    "last_ttft",
    "latency",
    "max_concurrent_requests",
    "request_goodput",
    "steady_state_output_throughput",
    "steady_state_window_s",
    "total_latency",
    "ttfts",
];

/// Log of the calls to the stand-in of an engine.
const CALLS: &str = "calls.jsonl";

/// Result of the steady state.
const STEADY: &str = "steady.jsonl";

/// Headings of tables.
const TITLES: [&str; 3] = [
    "= Serving Benchmark Result =",
    "= Steady-State Result =",
    "= Offline Throughput Benchmark Result =",
];

/// Beginnings of the lines that SGLang prints about one batch and its server.
pub const ONE_BATCH_LINES: [&str; 20] = [
    "max_running_requests_per_dp=",
    "num_dp_ranks=",
    "skip_",
    "NOTE: ",
    "#Input tokens: ",
    "#Output tokens: ",
    "batch size: ",
    "input_len: ",
    "output_len: ",
    "latency: ",
    "input throughput: ",
    "output throughput: ",
    "last_ttft: ",
    "last generation throughput: ",
    "Warming up cache with ",
    "Cache warmup completed",
    "======== Warmup ",
    "Warmup with ",
    "Found model: ",
    "Input lens: ",
];

/// Parses a result file into the keys of its last line with their values; if the file has several
/// lines, each value is the list of the values of all lines.
fn lines(text: &str) -> Option<Map<String, Value>> {
    let text = numbers_only(text);
    let lines = text.lines().map(serde_json::from_str).collect::<Result<Vec<_>, _>>().ok()?;
    let mut lines: Vec<Map<String, Value>> = lines;
    let mut last = lines.pop()?;
    if !lines.is_empty() {
        for (key, value) in &mut last {
            let before = lines.iter().map(|line| line.get(key).cloned().unwrap_or_default());
            *value = before.chain([value.take()]).collect();
        }
    }
    Some(last)
}

/// Returns the keys of the objects in a file.
fn keys(text: &str) -> Value {
    let objects: Vec<Value> =
        serde_json::Deserializer::from_str(text).into_iter().flatten().collect();
    let each = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let keys = |object: Value| -> Value {
        object.as_object().into_iter().flat_map(Map::keys).cloned().collect()
    };
    objects.iter().flat_map(each).map(keys).collect()
}

fn label(line: &str) -> String {
    match line.split_once([':', '=']) {
        Some((label, _)) if !label.is_empty() => label.trim().to_owned(),
        _ => line.trim_matches(['-', '=']).trim().to_owned(),
    }
}
