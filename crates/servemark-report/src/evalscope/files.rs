//! The JSON files in a run's folder.

use std::io;

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_metrics::{Distribution, WorkloadPoint};
use servemark_pyjson::{Style, Text, to_string};

use super::field::Field;
use super::number_format::round;
use super::tables::{FIRST_PERCENT, LAST_S};
use super::{EvalscopeOptions, EvalscopeRun, EvalscopeStyle, speeds};
use crate::{Report, ReportFormat};

/// The file `benchmark_summary.json` of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvalscopeSummary {
    options: EvalscopeOptions,
}

impl EvalscopeSummary {
    /// Returns the summary in the format of the options' version.
    pub fn new(options: EvalscopeOptions) -> Self {
        Self { options }
    }
}

/// The data set of recorded requests, of which the first are a warm-up.
const TRACE: &str = "workload_trace";

#[expect(clippy::cast_sign_loss, reason = "numbers of requests are not negative")]
fn whole(number: f64) -> usize {
    number as usize
}

/// Returns whether recorded requests are embedded in bodies of another form. evalscope then
/// measures its warm-up, too.
fn is_within_a_body(args: &JsonObject) -> bool {
    let api = args.get("api").and_then(Value::as_str).unwrap_or_default();
    let has_template = args.get("query_template").is_some_and(|template| !template.is_null());
    has_template || ["embedding", "rerank"].iter().any(|end| api.ends_with(end))
}

/// Adds the warm-up to the number of requests, as evalscope does for recorded requests.
fn count_warm_up(args: &mut JsonObject, measured: usize) {
    let Some(warm_up) = args.get("warmup_num").and_then(Value::as_f64).filter(|of| *of > 0.0)
    else {
        return;
    };
    // A share is one of all requests.
    let of = |number: usize| match warm_up {
        share if share < 1.0 => whole(share * number as f64).max(1),
        count => whole(count),
    };
    let number =
        (measured..=usize::MAX).find(|number| number.saturating_sub(of(*number)) >= measured);
    args.insert("number".to_owned(), json!(number));
    args.insert("warmup_num".to_owned(), json!(0));
}

impl ReportFormat for EvalscopeSummary {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let summary = EvalscopeRun::of(report, self.options).summary_json();
        writeln!(out, "{}", indented(&Value::Object(summary)))
    }
}

impl EvalscopeRun {
    /// Returns the name and content of each JSON file in the run's folder. `args` are the arguments
    /// of the command line; their `number` is replaced by the run's, because a trace determines it.
    pub fn files(&self, args: &JsonObject) -> Vec<(&'static str, String)> {
        let mut args = args.clone();
        args.entry("number").and_modify(|number| *number = json!(self.number));
        // A prompt of the command line is sent in place of the trace.
        let has_prompt =
            args.get("prompt").and_then(Value::as_str).is_some_and(|it| !it.is_empty());
        if args.get("dataset").is_some_and(|name| name == TRACE) && !has_prompt {
            if is_within_a_body(&args) {
                args.insert("warmup_num".to_owned(), json!(0));
            } else {
                count_warm_up(&mut args, self.number);
            }
        }
        let mut files = vec![
            ("benchmark_args.json", Value::Object(args)),
            ("benchmark_summary.json", Value::Object(self.summary_json())),
            ("benchmark_percentile.json", self.percentile_json()),
        ];
        if self.traces.is_some() {
            files.push(("trace_summary.json", self.traces_json()));
        }
        if !self.workload.points.is_empty() {
            files.push(("workload_throughput.json", self.workload_json()));
            files.push(("workload_timeline.json", self.timeline_json()));
        }
        if self.options.speeds {
            files.push(("speed_benchmark.json", speeds::json(&self.speeds)));
        }
        files.into_iter().map(|(name, value)| (name, indented(&value))).collect()
    }

    /// Returns the fields of `benchmark_summary.json` by name.
    pub fn summary_json(&self) -> JsonObject {
        let style = self.options.style;
        let value = |field: Field, value: f64| match field {
            _ if field.is_count() => json!(value as i64),
            // 1.0 stores -1, an integer, for fields that it has no request for.
            _ if style == EvalscopeStyle::V1_0 && value < 0.0 => json!(value as i64),
            _ => json!(value),
        };
        let mut summary = JsonObject::new();
        for &(field, of) in &self.numbers.entries {
            summary.insert(field.name(style).to_owned(), value(field, of));
            if self.options.decides && field == Field::InputTokens {
                let unknown = NOT_OF_DECISIONS.map(|field| field.name(style));
                summary.insert("Not Applicable Metrics".to_owned(), json!(unknown));
            }
        }
        summary
    }

    fn percentile_json(&self) -> Value {
        let style = self.options.style;
        let row = |(place, label): (usize, &String)| {
            let mut row = JsonObject::new();
            row.insert("Percentiles".to_owned(), json!(label));
            for of in &self.percentiles.rows {
                let is_whole = style == EvalscopeStyle::V1_0 && of.sample.is_count();
                let value = match of.values[place] {
                    Some(count) if is_whole => json!(count as i64),
                    value => json!(value),
                };
                row.insert(of.sample.name(style).to_owned(), value);
            }
            Value::Object(row)
        };
        self.percentiles.labels.iter().enumerate().map(row).collect()
    }

    fn traces_json(&self) -> Value {
        let traces = self.traces.as_ref().map_or(0, |traces| traces.traces);
        let rows: Vec<Value> = self.trace_rows().into_iter().map(trace_json).collect();
        json!({"n_traces": traces, "rows": rows})
    }

    fn workload_json(&self) -> Value {
        let row = |(metric, [overall, last, steady]): (&str, [f64; 3])| {
            json!({
                "metric": metric,
                "overall": overall,
                "last_window": last,
                "steady_state": steady,
            })
        };
        json!({
            "n_samples": self.workload.points.len(),
            "wall_time_s": round(self.workload.duration_s(), 4),
            "last_window_s": LAST_S,
            "warmup_frac": f64::from(FIRST_PERCENT) / 100.0,
            "rows": self.workload_rows().map(row),
        })
    }

    fn timeline_json(&self) -> Value {
        let point = |point: &WorkloadPoint| {
            json!({
                "t": round(point.at_s, 6),
                "cum_completion": point.output,
                "cum_new_prompt": point.new_prompt,
                "cum_cached_prompt": point.cached_prompt,
            })
        };
        let points: Vec<Value> = self.workload.points.iter().map(point).collect();
        json!({"wall_start": self.workload.began_s, "points": points})
    }
}

/// Metrics that do not apply to decisions.
const NOT_OF_DECISIONS: [Field; 3] = [Field::Ttft, Field::Tpot, Field::Itl];

fn trace_json((metric, values): (&str, &Distribution)) -> Value {
    let percentile = |percent: f64| values.percentile(percent).unwrap_or_default();
    json!({
        "metric": metric,
        "mean": values.mean.unwrap_or_default(),
        "min": values.min.unwrap_or_default(),
        "p50": percentile(50.0),
        "p90": percentile(90.0),
        "p95": percentile(95.0),
        "p99": percentile(99.0),
        "max": values.max.unwrap_or_default(),
    })
}

/// Formats JSON as Python's `json.dump` does with an indent of four.
fn indented(value: &Value) -> String {
    to_string(value, Style::new(Text::Unicode, Some(4))).unwrap_or_default()
}
