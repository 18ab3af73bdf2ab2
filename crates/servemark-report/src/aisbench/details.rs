//! Every request, a line each.

use std::io;

use serde_json::{Value, json};
use servemark_core::{DeltaKind, RequestRecord};
use servemark_metrics::RequestScore;
use servemark_pyjson::{Text, round, to_writer};

use super::AisbenchPart;
use crate::{Report, ReportFormat};

/// Every request with its times, in seconds since the run's clock started: when it was sent, then
/// every event of its answer. AISBench keeps the times in a database beside it.
#[derive(Clone, Debug)]
pub struct AisbenchDetails {
    part: AisbenchPart,
}

/// The requests that failed, and why.
#[derive(Clone, Debug)]
pub struct AisbenchFailed {
    part: AisbenchPart,
}

impl AisbenchDetails {
    /// The details of a part of a run.
    pub fn of(part: &AisbenchPart) -> Self {
        Self { part: part.clone() }
    }
}

impl AisbenchFailed {
    /// The failures of a part of a run.
    pub fn of(part: &AisbenchPart) -> Self {
        Self { part: part.clone() }
    }
}

impl ReportFormat for AisbenchDetails {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let scores = report.scores();
        let mut requests = report.log.measured().zip(scores.iter());
        requests.try_for_each(|(record, score)| match self.part.place(record) {
            Some(id) => line(&request(&self.part.name, id, record, score), out),
            None => Ok(()),
        })
    }
}

impl ReportFormat for AisbenchFailed {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let failed = report.log.measured().filter(|record| !record.is_success());
        let mut failed = failed.filter_map(|record| Some((self.part.place(record)?, record)));
        failed.try_for_each(|(id, record)| {
            let entry = json!({
                "data_abbr": self.part.name,
                "id": id,
                "input": null,
                "error_info": error(record),
            });
            line(&entry, out)
        })
    }
}

/// A prompt is in no run log, and so in no line.
fn request(dataset: &str, id: usize, record: &RequestRecord, score: &RequestScore<'_>) -> Value {
    json!({
        "data_abbr": dataset,
        "id": id,
        "success": record.is_success(),
        "error_info": error(record),
        "time_points": time_points(score),
        "input_tokens": score.prompt_tokens,
        "output_tokens": score.output_token_count(),
        "extra_perf_data": {},
        "extra_details_data": {},
        "input": null,
        "uuid": record.index.to_string(),
        "turn_id": record.turn,
        "prediction": prediction(record),
    })
}

/// When it was sent and when each event came; of an answer that came whole, when it ended.
fn time_points(score: &RequestScore<'_>) -> Vec<f64> {
    let Some(ttft) = score.ttft_s else {
        let end = score.start_s + score.latency_s;
        return vec![score.start_s, end].into_iter().map(nanoseconds).collect();
    };
    let mut now = score.start_s;
    let gaps = std::iter::once(ttft).chain(&score.itl_s);
    let events = gaps.map(|gap| {
        now += gap;
        now
    });
    std::iter::once(score.start_s).chain(events).map(nanoseconds).collect()
}

/// Seconds without what adding up has left beyond the nanosecond.
fn nanoseconds(seconds: f64) -> f64 {
    round(seconds, 9)
}

fn error(record: &RequestRecord) -> &str {
    record.outcome.as_ref().err().map_or("", |error| &error.message)
}

/// What the model thought, the end of that, and what it said.
fn prediction(record: &RequestRecord) -> String {
    let (mut thought, mut said) = (String::new(), String::new());
    for (row, piece) in record.pieces() {
        match row.kind {
            DeltaKind::Reasoning => thought.push_str(piece),
            DeltaKind::Content => said.push_str(piece),
            _ => {}
        }
    }
    match (thought.is_empty(), said.is_empty()) {
        (true, _) => said,
        (false, true) => thought,
        (false, false) => thought + "</think>" + &said,
    }
}

fn line(entry: &Value, out: &mut dyn io::Write) -> io::Result<()> {
    to_writer(entry, Text::Unicode, &mut *out)?;
    writeln!(out)
}
