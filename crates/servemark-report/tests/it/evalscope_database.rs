//! evalscope's database of requests, read back.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;
use servemark_metrics::{Audit, Metrics};
use servemark_report::{EvalscopeStyle, Report, save_evalscope_database};

use crate::evalscope_golden::Golden;

/// Writes the database of a sweep's first run and opens it.
fn opened(name: &str) -> Connection {
    let golden = Golden::from_name(EvalscopeStyle::Newest, name);
    let log = &golden.logs()[0];
    let metrics = Metrics::score(log, &EvalscopeStyle::Newest.policy());
    let audit = Audit::of(log);
    let report = Report::new(log, &metrics, &audit);
    let body = |record: &servemark_core::RequestRecord| {
        Some(format!("{{\"n\":{}}}", record.index).into_bytes())
    };
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = format!("{}/{name}-{number}.db", env!("CARGO_TARGET_TMPDIR"));
    let _ = std::fs::remove_file(&path);
    save_evalscope_database(&report, &body, Path::new(&path)).unwrap();
    Connection::open(path).unwrap()
}

/// Tests that run concurrently each have a file of their own.
static FILES: AtomicU32 = AtomicU32::new(0);

fn number(database: &Connection, query: &str) -> f64 {
    database.query_row(query, [], |row| row.get(0)).unwrap()
}

fn text(database: &Connection, query: &str) -> String {
    database.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn columns_are_evalscopes_with_their_types_and_ours_behind_them() {
    let database = opened("plain");
    let mut query =
        database.prepare("SELECT name || ' ' || type FROM pragma_table_info('result')").unwrap();
    let columns: Vec<String> =
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let theirs = "request TEXT, start_time REAL, inter_token_latencies TEXT, success INTEGER, \
                  response_messages TEXT, completed_time REAL, latency REAL, first_chunk_latency REAL, \
                  prompt_tokens INTEGER, completion_tokens INTEGER, max_gpu_memory_cost REAL, \
                  time_per_output_token REAL, request_id TEXT, is_stream INTEGER";
    let ours = "error TEXT, start_unix REAL, session INTEGER, turn INTEGER";
    assert_eq!(columns.join(", "), format!("{theirs}, {ours}"));
}

#[test]
fn the_numbers_of_requests_make_those_of_the_run() {
    let database = opened("plain");
    let golden = Golden::from_name(EvalscopeStyle::Newest, "plain");
    let summary = &golden.left.runs[0].files["benchmark_summary.json"];
    let mean = |column: &str| {
        let query = format!("SELECT avg({column}) FROM result WHERE success = 1");
        number(&database, &query)
    };
    let near = |ours: f64, key: &str| {
        let theirs = summary[key].as_f64().unwrap();
        assert!((ours - theirs).abs() < 0.006, "{key}: {ours} is not {theirs}");
    };
    near(mean("latency"), "Avg Latency (s)");
    near(mean("first_chunk_latency") * 1000.0, "Avg TTFT (ms)");
    near(mean("time_per_output_token") * 1000.0, "Avg TPOT (ms)");
    near(mean("prompt_tokens"), "Avg Input Tokens");
    near(mean("completion_tokens"), "Avg Output Tokens");
    near(
        number(&database, "SELECT max(completed_time) - min(start_time) FROM result"),
        "Test Duration (s)",
    );
}

#[test]
fn texts_are_valid_json() {
    let database = opened("plain");
    let pieces = number(
        &database,
        "SELECT CAST(sum(json_array_length(response_messages)) AS REAL) FROM result",
    );
    let gaps = number(
        &database,
        "SELECT CAST(sum(json_array_length(inter_token_latencies)) AS REAL) FROM result",
    );
    assert_eq!((pieces - gaps, pieces > 100.0), (20.0, true));
    let first = "SELECT json_extract(response_messages, '$[0].content') FROM result LIMIT 1";
    assert_eq!(text(&database, first), "x");
    assert_eq!(text(&database, "SELECT request FROM result WHERE session = 3"), "{\"n\": 3}");
}

#[test]
fn a_failure_keeps_its_text_and_its_time_and_has_no_numbers() {
    let database = opened("flaky");
    let failed = "FROM result WHERE success = 0";
    assert_eq!(text(&database, &format!("SELECT error {failed}")), "overloaded");
    let known = format!("SELECT CAST(count(latency) + count(prompt_tokens) AS REAL) {failed}");
    let times = format!("SELECT CAST(count(start_unix) = count(*) AS REAL) {failed}");
    assert_eq!((number(&database, &known), number(&database, &times)), (0.0, 1.0));
    let successes = "SELECT count(error) FROM result WHERE success = 1";
    assert_eq!(text(&database, &format!("SELECT CAST(({successes}) AS TEXT)")), "0");
}
