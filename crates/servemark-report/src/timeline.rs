//! A page with a bar for every request's duration.
//!
//! The page embeds the times as data and the script that draws them. It needs no network and no
//! library, and shows the times of the bar under the pointer.

use std::io;

use serde::Serialize;
use servemark_metrics::RequestScore;

use crate::{Report, ReportFormat};

/// A page with a bar per request: the time to first token, then each inter-token latency, coloured
/// by its length. Labels and colours match vLLM's timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelinePlot {
    slow_ms: f64,
    very_slow_ms: f64,
}

impl TimelinePlot {
    /// Returns a timeline that marks inter-token latencies as slow from `slow_ms` on and as very
    /// slow from `very_slow_ms` on, in milliseconds.
    pub const fn new(slow_ms: f64, very_slow_ms: f64) -> Self {
        Self { slow_ms, very_slow_ms }
    }

    fn labels(self) -> [String; 4] {
        let Self { slow_ms, very_slow_ms } = self;
        [
            "TTFT".to_owned(),
            format!("ITL < {slow_ms:.0}ms"),
            format!("{slow_ms:.0}ms ≤ ITL < {very_slow_ms:.0}ms"),
            format!("ITL ≥ {very_slow_ms:.0}ms"),
        ]
    }
}

impl ReportFormat for TimelinePlot {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let scores = report.scores();
        let began = scores.iter().map(|score| score.start_s).fold(f64::INFINITY, f64::min);
        let data = Data {
            labels: self.labels(),
            colors: COLORS,
            slow_us: micros(self.slow_ms / 1e3),
            very_slow_us: micros(self.very_slow_ms / 1e3),
            requests: scores.iter().map(|score| RequestSpan::of(score, began)).collect(),
        };
        let (before, after) = PAGE.split_once(PLACE).expect("the page has a place for data");
        out.write_all(before.as_bytes())?;
        serde_json::to_writer(&mut *out, &data)?;
        out.write_all(after.as_bytes())
    }
}

#[derive(Serialize)]
struct Data {
    labels: [String; 4],
    colors: [&'static str; 4],
    slow_us: i64,
    very_slow_us: i64,
    requests: Vec<RequestSpan>,
}

/// Times of a request in whole microseconds, which keeps a page of many requests small.
#[derive(Serialize)]
struct RequestSpan {
    start: i64,
    ttft: i64,
    /// Times from the first token on.
    gaps: Vec<i64>,
    prompt: u32,
    output: u64,
    ok: bool,
}

impl RequestSpan {
    fn of(score: &RequestScore<'_>, began: f64) -> Self {
        Self {
            start: micros(score.start_s - began),
            ttft: micros(score.ttft_s.unwrap_or_default()),
            gaps: score.itl_s.iter().map(micros).collect(),
            prompt: score.prompt_tokens,
            output: score.output_token_count(),
            ok: score.success,
        }
    }
}

fn micros(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

const COLORS: [&str; 4] = ["#636EFA", "#109618", "#FF7F0E", "#D62728"];
const PAGE: &str = include_str!("timeline/page.html");
const PLACE: &str = "/*DATA*/";
