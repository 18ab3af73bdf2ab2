//! The result line: one JSON object per run, with all keys in the peer's order.

use std::borrow::Cow;
use std::io;

use serde::Serialize;
use serde_json::Value;
use servemark_core::{JsonObject, RequestRecord, RunFacts, RunLog};
use servemark_metrics::{Completeness, Gaps, Goodput, Metrics, RequestScore, SloResult};
use servemark_pyjson::{Text, to_writer};

use super::cache::{self, CacheTotals};
use super::style::Family;
use super::{SglangOptions, SglangStyle};
use crate::{Report, ReportFormat};

/// SGLang's result line, which is appended to a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct SglangLine {
    options: SglangOptions,
}

impl SglangLine {
    /// Returns a line with the given options.
    pub const fn new(options: SglangOptions) -> Self {
        Self { options }
    }
}

impl ReportFormat for SglangLine {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let mut numbers = numbers(report, self.options.style);
        if self.options.cache_report {
            numbers.put("cache_report", CacheTotals::of(report.log).json());
        }
        let line = Line {
            numbers: numbers.0,
            details: self.options.output_details.then(|| Details::of(report, self.options)),
            incomplete: incomplete(report.metrics),
        };
        to_writer(&line, Text::Ascii, &mut *out)?;
        out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    numbers: JsonObject,
    #[serde(flatten)]
    details: Option<Details<'a>>,
    /// Servemark's own key, present only if the run did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<&'static str>,
}

/// One entry per measured request, failed ones included.
#[derive(Serialize)]
struct Details<'a> {
    input_lens: Vec<u32>,
    output_lens: Vec<u64>,
    ttfts: Vec<f64>,
    itls: Vec<Gaps<'a>>,
    generated_texts: Vec<Cow<'a, str>>,
    errors: Vec<&'a str>,
    #[serde(flatten)]
    cached: Option<CachedTokens>,
}

/// The number and the location of cached tokens per request.
#[derive(Serialize)]
struct CachedTokens {
    cached_tokens: Vec<u32>,
    cached_tokens_details: Vec<Value>,
}

impl CachedTokens {
    fn of(log: &RunLog) -> Self {
        let count = |record: &RequestRecord| record.usage.and_then(|usage| usage.cached_tokens);
        Self {
            cached_tokens: log.measured().map(|record| count(record).unwrap_or_default()).collect(),
            cached_tokens_details: log.measured().map(cache::details).collect(),
        }
    }
}

impl<'a> Details<'a> {
    fn of(report: &Report<'a>, options: SglangOptions) -> Self {
        let scores = report.scores();
        let text = |record: &'a RequestRecord| {
            if record.is_success() { record.joined_text() } else { "".into() }
        };
        let error = |record: &'a RequestRecord| {
            record.outcome.as_ref().map_or_else(|e| &*e.message, |_| "")
        };
        let reads_server = cache::reads_server(&report.log.header().facts);
        let input = |score: &RequestScore<'_>| {
            if reads_server { score.prompt_tokens } else { score.planned.prompt_tokens }
        };
        Self {
            input_lens: scores.iter().map(input).collect(),
            output_lens: scores.iter().map(RequestScore::output_token_count).collect(),
            ttfts: scores.iter().map(|score| score.ttft_s.unwrap_or_default()).collect(),
            itls: scores.iter().map(|score| score.itl_s.clone()).collect(),
            generated_texts: report.log.measured().map(text).collect(),
            errors: report.log.measured().map(error).collect(),
            cached: options.cache_report.then(|| CachedTokens::of(report.log)),
        }
    }
}

#[derive(Default)]
struct Numbers(JsonObject);

impl Numbers {
    fn put(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }
}

fn numbers(report: &Report<'_>, style: SglangStyle) -> Numbers {
    let (log, metrics) = (report.log, report.metrics);
    let mut numbers = Numbers::default();
    echo(&mut numbers, &log.header().facts);
    numbers.put("server_info", log.footer().and_then(|footer| footer.server_info.clone()));
    totals(&mut numbers, metrics);
    for family in Family::ALL {
        self::family(&mut numbers, family, metrics, style);
    }
    peaks(&mut numbers, metrics);
    if style < SglangStyle::V0_5_6 {
        for key in SINCE_0_5_6 {
            numbers.0.shift_remove(key);
        }
    }
    if let Some(goodput) = &metrics.goodput {
        self::goodput(&mut numbers, goodput);
    }
    numbers
}

