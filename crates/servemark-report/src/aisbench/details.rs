//! JSON lines with the details of every request and of every failed request.

use std::fmt;
use std::io;

use serde_json::{Value, json};
use servemark_core::{DeltaKind, JsonObject, RequestRecord};
use servemark_metrics::RequestScore;
use servemark_pyjson::{Text, round, to_writer};

use super::AisbenchPart;
use crate::{Report, ReportFormat};

/// JSON lines, one per request, with its time points in seconds since the start of the run's clock:
/// the send time, then each event of the answer. AISBench stores the times in a separate database.
#[derive(Clone, Debug)]
pub struct AisbenchDetails<'a> {
    part: &'a AisbenchPart,
    inputs: AisbenchInputs<'a>,
}

/// JSON lines, one per failed request, with its input and its error message.
#[derive(Clone, Debug)]
pub struct AisbenchFailed<'a> {
    part: &'a AisbenchPart,
    inputs: AisbenchInputs<'a>,
}

/// Source of the request inputs shown in the details: a function that returns the body that was
/// sent. A run log does not contain bodies.
#[derive(Clone, Copy)]
pub struct AisbenchInputs<'a> {
    body: &'a dyn Fn(&RequestRecord) -> Option<Vec<u8>>,
}

impl<'a> AisbenchInputs<'a> {
    /// A source without bodies: every input is `null`.
    pub const UNKNOWN: AisbenchInputs<'static> = AisbenchInputs { body: &|_| None };

    /// Returns a source that reads the input of a request from the body that `body` returns.
    pub fn in_bodies(body: &'a dyn Fn(&RequestRecord) -> Option<Vec<u8>>) -> Self {
        Self { body }
    }

    /// Returns the messages or the text of a request, if its body is known and contains them.
    fn of(self, record: &RequestRecord) -> Option<Value> {
        let body = (self.body)(record)?;
        let mut body: JsonObject = serde_json::from_slice(&body).ok()?;
        PROMPTS.iter().find_map(|name| body.remove(*name))
    }
}

impl fmt::Debug for AisbenchInputs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AisbenchInputs").finish_non_exhaustive()
    }
}

impl<'a> AisbenchDetails<'a> {
    /// Returns the details of one data set of a run.
    pub fn of(part: &'a AisbenchPart, inputs: AisbenchInputs<'a>) -> Self {
        Self { part, inputs }
    }

    fn request(&self, id: usize, record: &RequestRecord, score: &RequestScore<'_>) -> Value {
        json!({
            "data_abbr": self.part.name,
            "id": id,
            "success": record.is_success(),
            "error_info": error(record),
            "time_points": time_points(score),
            "input_tokens": score.prompt_tokens,
            "output_tokens": score.output_token_count(),
            "extra_perf_data": {},
            "extra_details_data": {},
            "input": self.inputs.of(record),
            "uuid": record.index.to_string(),
            "turn_id": record.turn,
            "prediction": prediction(record),
        })
    }
}

impl<'a> AisbenchFailed<'a> {
    /// Returns the failed requests of one data set of a run.
    pub fn of(part: &'a AisbenchPart, inputs: AisbenchInputs<'a>) -> Self {
        Self { part, inputs }
    }
}

impl ReportFormat for AisbenchDetails<'_> {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let scores = report.scores();
        let mut requests = report.log.measured().zip(scores.iter());
        requests.try_for_each(|(record, score)| match self.part.place(record) {
            Some(id) => line(&self.request(id, record, score), out),
            None => Ok(()),
        })
    }
}

impl ReportFormat for AisbenchFailed<'_> {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let failed = report.log.measured().filter(|record| !record.is_success());
        let mut failed = failed.filter_map(|record| Some((self.part.place(record)?, record)));
        failed.try_for_each(|(id, record)| {
            let entry = json!({
                "data_abbr": self.part.name,
                "id": id,
                "input": self.inputs.of(record),
                "error_info": error(record),
            });
            line(&entry, out)
        })
    }
}

/// Returns the send time and the time of each event in seconds; for an answer without streamed
/// events, the send time and the end time.
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

/// Rounds seconds to nanoseconds, which removes the rounding error of the sum.
fn nanoseconds(seconds: f64) -> f64 {
    round(seconds, 9)
}

fn error(record: &RequestRecord) -> &str {
    record.outcome.as_ref().err().map_or("", |error| &error.message)
}

/// Joins the reasoning, a `</think>` tag and the content of an answer; the tag is left out if
/// either part is empty.
fn prediction(record: &RequestRecord) -> String {
    let (mut thought, mut spoken_text) = (String::new(), String::new());
    for (row, piece) in record.pieces() {
        match row.kind {
            DeltaKind::Reasoning => thought.push_str(piece),
            DeltaKind::Content => spoken_text.push_str(piece),
            _ => {}
        }
    }
    match (thought.is_empty(), spoken_text.is_empty()) {
        (true, _) => spoken_text,
        (false, true) => thought,
        (false, false) => thought + "</think>" + &spoken_text,
    }
}

fn line(entry: &Value, out: &mut dyn io::Write) -> io::Result<()> {
    to_writer(entry, Text::Unicode, &mut *out)?;
    writeln!(out)
}

/// Fields of a request body that hold the prompt, in the order in which they are tried.
const PROMPTS: [&str; 4] = ["messages", "prompt", "inputs", "text_input"];
