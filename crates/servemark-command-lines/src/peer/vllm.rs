//! vLLM: `vllm bench`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Peer, numbers_only, refuses_long_number};
use crate::{Argued, ComparedPart, Line, Outcome, SentRequest};

/// vLLM: `vllm bench`.
#[derive(Clone, Copy, Debug)]
pub struct Vllm;

impl Peer for Vllm {
    fn words(&self, command: &str) -> Vec<String> {
        if command == SLICING {
            return ["python3", "-m", "vllm.benchmarks.datasets.create_txt_slices_dataset"]
                .map(str::to_owned)
                .to_vec();
        }
        ["vllm", "bench"].into_iter().chain(command.split(' ')).map(str::to_owned).collect()
    }

    fn model(&self) -> &'static str {
        "{DATA}/tokenizers/gpt2"
    }

    fn result(&self, files: &BTreeMap<String, String>) -> Option<(String, Map<String, Value>)> {
        if let Some(slices) = files.get(SLICES) {
            let slice = |line: &str| serde_json::from_str::<Value>(line).ok();
            let slices: Value = slices.lines().filter_map(slice).collect();
            return Some((SLICES.to_owned(), Map::from_iter([("slices".to_owned(), slices)])));
        }
        let found = files.iter().find_map(|(name, text)| Some((name, result(name, text)?)));
        let calls = files.get(CALLS).map(|calls| {
            let call = |line: &str| serde_json::from_str::<Value>(line).ok();
            calls.lines().filter_map(call).collect::<Value>()
        });
        let (name, mut result) = match (found, &calls) {
            (Some((name, result)), _) => (name.clone(), result),
            (None, Some(_)) => (CALLS.to_owned(), Map::new()),
            (None, None) => return None,
        };
        result.extend(calls.map(|calls| ("calls".to_owned(), calls)));
        Some((name, result))
    }

    fn is_time(&self, key: &str) -> bool {
        let ends = ["_ms", "_throughput", "_per_s", "_time", "_per_second"];
        ends.iter().any(|end| key.ends_with(end)) || TIMES.contains(&key)
    }

    /// Returns whether a request only queries or controls the server. Servemark sends the headers
    /// of all requests with these, too.
    fn is_control(&self, request: &SentRequest) -> bool {
        let ends = ["tokenize", "_profile"];
        request.method == "GET" || ends.iter().any(|end| request.path.ends_with(end))
    }

    /// Removes the readings of counters, and the text that only Servemark prints or prints
    /// elsewhere; `docs/compat/vllm.md` lists them.
    fn trim(&self, line: &mut Line) {
        // A base URL that ends with a slash doubles that of the route.
        line.requests.retain(|request| request.path.trim_start_matches('/') != "metrics");
        let has_table = line.labels.iter().any(|label| label == "Successful requests");
        line.outcome = match line.outcome {
            // Servemark has a separate exit code for a run in which requests failed.
            Outcome::Failed if has_table => Outcome::Done,
            // vLLM's client raises an exception where Servemark prints a message, and may have
            // queried the model first.
            Outcome::Failed | Outcome::Refused
                if line.requests.iter().all(|sent| self.is_control(sent)) =>
            {
                line.requests.clear();
                Outcome::Refused
            }
            outcome => outcome,
        };
        if line.outcome != Outcome::Done {
            line.labels.clear();
        }
        if line.command == "throughput" || line.command == "latency" {
            // Servemark's line about the engine, its summary and its whole table.
            let ours = ["Measured ", "  INCOMPLETE ", "  Measured ", "Servemark report"];
            let is_ours = |label: &String| ours.iter().any(|start| label.starts_with(start));
            let own = line.labels.iter().position(is_ours);
            line.labels.truncate(own.unwrap_or(line.labels.len()));
            // Servemark prints these on standard error.
            let texts = ["When dataset path is not set", "Warming up with"];
            line.labels.retain(|label| !texts.iter().any(|start| label.starts_with(start)));
            // The engine's own parser prints this, with the name of the worker.
            line.message.take_if(|message| !message.starts_with("argument "));
        }
    }

    fn labels(&self, stdout: &str) -> Vec<String> {
        let mut lines = stdout.lines().peekable();
        let mut labels = Vec::new();
        while let Some(line) = lines.next() {
            if line.starts_with("Failed requests during") {
                // The reason for each failure is worded differently.
                while lines.next_if(|line| !line.contains(TABLE)).is_some() {}
            } else if line.contains(TABLE) {
                let table = lines.by_ref().take_while(|line| !line.starts_with("======"));
                labels.extend(table.map(label));
                // Servemark's tables follow, and vLLM's message about its profiler.
                lines.by_ref().last();
            } else if !is_left_out(line) {
                labels.push(figures_out(line));
            }
        }
        labels
    }

    /// Returns the message of vLLM's argument parser. Where vLLM's client raises an exception,
    /// Servemark's message is worded differently.
    fn message(&self, stderr: &str) -> Option<String> {
        let (_, message) = stderr.lines().rev().find_map(|line| line.split_once(" error: "))?;
        // The order of a Python set differs between processes, and only one of them prints the
        // short flag.
        let tails = ["; did you mean ", " (choose from "];
        let cut = |text, tail| str::split_once(text, tail).map_or(text, |(front, _)| front);
        let message = tails.into_iter().fold(message, cut);
        let message =
            message.replace("argument -o/", "argument ").replace("argument -e/", "argument ");
        PARSER.iter().any(|start| message.starts_with(start)).then_some(message)
    }

    fn drawn_anew(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("bench-[0-9a-f]{8}-", "bench-{ID}-"),
            ("[0-9]{8}([-_])[0-9]{6}", "{DATE}${1}{TIME}"),
            ("boundary=[0-9A-Za-z_-]+", "boundary={BOUNDARY}"),
        ]
    }

    fn argued(&self) -> &'static [Argued] {
        ARGUED
    }
}

