//! The database of single requests: evalscope's table with typed columns and without Python
//! pickles.

use std::path::Path;

use rusqlite::{Connection, Statement, params};
use serde_json::{Value, json};
use servemark_core::{DeltaKind, DeltaRow, RequestRecord};
use servemark_metrics::{RequestScore, TpotRule};
use servemark_pyjson::{Text, to_string};
use thiserror::Error;

use crate::Report;

/// The database of requests could not be written.
#[derive(Debug, Error)]
#[error("cannot make the database of requests")]
pub struct EvalscopeDatabaseError(#[from] rusqlite::Error);

/// Creates `benchmark_data.db`, which must not exist: a `SQLite` file with the table `result`,
/// which has one row per measured request, ordered by end time. `body` returns the JSON body that
/// was sent, if it is known; the body is stored in the format of Python's `json.dumps`.
///
/// Rows are written one by one, because the bodies of a run may exceed memory.
///
/// The columns are evalscope's, followed by Servemark's: `error`, the send time by the wall clock
/// (`start_unix`), and the position in the run (`session`, `turn`). Times are in seconds since the
/// run's clock started. Values that a failed request lacks are null.
pub fn save_evalscope_database(
    report: &Report<'_>,
    body: &dyn Fn(&RequestRecord) -> Option<Vec<u8>>,
    path: &Path,
) -> Result<(), EvalscopeDatabaseError> {
    let connection = Connection::open(path)?;
    connection.execute_batch(TABLE)?;
    connection.execute_batch("BEGIN")?;
    let scores = report.scores();
    let mut rows: Vec<_> = report.log.measured().zip(scores.iter()).collect();
    rows.sort_by_key(|(record, _)| record.ended);
    let began_unix_s = report.log.header().clock_started_unix_ns as f64 / 1e9;
    let mut insert = connection.prepare(INSERT)?;
    for (record, score) in rows {
        let row = Row { record, score, began_unix_s, tpot: report.metrics.policy.tpot };
        let body = body(record).and_then(|body| in_python(&body));
        row.insert(&mut insert, body.as_deref())?;
    }
    drop(insert);
    Ok(connection.execute_batch("COMMIT")?)
}

/// Returns whether a body asks for a stream. evalscope counts a failed request as streamed by this.
fn asks_for_stream(body: &str) -> bool {
    let body: Option<Value> = serde_json::from_str(body).ok();
    body.is_some_and(|body| body["stream"] == true)
}

/// Formats JSON as Python's `json.dumps(…, ensure_ascii=False)` does.
fn in_python(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    to_string(&value, Text::Unicode).ok()
}

const TABLE: &str = "CREATE TABLE result(
    request TEXT,
    start_time REAL,
    inter_token_latencies TEXT,
    success INTEGER,
    response_messages TEXT,
    completed_time REAL,
    latency REAL,
    first_chunk_latency REAL,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    max_gpu_memory_cost REAL,
    time_per_output_token REAL,
    request_id TEXT,
    is_stream INTEGER,
    error TEXT,
    start_unix REAL,
    session INTEGER,
    turn INTEGER
)";

const INSERT: &str = "INSERT INTO result VALUES \
    (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";

/// A request as a row of the table.
struct Row<'a> {
    record: &'a RequestRecord,
    score: &'a RequestScore<'a>,
    began_unix_s: f64,
    tpot: TpotRule,
}

impl Row<'_> {
    fn insert(&self, into: &mut Statement<'_>, body: Option<&str>) -> rusqlite::Result<usize> {
        let (record, score) = (self.record, self.score);
        let success = record.is_success();
        let of_success = |value: f64| success.then_some(value);
        let tokens = |count: u64| success.then(|| i64::try_from(count).unwrap_or(i64::MAX));
        into.execute(params![
            body,
            score.start_s,
            to_string(&score.itl_s, Text::Unicode).ok(),
            success,
            responses(record),
            record.ended.as_nanos() as f64 / 1e9,
            of_success(score.latency_s),
            score.ttft_s.filter(|_| success),
            tokens(score.prompt_tokens.into()),
            tokens(score.output_token_count()),
            of_success(0.0),
            of_success(score.tpot_s(self.tpot).unwrap_or_default()),
            record.request_id.as_deref(),
            score.streamed && (success || body.is_some_and(asks_for_stream)),
            record.outcome.as_ref().err().map(|error| error.message.as_str()),
            self.began_unix_s + score.start_s,
            i64::try_from(record.index).unwrap_or(i64::MAX),
            record.turn,
        ])
    }
}

/// Returns the answer's pieces as a JSON list; each is an object with the field name of its kind.
fn responses(record: &RequestRecord) -> Option<String> {
    let piece = |(row, text): (DeltaRow, &str)| json!({name(row.kind): text});
    let pieces: Vec<Value> = record.pieces().map(piece).collect();
    to_string(&pieces, Text::Unicode).ok()
}

fn name(kind: DeltaKind) -> &'static str {
    match kind {
        DeltaKind::Reasoning => "reasoning_content",
        DeltaKind::ToolCall => "tool_calls",
        _ => "content",
    }
}
