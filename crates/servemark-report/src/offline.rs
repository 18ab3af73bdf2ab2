//! Texts and documents of vLLM 0.33.0's `bench throughput` and `bench latency`, with its labels and
//! keys.
//!
//! vLLM runs the engine in its own process. Servemark may measure over HTTP instead; both texts and
//! documents say so after vLLM's part.

use std::fmt;

use serde::Serialize;
use serde_json::json;
use servemark_core::{Header, JsonObject};
use servemark_metrics::statistics;
use servemark_pyjson::{Style, Text, repr, to_string};

use crate::{Report, calls};

/// Result of `bench throughput`. Its `Display` is the text for standard output.
#[derive(Clone, Debug, PartialEq)]
pub struct OfflineThroughput {
    /// Model name as the user wrote it.
    pub model: String,
    /// Duration from the first request to the last answer; for an in-process engine, the duration
    /// of its calls.
    pub seconds: f64,
    /// Number of requests that were answered.
    pub requests: usize,
    /// Number of prompt tokens of all answered requests.
    pub prompt_tokens: u64,
    /// Number of output tokens of all answered requests.
    pub output_tokens: u64,
    /// Interface between the requests and the engine.
    pub over: MeasuredOver,
}

impl OfflineThroughput {
    /// Returns the throughput of a run whose requests were all sent at once.
    pub fn of(report: &Report<'_>) -> Self {
        let (metrics, over) = (report.metrics, MeasuredOver::of(report.log.header()));
        Self {
            model: report.log.header().facts.model.clone(),
            seconds: match over {
                MeasuredOver::Calls => calls::seconds(report.log),
                MeasuredOver::Http => metrics.duration_s,
            },
            requests: metrics.requests.completed,
            prompt_tokens: metrics.tokens.input,
            output_tokens: metrics.tokens.output.unwrap_or_default(),
            over,
        }
    }

    /// Returns the content of the `--output-json` file.
    pub fn to_json(&self) -> String {
        document(
            self.over,
            &[
                ("model_id", json!(self.model)),
                ("elapsed_time", json!(self.seconds)),
                ("num_requests", json!(self.requests)),
                ("total_num_tokens", json!(self.tokens())),
                ("requests_per_second", json!(self.per_second(self.requests as u64))),
                ("tokens_per_second", json!(self.per_second(self.tokens()))),
            ],
        )
    }

    fn tokens(&self) -> u64 {
        self.prompt_tokens + self.output_tokens
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }
}

impl fmt::Display for OfflineThroughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [requests, total, output] =
            [self.requests as u64, self.tokens(), self.output_tokens].map(|n| self.per_second(n));
        writeln!(
            f,
            "Throughput: {requests:.2} requests/s, {total:.2} total tokens/s, {output:.2} output \
             tokens/s"
        )?;
        writeln!(f, "Total num prompt tokens:  {}", self.prompt_tokens)?;
        writeln!(f, "Total num output tokens:  {}", self.output_tokens)?;
        writeln!(f, "{}", self.over)
    }
}

/// Result of `bench latency`. Its `Display` is the text for standard output.
#[derive(Clone, Debug, PartialEq)]
pub struct OfflineLatency {
    /// Model name as the user wrote it.
    pub model: String,
    /// Duration of each batch in seconds, from its first request to its last answer.
    pub seconds: Vec<f64>,
    /// Interface between the requests and the engine.
    pub over: MeasuredOver,
}

impl OfflineLatency {
    /// Returns the latencies of batches that were sent one after the other; `header` is that of
    /// their run log.
    pub fn new(header: &Header, seconds: Vec<f64>) -> Self {
        Self { model: header.facts.model.clone(), seconds, over: MeasuredOver::of(header) }
    }

    /// Returns the content of the `--output-json` file.
    pub fn to_json(&self) -> String {
        let percentiles: JsonObject = self
            .percentiles()
            .map(|(percent, value)| (percent.to_string(), json!(value)))
            .collect();
        document(
            self.over,
            &[
                ("model_id", json!(self.model)),
                ("avg_latency", json!(self.mean())),
                ("latencies", json!(self.seconds)),
                ("percentiles", json!(percentiles)),
            ],
        )
    }

    fn mean(&self) -> f64 {
        statistics::mean(&self.seconds).unwrap_or(f64::NAN)
    }

    fn percentiles(&self) -> impl Iterator<Item = (u8, f64)> + use<> {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        PERCENTS.into_iter().map(move |percent| {
            let value = statistics::percentile(&sorted, percent.into());
            (percent, value.unwrap_or(f64::NAN))
        })
    }
}

impl fmt::Display for OfflineLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Avg latency: {} seconds", repr(self.mean()))?;
        for (percent, value) in self.percentiles() {
            writeln!(f, "{percent}% percentile latency: {} seconds", repr(value))?;
        }
        writeln!(f, "{}", self.over)
    }
}

/// Interface between the requests and the engine. Closed: a server or a direct call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MeasuredOver {
    /// Calls of the in-process engine.
    Calls,
    /// HTTP requests to a server.
    Http,
}

impl MeasuredOver {
    /// Returns the interface that a run used, from the header of its log.
    pub fn of(header: &Header) -> Self {
        if header.engine.is_some() { Self::Calls } else { Self::Http }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Http => "http",
        }
    }
}

impl fmt::Display for MeasuredOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Calls => "Measured around the engine's own calls.",
            Self::Http => {
                "Measured over HTTP: requests, their parsing and the answers' texts are part of \
                 the time."
            }
        })
    }
}

/// Returns a JSON document with vLLM's keys in its order, followed by `measured_over`.
fn document(over: MeasuredOver, rows: &[(&str, serde_json::Value)]) -> String {
    let own = [("measured_over", json!(over.name()))];
    let object: JsonObject =
        rows.iter().chain(&own).map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    indented(&object)
}

fn indented(object: &impl Serialize) -> String {
    to_string(object, Style::new(Text::Ascii, Some(4))).expect("it is plain data")
}

const PERCENTS: [u8; 6] = [10, 25, 50, 75, 90, 99];