const ARGUED: &[Argued] = &[
    Argued {
        kind: "no-json-number",
        is: |peer, own, _| own.outcome == Outcome::Refused && asks_for_no_number(&peer.argv),
    },
    Argued {
        kind: "no-address",
        is: |peer, own, _| own.outcome == Outcome::Refused && has_no_address(&peer.argv),
    },
    Argued {
        kind: "startup-cmd-is-asked",
        is: |peer, own, difference| {
            let is_ignored = |label: &String| label.starts_with("Ignoring unsupported startup");
            let shows_all =
                difference.part == ComparedPart::Labels && peer.labels.iter().any(is_ignored);
            peer.command == "sweep startup" && (own.outcome == Outcome::Refused || shows_all)
        },
    },
    Argued {
        kind: "texts-in-one-message",
        is: |peer, _, difference| {
            let is_of_several = |request: &SentRequest| {
                request.body["messages"][0]["content"][0]["text"].is_array()
            };
            difference.part == ComparedPart::Value("total_input_sequences".to_owned())
                && peer.requests.iter().any(is_of_several)
        },
    },
    Argued { kind: "whole-numbers-of-64-bits", is: |peer, own, _| refuses_long_number(peer, own) },
];

/// Command that cuts a text into prompts, and the file that it writes.
const SLICING: &str = "create_txt_slices_dataset";
const SLICES: &str = "slices.jsonl";

/// Log of the calls to the stand-in of an engine.
const CALLS: &str = "calls.jsonl";

/// First words of argparse's messages.
const PARSER: [&str; 4] = [
    "ambiguous option: ",
    "argument ",
    "the following arguments are required: ",
    "unrecognized arguments: ",
];

/// Returns whether a sampling flag has a value that JSON cannot hold: an infinity or NaN.
fn asks_for_no_number(argv: &[String]) -> bool {
    let is_of_choice = |flag: &str| CHOICE.iter().any(|start| flag.starts_with(start));
    let is_none = |value: &str| ["inf", "-inf", "nan"].contains(&value);
    let follows = |pair: &[String]| is_of_choice(&pair[0]) && is_none(&pair[1]);
    let is_attached = |word: &String| {
        word.split_once('=').is_some_and(|(flag, value)| is_of_choice(flag) && is_none(value))
    };
    argv.windows(2).any(follows) || argv.iter().any(is_attached)
}

/// Returns whether the value of `--base-url` is not a URL.
fn has_no_address(argv: &[String]) -> bool {
    let is_base = |flag: &str| flag.starts_with("--base") && "--base-url".starts_with(flag);
    let is_url = |value: &str| value.starts_with("http") || value.starts_with("{URL}");
    let follows = |pair: &[String]| is_base(&pair[0]) && !is_url(&pair[1]);
    let is_attached = |word: &String| {
        word.split_once('=').is_some_and(|(flag, value)| is_base(flag) && !is_url(value))
    };
    argv.windows(2).any(follows) || argv.iter().any(is_attached)
}

/// Beginnings of the sampling flags.
const CHOICE: [&str; 6] = ["--freq", "--min", "--pres", "--rep", "--temp", "--top"];

const TIMES: [&str; 13] = [
    "avg_latency",
    "date",
    "duration",
    "itls",
    "latencies",
    "max_concurrent_requests",
    "percentiles",
    "queue_times",
    "rtfx",
    "server_queue_times",
    "server_ttfts",
    "start_times",
    "ttfts",
];

/// Parses a result without the keys that only Servemark adds.
fn result(name: &str, text: &str) -> Option<Map<String, Value>> {
    if name.contains("runlog") || name == CALLS {
        return None;
    }
    let text = numbers_only(text);
    let mut result: Map<String, Value> = serde_json::from_str(&text).ok()?;
    if !result.contains_key("model_id") {
        return None;
    }
    result.retain(|key, _| !OURS.iter().any(|start| key.starts_with(start)));
    for (key, value) in &mut result {
        match (key.as_str(), value) {
            // Only whether there is a goodput or an error is compared; error texts differ.
            ("request_goodput", value) if value.is_number() => *value = Value::Bool(true),
            ("errors", Value::Array(errors)) => {
                for error in errors {
                    *error = Value::Bool(error != "");
                }
            }
            ("rps_change_events", Value::Array(events)) => {
                for event in events {
                    *event = event["rps"].take();
                }
            }
            _ => {}
        }
    }
    Some(result)
}

/// Prefixes of the keys that only Servemark adds.
const OURS: [&str; 4] = ["audit", "measured_over", "native_", "prefix_cache_"];

fn label(line: &str) -> String {
    match line.split_once(':') {
        Some((label, _)) => label.trim().to_owned(),
        None => line.trim_matches('-').trim().to_owned(),
    }
}

/// Returns whether a line of standard output is left out: it exists in one of the two programs
/// only, or it is about the profiler, which Servemark stops before the table.
fn is_left_out(line: &str) -> bool {
    let starts = ["Namespace(", "tip:", "Stopping profiler", "Profiler stopped"];
    line.is_empty() || starts.iter().any(|start| line.starts_with(start))
}

/// Marker in the heading of vLLM's table.
const TABLE: &str = "= Serving Benchmark Result =";

/// Removes the measured figures from a line of an engine benchmark.
fn figures_out(line: &str) -> String {
    let is_figure = line.starts_with("Throughput: ") || line.contains(" latency: ");
    if is_figure { label(line) } else { line.to_owned() }
}