/// Keys that 0.5.1 does not write.
const SINCE_0_5_6: [&str; 7] = [
    "tag",
    "server_info",
    "total_input_text_tokens",
    "total_input_vision_tokens",
    "total_throughput",
    "max_output_tokens_per_s",
    "max_concurrent_requests",
];

/// Writes the settings of the peer's command line. For a run that was started otherwise they come
/// from the run's facts.
fn echo(numbers: &mut Numbers, facts: &RunFacts) {
    let stand_in = |key: &str| match key {
        "backend" => facts.backend.clone().into(),
        "dataset_name" => facts.dataset.clone().into(),
        "request_rate" => facts.request_rate.into(),
        "max_concurrency" => facts.max_concurrency.into(),
        _ => Value::Null,
    };
    for key in ECHOED {
        let value = facts.echo.get(key).cloned().unwrap_or_else(|| stand_in(key));
        numbers.put(key, value);
    }
}

const ECHOED: [&str; 9] = [
    "tag",
    "backend",
    "dataset_name",
    "request_rate",
    "max_concurrency",
    "sharegpt_output_len",
    "random_input_len",
    "random_output_len",
    "random_range_ratio",
];

fn totals(numbers: &mut Numbers, metrics: &Metrics) {
    let (tokens, rates) = (&metrics.tokens, &metrics.throughput);
    numbers.put("duration", metrics.duration_s);
    numbers.put("completed", metrics.requests.completed);
    numbers.put("total_input_tokens", tokens.input);
    numbers.put("total_input_text_tokens", tokens.input_text);
    numbers.put("total_input_vision_tokens", tokens.input_vision);
    numbers.put("total_output_tokens", tokens.output.unwrap_or_default());
    numbers.put("total_output_tokens_retokenized", tokens.output_retokenized);
    numbers.put("request_throughput", rates.requests_per_s);
    numbers.put("input_throughput", rates.input_tokens_per_s);
    numbers.put("output_throughput", rates.output_tokens_per_s.or(Some(0.0)));
    numbers.put("total_throughput", rates.total_tokens_per_s);
}

fn family(numbers: &mut Numbers, family: Family, metrics: &Metrics, style: SglangStyle) {
    let (name, summary) = (family.key, family.summary(metrics));
    numbers.put(format!("mean_{name}_ms"), summary.mean_ms);
    numbers.put(format!("median_{name}_ms"), summary.median_ms);
    numbers.put(format!("std_{name}_ms"), summary.std_ms);
    for percent in style.result_percentiles(family.latency) {
        numbers.put(format!("p{percent}_{name}_ms"), summary.percentile_ms(*percent));
    }
}

fn peaks(numbers: &mut Numbers, metrics: &Metrics) {
    let fullest_second = metrics.throughput.peak_output_tokens_per_s as f64;
    numbers.put("concurrency", metrics.concurrency.mean);
    numbers.put("accept_length", metrics.accept_length.since_start);
    numbers.put("max_output_tokens_per_s", fullest_second);
    numbers.put("max_concurrent_requests", metrics.concurrency.peak);
}

fn goodput(numbers: &mut Numbers, goodput: &Goodput) {
    let by_slo = |value: fn(&SloResult) -> Value| -> Value {
        goodput.by_slo.iter().map(|result| (result.slo.metric.name(), value(result))).collect()
    };
    numbers.put("goodput_slos_ms", by_slo(|result| result.slo.limit_ms.into()));
    numbers.put("request_goodput", goodput.requests_per_s);
    numbers.put("slo_attainment", goodput.attainment);
    numbers.put("slo_attainment_by_metric", by_slo(|result| result.attainment.into()));
}

pub(super) fn incomplete(metrics: &Metrics) -> Option<&'static str> {
    match metrics.completeness {
        Completeness::Complete => None,
        Completeness::Interrupted => Some("interrupted"),
        Completeness::Killed => Some("killed"),
    }
}
