//! Reads a run log as JSON lines, independently of Servemark's own types.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::answer::Counts;

/// A request in the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    pub(super) index: u64,
    pub(super) is_warmup: bool,
    /// Start of the run's clock, in nanoseconds since the Unix epoch.
    pub(super) clock_started: u64,
    pub(super) planned: Counts,
    pub(super) stamps: Stamps,
    /// Token count of each chunk, if the wire has one.
    pub(super) tokens: Vec<Option<u64>>,
    pub(super) pieces: usize,
    pub(super) status: Option<u64>,
    pub(super) counts: Counts,
    pub(super) server_ms: ServerMs,
    pub(super) text: String,
    pub(super) outcome: Outcome,
}

/// Times that the server reported with the answer, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ServerMs {
    pub(super) queue: Option<f64>,
    /// From the queue to the first token.
    pub(super) prefill: Option<f64>,
    pub(super) decode: Option<f64>,
}

/// Times in nanoseconds on the run's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stamps {
    pub(super) scheduled: u64,
    pub(super) sent: Option<u64>,
    pub(super) headers: Option<u64>,
    pub(super) first_byte: Option<u64>,
    pub(super) pieces: Vec<u64>,
    pub(super) ended: u64,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Finished(Option<String>),
    Failed { kind: String, message: String },
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Finished(None)
    }
}

/// A log with a footer.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) records: Vec<Record>,
    /// Whether the run was interrupted.
    pub(super) interrupted: bool,
}

/// Returns the records of a log; fails if the run was interrupted.
pub(super) fn records(path: &Path) -> anyhow::Result<Vec<Record>> {
    let log = log(path)?;
    ensure!(!log.interrupted, "the log does not end with a whole run");
    Ok(log.records)
}

/// Reads a log with header and footer.
pub(super) fn log(path: &Path) -> anyhow::Result<Log> {
    let text = fs::read_to_string(path).with_context(|| format!("no log {}", path.display()))?;
    let lines: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let [header, records @ .., footer] = &*lines else { bail!("a log of {} lines", lines.len()) };
    let started = header["header"]["clock_started_unix_ns"].as_u64();
    let started = started.context("the log does not begin with a header")?;
    let interrupted = footer["footer"]["interrupted"].as_bool();
    let interrupted = interrupted.context("the log does not end with a footer")?;
    let record = |line: &Value| Record::of(&line["request"], started).context("an odd line");
    let records = records.iter().map(record).collect::<anyhow::Result<_>>()?;
    Ok(Log { records, interrupted })
}

impl Record {
    fn of(request: &Value, clock_started: u64) -> Option<Self> {
        let tokens = request["deltas"]["tokens"].as_array().map(Vec::as_slice).unwrap_or_default();
        let stamps = Stamps::of(request)?;
        Some(Self {
            index: request["index"].as_u64()?,
            is_warmup: request["phase"] == "warmup",
            clock_started,
            planned: Counts {
                prompt: request["planned"]["prompt_tokens"].as_u64(),
                completion: request["planned"]["output_tokens"].as_u64(),
                cached: None,
            },
            tokens: tokens.iter().map(Value::as_u64).collect(),
            pieces: stamps.pieces.len(),
            stamps,
            status: request["status"].as_u64(),
            counts: Counts::of(&request["usage"]),
            server_ms: ServerMs::of(&request["server_times"]),
            text: request["text"].as_str()?.to_owned(),
            outcome: Outcome::of(&request["outcome"])?,
        })
    }

    /// Seconds from sending to the first chunk.
    pub(super) fn ttft(&self) -> Option<f64> {
        Some(seconds(self.stamps.sent?, *self.stamps.pieces.first()?))
    }

    /// Time of the first chunk, in seconds since the Unix epoch.
    pub(super) fn first_piece_at(&self) -> Option<f64> {
        Some(seconds(0, self.clock_started + self.stamps.pieces.first()?))
    }

    /// Seconds from sending to the last byte.
    pub(super) fn latency(&self) -> Option<f64> {
        Some(seconds(self.stamps.sent?, self.stamps.ended))
    }
}

impl ServerMs {
    fn of(times: &Value) -> Self {
        let prefill = times["prefill_ms"].as_f64().or_else(|| times["ttft_ms"].as_f64());
        Self { queue: times["queue_ms"].as_f64(), prefill, decode: times["decode_ms"].as_f64() }
    }
}

impl Stamps {
    fn of(request: &Value) -> Option<Self> {
        let pieces = request["deltas"]["at"].as_array()?.iter().map(Value::as_u64);
        Some(Self {
            scheduled: request["scheduled"].as_u64()?,
            sent: request["sent"].as_u64(),
            headers: request["headers"].as_u64(),
            first_byte: request["first_byte"].as_u64(),
            pieces: pieces.collect::<Option<_>>()?,
            ended: request["ended"].as_u64()?,
        })
    }

    /// Returns all stamps in the order in which the events must have happened.
    pub(super) fn in_order(&self) -> Vec<u64> {
        let before = [Some(self.scheduled), self.sent, self.headers, self.first_byte];
        let stamps = before.into_iter().flatten().chain(self.pieces.iter().copied());
        stamps.chain([self.ended]).collect()
    }
}

impl Outcome {
    fn of(outcome: &Value) -> Option<Self> {
        if let Some(finish) = outcome.get("Ok") {
            return Some(Self::Finished(finish["reason"].as_str().map(str::to_owned)));
        }
        let error = outcome.get("Err")?;
        let word = |name| error[name].as_str().map(str::to_owned);
        Some(Self::Failed { kind: word("kind")?, message: word("message")? })
    }
}

fn seconds(from: u64, to: u64) -> f64 {
    (i128::from(to) - i128::from(from)) as f64 / 1e9
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A successful request with two chunks and three tokens.
    pub(in super::super) fn finished() -> Record {
        let request = json!({
            "index": 0, "phase": "measure",
            "planned": {"prompt_tokens": 4, "text_tokens": 4, "output_tokens": 3},
            "scheduled": 0, "sent": 10, "headers": 20, "first_byte": 30,
            "deltas": {"at": [30, 40], "bytes": [1, 1], "tokens": [1, 2]}, "ended": 50,
            "status": 200, "usage": {"prompt_tokens": 4, "completion_tokens": 3},
            "text": "ab", "outcome": {"Ok": {"reason": "length"}},
        });
        Record::of(&request, 0).unwrap()
    }

    #[test]
    fn a_request_is_read_from_its_line() {
        let record = finished();
        assert_eq!((record.pieces, &*record.tokens), (2, &[Some(1), Some(2)][..]));
        assert_eq!(record.stamps.in_order(), [0, 10, 20, 30, 30, 40, 50]);
        assert_eq!((record.ttft(), record.latency()), (Some(20e-9), Some(40e-9)));
        assert_eq!(record.outcome, Outcome::Finished(Some("length".to_owned())));
    }

    #[test]
    fn a_failure_keeps_its_kind_and_its_story() {
        let outcome = Outcome::of(&json!({"Err": {"kind": "status", "message": "404"}})).unwrap();
        assert!(matches!(outcome, Outcome::Failed { kind, .. } if kind == "status"));
        assert_eq!(Outcome::of(&json!({})), None);
    }
}
