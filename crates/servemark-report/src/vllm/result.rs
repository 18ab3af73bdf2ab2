//! The result: one JSON object per run, with all keys in the peer's order.

use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use servemark_core::{JsonObject, RunFacts};
use servemark_metrics::{Diffusion, Gaps, Metrics, Probes, RequestScore, Speculation};
use servemark_pyjson::{Infinity, Text, to_writer};

use super::entries::Entries;
use super::families::{Family, families};
use super::lists::{GAPS, Lists, ResultDetails};
use super::local_time::{WallClock, end_of};
use super::{VllmOptions, own, ramp};
use crate::{Report, ReportFormat};

/// vLLM's result without a final newline. It has none if it is the only object in its file; when
/// appended, a newline is written first.
#[derive(Clone, Debug, Default)]
pub struct VllmResult {
    options: VllmOptions,
    details: ResultDetails,
    utc_offset_s: i32,
}

impl VllmResult {
    /// Returns a result with the given options and details; local time is `utc_offset_s` seconds
    /// ahead of UTC.
    pub fn new(options: VllmOptions, details: ResultDetails, utc_offset_s: i32) -> Self {
        Self { options, details, utc_offset_s }
    }

    /// Returns the object, with null in place of the inter-token latencies.
    pub fn object(&self, report: &Report<'_>) -> JsonObject {
        let clock = WallClock::of(report.log, self.utc_offset_s);
        let date = clock.compact(end_of(report.log));
        let mut result = header(&report.log.header().facts, date);
        self.body(&mut result, report);
        if let Some(probes) = &report.metrics.probes {
            self::probes(&mut result, probes);
        }
        if let Some(changes) = ramp::changes(report.log, &clock) {
            result.put("rps_change_events", changes);
        }
        server_work(&mut result, report.metrics);
        for family in families(report, &self.options) {
            self::family(&mut result, &family);
        }
        result.0.retain(|key, _| self.options.style.has_key(key));
        own::numbers(&mut result, report);
        result.0
    }

    fn body(&self, result: &mut Entries, report: &Report<'_>) {
        let scores = report.scores();
        let lists = Lists::of(report, &scores, self.details);
        if report.log.header().facts.generates() {
            totals(result, report.metrics);
            lists.of_tokens(result);
            peaks(result, report);
        } else {
            item_totals(result, report);
            lists.of_items(result);
        }
        lists.of_server(result);
    }
}

impl ReportFormat for VllmResult {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let (object, scores) = (self.object(report), report.scores());
        Ok(to_writer(&Document { object: &object, scores: &scores }, Text::Ascii, out)?)
    }
}

/// A result whose inter-token latencies are serialized from the scores, because there are too many
/// to copy.
struct Document<'r, 'a> {
    object: &'r JsonObject,
    scores: &'r [RequestScore<'a>],
}

