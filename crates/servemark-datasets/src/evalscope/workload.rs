//! Recorded requests, sent at their recorded times.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{DatasetError, JsonObject, Prompt};

use super::texts::file;
use super::{Conversation, RequestDraft};
use crate::{instant, python_json, text_file};

/// Recorded requests, one JSON object per line, sent at their recorded times.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeWorkloadSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Factor by which requests are sent faster than recorded (`speed`).
    pub speed: f64,
    /// Model requested instead of the recorded ones (`model_override`).
    pub model: Option<String>,
    /// Replacements for recorded model names, which take precedence over `model` (`model_mapping`).
    pub models: BTreeMap<String, String>,
    /// Whether output lengths are forced to the recorded ones (`match_output_length`).
    pub matches_outputs: bool,
    /// Names of headers that the run sends itself; recorded headers do not replace them.
    pub own_headers: Vec<String>,
    /// Number of first requests whose bodies are marked as warm-up, if all bodies carry evalscope's
    /// own keys `__evalscope_…`, as with APIs that do not send bodies unchanged; `None` if bodies
    /// have no such keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked_warm_ups: Option<usize>,
}

impl Default for EvalscopeWorkloadSpec {
    fn default() -> Self {
        Self {
            path: None,
            speed: 1.0,
            model: None,
            models: BTreeMap::new(),
            matches_outputs: false,
            own_headers: Vec::new(),
            marked_warm_ups: None,
        }
    }
}

impl EvalscopeWorkloadSpec {
    /// Returns the first `count` requests in order of time, or all if `count` is 0.
    pub(super) fn converse(&self, count: usize) -> Result<Vec<Conversation>, DatasetError> {
        let path = file("workload_trace", self.path.as_deref(), None)?;
        if self.speed <= 0.0 || !self.speed.is_finite() {
            return Err(DatasetError::Settings(format!(
                "speed must be above 0, not {}",
                self.speed
            )));
        }
        let mut records = read(&path)?;
        records.sort_by(|one, other| one.at.total_cmp(&other.at));
        let start = records.first().map_or(0.0, |record| record.at);
        let count = if count == 0 { records.len() } else { count };
        let session = |(index, record): (usize, Record)| {
            let offset_s = (record.at - start) / self.speed;
            let begins = Duration::try_from_secs_f64(offset_s);
            let asked = match self.marked_warm_ups {
                Some(warm_ups) => self.marked(record, offset_s, index < warm_ups),
                None => self.request_draft(record),
            };
            Conversation { begins: begins.ok(), ..asked.into() }
        };
        Ok(records.into_iter().take(count).enumerate().map(session).collect())
    }

    /// Returns a request whose body contains the keys `__evalscope_…` in which evalscope stores the
    /// arrival time, the headers and the id, and whether it is a warm-up.
    fn marked(&self, record: Record, offset_s: f64, is_warm_up: bool) -> RequestDraft {
        let (headers, request_id) = (record.headers.clone(), record.request_id.clone());
        let mut asked = self.request_draft(record);
        (asked.headers, asked.request_id) = (Vec::new(), None);
        if let Prompt::Body(body) = &mut asked.prompt {
            body.insert("__evalscope_arrival_offset".to_owned(), offset_s.into());
            if is_warm_up {
                body.insert("__evalscope_is_warmup".to_owned(), true.into());
            }
            if !headers.is_empty() {
                let headers = headers.into_iter().map(|(name, value)| (name, value.into()));
                let headers: JsonObject = headers.collect();
                body.insert("__evalscope_headers".to_owned(), headers.into());
            }
            if let Some(id) = request_id.filter(|id| !id.is_empty()) {
                body.insert("__evalscope_request_id".to_owned(), json!(id));
            }
        }
        asked
    }

    fn request_draft(&self, record: Record) -> RequestDraft {
        let Record { mut body, headers, request_id, output, .. } = record;
        if let Some(model) = self.model_for(&body) {
            body.insert("model".to_owned(), model.into());
        }
        if let Some(tokens) = output.filter(|_| self.matches_outputs) {
            body.insert("max_tokens".to_owned(), tokens.into());
            if !is_constrained(&body) {
                body.insert("ignore_eos".to_owned(), true.into());
            }
        }
        let mut drafts = RequestDraft::new(Prompt::Body(body), 0);
        drafts.request_id = request_id;
        drafts.headers = headers.into_iter().filter(|(name, _)| self.repeats(name)).collect();
        drafts
    }

