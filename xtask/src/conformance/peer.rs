//! Compares our run with a run of the engine's own client with the same command line and server.

use std::collections::BTreeMap;

use serde_json::Value;

use super::answer::{Counts, WireAnswer};
use super::checks::{same, unless};
use super::record::Record;
use super::run::Run;
use super::tally::Tally;
use super::wire::Exchange;

/// Result of a comparison.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) row: Beside,
    pub(super) faults: Vec<String>,
}

/// Equal counts from our client, the engine's client and the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    ours: Tally,
    peers: Tally,
    servers: Tally,
}

impl Beside {
    /// Formats requests, prompt tokens and output tokens.
    pub(super) fn rows(&self) -> [String; 3] {
        let Self { ours, peers, servers } = self;
        let row = |count: fn(&Tally) -> u64| {
            format!("{} / {} / {}", count(ours), count(peers), count(servers))
        };
        [
            row(|tally| tally.requests),
            row(|tally| tally.prompt_tokens),
            row(|tally| tally.output_tokens),
        ]
    }
}

/// Compares our run, its log and the wire with the peer's run and the server's counters.
pub(super) fn compare(pairs: &[(Record, WireAnswer)], ours: &Run, peers: &Run) -> Comparison {
    let row = Beside {
        ours: measured(pairs, |record| record.is_warmup),
        peers: of_result(&peers.result),
        servers: ours.tally - measured(pairs, |record| !record.is_warmup),
    };
    let faults = [
        same("the server's counters", &wire_counts(pairs), &ours.tally),
        same("the server's counters of both runs", &ours.tally, &peers.tally),
        same("the result's counts", &row.ours, &of_result(&ours.result)),
        same("the counts of vLLM's client", &row.ours, &row.peers),
        same(
            "the requests of vLLM's client",
            &request_lines(&ours.exchanges),
            &request_lines(&peers.exchanges),
        ),
        unless(has_keys(&ours.result, &peers.result), "our result has not vLLM's keys in front"),
        same("vLLM's table", &table(&ours.output), &table(&peers.output)),
        unless(!table(&peers.output).is_empty(), "vLLM's client printed no table"),
    ];
    let faults = faults.into_iter().flatten().chain(settings(&ours.result, &peers.result));
    Comparison { row, faults: faults.collect() }
}

/// Counts of the log, without the records for which `is_left_out` holds.
fn measured(pairs: &[(Record, WireAnswer)], is_left_out: impl Fn(&Record) -> bool) -> Tally {
    let counted = pairs.iter().map(|(record, _)| record).filter(|record| !is_left_out(record));
    total(counted.map(|record| (record.status, record.counts)))
}

/// Counts of all replies on the wire. The server counts every text and every document as a
/// request.
fn wire_counts(pairs: &[(Record, WireAnswer)]) -> Tally {
    let answers = pairs.iter().map(|(_, answer)| answer);
    let sum = total(answers.clone().map(|answer| (Some(answer.status.into()), answer.counts)));
    let further = answers.map(|answer| answer.items.saturating_sub(1) as u64);
    Tally { requests: sum.requests + further.sum::<u64>(), ..sum }
}

fn total(counts: impl Iterator<Item = (Option<u64>, Counts)>) -> Tally {
    let answered = counts.filter(|(status, _)| *status == Some(200));
    answered.fold(Tally::default(), |sum, (_, counts)| Tally {
        requests: sum.requests + 1,
        prompt_tokens: sum.prompt_tokens + counts.prompt.unwrap_or_default(),
        output_tokens: sum.output_tokens + counts.completion.unwrap_or_default(),
    })
}

/// Counts of a result file.
fn of_result(result: &Value) -> Tally {
    let count = |key: &str| result[key].as_u64().unwrap_or_default();
    Tally {
        requests: count("completed"),
        prompt_tokens: count("total_input_tokens"),
        output_tokens: count("total_output_tokens"),
    }
}

/// Returns path, number and body of each request, sorted. The names of requests begin with a
/// prefix that differs for every run, so only the number at the end is kept.
fn request_lines(exchanges: &[Exchange]) -> Vec<String> {
    let line = |exchange: &Exchange| {
        let number = exchange.id.as_deref().and_then(|id| id.rsplit('-').next());
        let body = String::from_utf8_lossy(&exchange.request_body);
        let body = serde_json::from_str(&body).unwrap_or_else(|_| Value::from(body));
        format!("{} {} {body}", exchange.path, number.unwrap_or("without a name"))
    };
    let mut lines: Vec<_> = exchanges.iter().map(line).collect();
    lines.sort();
    lines
}