impl Serialize for Document<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.object.len()))?;
        for (key, value) in self.object {
            if key == GAPS && value.is_null() {
                let gaps: Vec<&Gaps<'_>> = self.scores.iter().map(|score| &score.itl_s).collect();
                map.serialize_entry(key, &gaps)?;
            } else if key == "burstiness" && value == "inf" {
                map.serialize_entry(key, &Infinity)?;
            } else {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

/// Returns the model's own name, which may differ from the name in requests.
pub(super) fn model_id(facts: &RunFacts) -> &str {
    facts.model_id.as_deref().unwrap_or(&facts.model)
}

/// Returns the settings of vLLM's command line, completed by the values that only the run knows.
fn header(facts: &RunFacts, date: String) -> Entries {
    let mut result = match &facts.echo {
        echo if echo.contains_key("endpoint_type") => Entries(echo.clone()),
        _ => of_another(facts),
    };
    result.fill("date", date);
    result.fill("model_id", model_id(facts));
    if !facts.tokenizer.is_empty() {
        result.fill("tokenizer_id", facts.tokenizer.as_str());
    }
    result
}

/// Returns the settings for a run that was not started by vLLM's command line.
fn of_another(facts: &RunFacts) -> Entries {
    let mut result = Entries::default();
    result.put("date", Value::Null);
    result.put("endpoint_type", facts.backend.as_str());
    result.put("backend", facts.backend.as_str());
    result.put("label", Value::Null);
    result.put("model_id", Value::Null);
    result.put("tokenizer_id", Value::Null);
    result.put("num_prompts", facts.requests);
    result.put("request_rate", facts.request_rate.map_or_else(|| json!("inf"), Value::from));
    result.put("burstiness", 1.0);
    result.put("max_concurrency", facts.max_concurrency);
    result
}

fn totals(result: &mut Entries, metrics: &Metrics) {
    let (tokens, rates) = (&metrics.tokens, &metrics.throughput);
    result.put("duration", metrics.duration_s);
    result.put("completed", metrics.requests.completed);
    result.put("failed", metrics.requests.failed);
    result.put("total_input_tokens", tokens.input);
    result.put("total_output_tokens", tokens.output.unwrap_or_default());
    result.put("request_throughput", rates.requests_per_s);
    let goodput = metrics.goodput.as_ref().and_then(|goodput| goodput.requests_per_s);
    result.put("request_goodput", goodput);
    result.put("output_throughput", rates.output_tokens_per_s.or(Some(0.0)));
    result.put("total_token_throughput", rates.total_tokens_per_s);
}

fn peaks(result: &mut Entries, report: &Report<'_>) {
    let metrics = report.metrics;
    let fullest_second = metrics.throughput.peak_output_tokens_per_s as f64;
    result.put("max_output_tokens_per_s", fullest_second);
    result.put("max_concurrent_requests", metrics.concurrency.peak);
    result.put("rtfx", super::speed_of_speech(report).unwrap_or_default());
}

/// Writes the totals of embeddings or rankings. Like vLLM, it leaves out the number of failed
/// requests, which the table shows.
fn item_totals(result: &mut Entries, report: &Report<'_>) {
    let metrics = report.metrics;
    // Several texts in one message are one input.
    let is_of_messages = report.log.header().facts.backend.starts_with("openai-embeddings-");
    let items =
        if is_of_messages { metrics.requests.completed as u64 } else { metrics.items.items };
    result.put("duration", metrics.duration_s);
    result.put("completed", metrics.requests.completed);
    result.put("total_input_tokens", metrics.tokens.input);
    result.put("total_input_sequences", items);
    result.put("request_throughput", metrics.throughput.requests_per_s);
    result.put("input_sequence_throughput", metrics.items.items_per_s);
    result.put("total_token_throughput", metrics.throughput.total_tokens_per_s);
}

fn probes(result: &mut Entries, probes: &Probes) {
    let e2el = &probes.e2el;
    result.put("probe_completed", probes.completed);
    result.put("probe_failed", probes.failed);
    result.put("probe_median_e2el_ms", e2el.median_ms);
    result.put("probe_p99_e2el_ms", e2el.percentile_ms(99.0));
    result.put("probe_max_e2el_ms", e2el.max_ms);
}

fn server_work(result: &mut Entries, metrics: &Metrics) {
    if let Some(speculation) = &metrics.server_work.speculation {
        guessed(result, speculation);
    }
    if let Some(diffusion) = &metrics.server_work.diffusion {
        denoised(result, diffusion);
    }
}

fn guessed(result: &mut Entries, work: &Speculation) {
    result.put("spec_decode_acceptance_rate", work.acceptance_rate_percent);
    result.put("spec_decode_acceptance_length", work.acceptance_length);
    result.put("spec_decode_num_drafts", work.drafts);
    result.put("spec_decode_draft_tokens", work.draft_tokens);
    result.put("spec_decode_accepted_tokens", work.accepted_tokens);
    let by_position = work.acceptance_by_position.clone();
    result.put("spec_decode_per_position_acceptance_rates", by_position);
}

fn denoised(result: &mut Entries, work: &Diffusion) {
    result.put("diffusion_committed_throughput", work.committed_tokens_per_s);
    result.put("diffusion_steps_per_canvas", work.steps_per_canvas);
    result.put("diffusion_committed_per_step", work.committed_per_step);
    result.put("diffusion_committed_tokens", work.committed_tokens);
    result.put("diffusion_denoising_steps", work.denoising_steps as i64);
    result.put("diffusion_canvas_positions", work.canvas_positions);
}

fn family(result: &mut Entries, family: &Family<'_>) {
    let (name, summary) = (family.metric.name(), &family.summary);
    result.put(format!("mean_{name}_ms"), summary.mean_ms);
    result.put(format!("median_{name}_ms"), summary.median_ms);
    result.put(format!("std_{name}_ms"), summary.std_ms);
    for (percent, value) in family.percentiles() {
        result.put(format!("p{percent}_{name}_ms"), value);
    }
}