    fn model_for(&self, body: &JsonObject) -> Option<&str> {
        let mapped =
            body.get("model").and_then(Value::as_str).and_then(|name| self.models.get(name));
        mapped.or(self.model.as_ref()).map(String::as_str)
    }

    /// Returns whether a recorded header is sent. Connection headers and headers that the run sends
    /// itself are not.
    fn repeats(&self, name: &str) -> bool {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        !OF_A_CONNECTION.into_iter().any(is) && !self.own_headers.iter().any(|own| is(own))
    }
}

/// Returns whether the output format is constrained, so that the answer cannot be extended beyond
/// its end.
fn is_constrained(body: &JsonObject) -> bool {
    let format = body.get("response_format").and_then(|format| format.get("type"));
    let has_format = format.is_some_and(|kind| kind == "json_object" || kind == "json_schema");
    let has_tools = body.get("tools").is_some_and(|tools| *tools != json!([]) && !tools.is_null());
    let choice = body.get("tool_choice").filter(|choice| !choice.is_null());
    let must_call = choice.is_some_and(|choice| choice != "none" && choice != "auto");
    has_format || (has_tools && must_call)
}

const OF_A_CONNECTION: [&str; 10] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailers",
    "upgrade",
];

/// A recorded request.
struct Record {
    body: JsonObject,
    /// Time in seconds since an arbitrary origin.
    at: f64,
    headers: Vec<(String, String)>,
    request_id: Option<Box<str>>,
    output: Option<u32>,
}

/// Reads all records of a file. The error lists every invalid line.
fn read(path: &Path) -> Result<Vec<Record>, DatasetError> {
    let text = text_file::read(path)?;
    let (mut records, mut faults) = (Vec::new(), Vec::new());
    for (line, text) in text_file::lines(&text) {
        match record(text) {
            Ok(record) => records.push(record),
            Err(reason) => faults.push((line, reason)),
        }
    }
    match faults.as_slice() {
        [] => Ok(records),
        [(line, reason), others @ ..] => {
            let others = others.iter().map(|(line, reason)| format!("; line {line}: {reason}"));
            Err(text_file::malformed(path, *line, reason.clone() + &others.collect::<String>()))
        }
    }
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    body: Value,
    timestamp: Value,
    headers: Option<JsonObject>,
    request_id: Option<Box<str>>,
    completion_tokens: Option<u32>,
}

fn record(text: &str) -> Result<Record, String> {
    let value = python_json::parse(text).map_err(|error| python_json::without_line(&error))?;
    let line: Line = serde_json::from_value(value).map_err(|error| error.to_string())?;
    if line.completion_tokens == Some(0) {
        return Err("completion_tokens must be above 0".to_owned());
    }
    Ok(Record {
        body: body(line.body)?,
        at: moment(&line.timestamp)?,
        headers: headers(line.headers.unwrap_or_default())?,
        request_id: line.request_id.filter(|id| !id.is_empty()),
        output: line.completion_tokens,
    })
}

/// Returns the headers in the order of the file.
fn headers(object: JsonObject) -> Result<Vec<(String, String)>, String> {
    let header = |(name, value)| match value {
        Value::String(value) => Ok((name, value)),
        value => Err(format!("the header {name:?} is not a string, but {value}")),
    };
    object.into_iter().map(header).collect()
}

/// Parses the request body, an object or a JSON text of one.
fn body(value: Value) -> Result<JsonObject, String> {
    let value = match value {
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|error| format!("its body is a string that is not JSON: {error}"))?,
        value => value,
    };
    match value {
        Value::Object(body) => Ok(body),
        _ => Err("its body is not a JSON object".to_owned()),
    }
}

/// Parses a time, given in seconds or as date and time.
fn moment(value: &Value) -> Result<f64, String> {
    let seconds = match value {
        Value::Number(seconds) => seconds.as_f64(),
        Value::String(text) => match text.trim().parse() {
            Ok(seconds) => Some(seconds),
            Err(_) => Some(instant::parse(text.trim())?.as_nanosecond() as f64 / 1e9),
        },
        _ => None,
    };
    let is_moment = |seconds: &f64| seconds.is_finite();
    seconds
        .filter(is_moment)
        .ok_or_else(|| "its timestamp is not a number of seconds or a date and time".to_owned())
}
