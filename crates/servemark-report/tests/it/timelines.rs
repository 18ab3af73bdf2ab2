//! The timeline page, compared with the parts of vLLM's timeline.

use serde_json::Value;
use servemark_core::RunLog;
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::{Report, TimelinePlot};

use crate::recorded::Recorded;
use crate::report_text;

/// Returns the data embedded in the page.
fn data(log: &RunLog, plot: TimelinePlot) -> Value {
    let metrics = Metrics::score(log, &MetricPolicy::vllm());
    let page = report_text(&plot, &Report::new(log, &metrics, &Audit::of(log)));
    let (_, tail) = page.split_once("const data = ").unwrap();
    serde_json::from_str(tail.split_once(";\n").unwrap().0).unwrap()
}

#[test]
fn the_parts_of_requests_are_vllms() {
    let Recorded { golden, left } = Recorded::from_name("plots");
    let (ours, theirs) =
        (data(&golden.log(), TimelinePlot::new(20.5, 50.0)), &left.drawn["timeline"]);
    assert_eq!(ours["labels"], theirs["labels"]);
    let colors = ours["labels"].as_array().unwrap().iter().zip(ours["colors"].as_array().unwrap());
    for (label, color) in colors {
        assert_eq!(theirs["colors"][label.as_str().unwrap()], *color);
    }
    let segments = theirs["segments"].as_array().unwrap();
    let parts: Vec<_> = (0..).zip(ours["requests"].as_array().unwrap()).flat_map(parts).collect();
    assert_eq!(parts.len(), segments.len());
    for (part, segment) in parts.iter().zip(segments) {
        assert_eq!(format!("Req {}", part.request), segment["request_id"]);
        assert_eq!(ours["labels"][part.kind(&ours)], segment["type"]);
        assert_eq!(format!("{:.3}s", part.seconds()), segment["duration"], "{segment}");
        near(part.start, &segment["segment_start"]);
        near(part.end, &segment["segment_end"]);
        assert_eq!(part.life["prompt"], segment["prompt_tokens"]);
        assert_eq!(part.life["output"], segment["output_tokens"]);
    }
}

#[test]
fn a_run_without_requests_has_a_page_too() {
    let log = Recorded::from_name("plots").golden.log();
    let empty = RunLog::new(log.header().clone(), Vec::new(), None);
    assert_eq!(data(&empty, TimelinePlot::new(25.0, 50.0))["requests"], Value::Array(Vec::new()));
}

struct TimelinePart<'a> {
    request: usize,
    life: &'a Value,
    is_first: bool,
    start: i64,
    end: i64,
}

fn parts((request, life): (usize, &Value)) -> impl Iterator<Item = TimelinePart<'_>> {
    let number = |key: &str| life[key].as_i64().unwrap();
    let gaps = life["gaps"].as_array().unwrap().iter().map(|gap| gap.as_i64().unwrap());
    let mut now = number("start");
    [number("ttft")].into_iter().chain(gaps).enumerate().map(move |(place, length)| {
        let start = now;
        now += length;
        TimelinePart { request, life, is_first: place == 0, start, end: now }
    })
}

impl TimelinePart<'_> {
    fn seconds(&self) -> f64 {
        (self.end - self.start) as f64 / 1e6
    }

    fn kind(&self, data: &Value) -> usize {
        let is_under = |key: &str| self.end - self.start < data[key].as_i64().unwrap();
        match (self.is_first, is_under("slow_us"), is_under("very_slow_us")) {
            (true, ..) => 0,
            (_, true, _) => 1,
            (_, _, true) => 2,
            _ => 3,
        }
    }
}

/// The peer shows milliseconds; Servemark's are sums of whole microseconds.
#[track_caller]
fn near(micros: i64, shown: &Value) {
    let parts = shown.as_str().unwrap().split(':').map(|part| part.parse::<f64>().unwrap());
    let seconds = parts.fold(0.0, |sum, part| sum * 60.0 + part);
    assert!((micros as f64 / 1e6 - seconds).abs() < 6e-4, "{micros} is not {shown}");
}
