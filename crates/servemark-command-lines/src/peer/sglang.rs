//! SGLang: `python -m sglang.bench_serving`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::Peer;
use crate::{Argued, ComparedPart, Line, Outcome, SentRequest};

/// SGLang: `python -m sglang.bench_serving`.
#[derive(Clone, Copy, Debug)]
pub struct Sglang;

impl Peer for Sglang {
    fn words(&self, _command: &str) -> Vec<String> {
        ["python3", "-m", "sglang.bench_serving"].map(str::to_owned).to_vec()
    }

    fn model(&self) -> &'static str {
        "{DATA}/tokenizers/gpt2"
    }

    fn result(&self, files: &BTreeMap<String, String>) -> Option<(String, Map<String, Value>)> {
        let is_result = |name: &str| {
            let is_jsonl =
                Path::new(name).extension().is_some_and(|extension| extension == "jsonl");
            is_jsonl && !name.contains(".runlog.")
        };
        let (name, text) = files.iter().find(|(name, _)| is_result(name))?;
        // Python writes values that are not valid JSON.
        let text = text.replace(": Infinity", ": null").replace(": NaN", ": null");
        Some((name.clone(), serde_json::from_str(&text).ok()?))
    }

    fn is_time(&self, key: &str) -> bool {
        let is_figure = |end: &&str| key.ends_with(*end);
        ["_ms", "_throughput", "_per_s"].iter().any(is_figure) || TIMES.contains(&key)
    }

    fn labels(&self, stdout: &str) -> Vec<String> {
        let lines =
            stdout.lines().skip_while(|line| !line.contains("= Serving Benchmark Result ="));
        let table = lines.skip(1).take_while(|line| !line.starts_with("======"));
        let label = |line: &str| match line.split_once(':') {
            Some((label, _)) => label.trim().to_owned(),
            None => line.trim_matches('-').trim().to_owned(),
        };
        table.map(label).collect()
    }

    fn drawn_anew(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("[0-9a-f]{8}_[0-9]{14}_([0-9]+)", "{KEY}_{TIME}_$1"),
            ("/(prof|tmp)/[0-9]+[.][0-9]+", "/$1/{TIME}"),
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
        let asks = |request: &SentRequest| request.path == "/server_info";
        let last = line.requests.iter().rposition(asks);
        let mut at = 0..;
        line.requests.retain(|request| at.next() == last || !asks(request));
        line.labels.retain(|label| label != "Failed requests");
        // SGLang refuses some command lines with 1, after it has asked the server for its models.
        let has_sent = line.requests.iter().any(|request| request.method != "GET");
        if line.outcome == Outcome::Failed && !has_sent {
            line.outcome = Outcome::Refused;
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

const ARGUED: &[Argued] = &[
    Argued {
        kind: "trt-text",
        is: |peer, _, difference| {
            let texts = ["total_output_tokens_retokenized", "generated_texts"];
            let is_of_text = |part: &ComparedPart| matches!(part, ComparedPart::Value(key) if texts.contains(&&**key));
            peer.argv.iter().any(|word| word == "trt" || word.ends_with("=trt"))
                && is_of_text(&difference.part)
        },
    },
    Argued {
        kind: "messages-as-ids",
        is: |peer, _, difference| {
            let is_batch = |request: &SentRequest| request.body["input_ids"][1].is_object();
            let is_count = |part: &ComparedPart| matches!(part, ComparedPart::Value(key) if key.starts_with("total_output_tokens"));
            peer.requests.iter().any(is_batch) && is_count(&difference.part)
        },
    },
];

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

const TIMES: [&str; 6] =
    ["concurrency", "duration", "itls", "max_concurrent_requests", "request_goodput", "ttfts"];