/// Whether our result begins with vLLM's keys in vLLM's order; additional keys follow them.
pub(super) fn has_keys(ours: &Value, peers: &Value) -> bool {
    keys(ours).starts_with(&keys(peers))
}

fn keys(result: &Value) -> Vec<&str> {
    result.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

/// Compares all values that are not times: settings, counts, lengths and errors.
pub(super) fn settings(ours: &Value, peers: &Value) -> Vec<String> {
    let is_timeless = |key: &&str| !TIMES.iter().any(|word| key.contains(word));
    let of = |result: &Value| -> BTreeMap<String, Value> {
        let keys = keys(result).into_iter().filter(is_timeless);
        keys.map(|key| (key.to_owned(), result[key].clone())).collect()
    };
    let (ours, peers) = (of(ours), of(peers));
    let both = ours.iter().filter_map(|(key, value)| Some((key, value, peers.get(key)?)));
    both.filter_map(|(key, value, other)| same(key, value, other)).collect()
}

/// Returns the table that a client printed: every label, and the values that are counts.
fn table(output: &str) -> Vec<String> {
    let lines = output.lines().skip_while(|line| !line.contains(TITLE));
    let lines = lines.map_while(|line| (!line.bytes().all(|sign| sign == b'=')).then_some(line));
    lines.map(labelled).collect()
}

/// Returns a line's label, with its value if that is a count.
pub(super) fn labelled(line: &str) -> String {
    match line.split_once(':') {
        Some((label, value)) if value.trim().parse::<u64>().is_ok() => {
            format!("{label}: {}", value.trim())
        }
        Some((label, _)) => label.to_owned(),
        None => line.to_owned(),
    }
}

const TITLE: &str = " Serving Benchmark Result ";

/// Substrings of the names of values that are times or depend on times.
const TIMES: [&str; 15] = [
    "_ms",
    "_per_s",
    "concurrent",
    "date",
    "duration",
    "elapsed",
    "generated_texts",
    "goodput",
    "itls",
    "latencies",
    "latency",
    "percentiles",
    "throughput",
    "times",
    "ttfts",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn exchange(id: &str, body: &str) -> Exchange {
        Exchange {
            path: "/v1/completions".to_owned(),
            id: Some(id.to_owned()),
            request_body: body.as_bytes().to_vec(),
            status: 200,
            reply: Vec::new(),
        }
    }

    #[test]
    fn requests_are_the_same_in_any_order_and_under_any_prefix() {
        let ours = [exchange("bench-1-0", r#"{"a":1}"#), exchange("bench-1-1", r#"{"a":2}"#)];
        let peers = [exchange("bench-2-1", r#"{ "a": 2 }"#), exchange("bench-2-0", r#"{"a":1}"#)];
        assert_eq!(request_lines(&ours), request_lines(&peers));
        assert_ne!(request_lines(&ours[..1]), request_lines(&peers[..1]));
    }

    #[test]
    fn a_table_is_its_labels_and_its_counts() {
        let output = "noise\n==== Serving Benchmark Result ====\nSuccessful requests:   8   \n\
                    Benchmark duration (s):   14.01\n----Time----\n=====\nMore: 1\n";
        let expected = [
            "==== Serving Benchmark Result ====",
            "Successful requests: 8",
            "Benchmark duration (s)",
            "----Time----",
        ];
        assert_eq!(table(output), expected);
    }

    #[test]
    fn our_keys_come_behind_vllms() {
        let peers = json!({"completed": 1, "failed": 0});
        assert!(has_keys(&json!({"completed": 1, "failed": 0, "native": 1}), &peers));
        assert!(!has_keys(&json!({"failed": 0, "completed": 1}), &peers));
    }

    #[test]
    fn what_is_no_time_must_be_the_same() {
        let ours = json!({"num_prompts": 8, "duration": 1.0, "label": null});
        let peers = json!({"num_prompts": 9, "duration": 2.0, "label": null});
        let fault = "num_prompts: the log has Number(8), it should be Number(9)";
        assert_eq!(settings(&ours, &peers), [fault]);
    }
}
