//! The truth log: what it holds, for whom, and that nothing is sent early.

use std::io::Write;
use std::time::Duration;

use servemark_core::Truth;

use crate::client::{
    Response, call, complete, completion, connect, get, post, request, server, start,
};

#[test]
fn nothing_is_sent_before_it_is_due() {
    let server = start(|spec| {
        spec.ttft = Duration::from_millis(20);
        spec.itl = Duration::from_millis(3);
    });
    complete(&server, 30);
    let row = server.truth().remove(0);
    assert_eq!(row.sent_ns.len(), 30);
    for (piece, sent) in row.sent_ns.iter().enumerate() {
        assert!(*sent >= 20_000_000 + 3_000_000 * piece as u64, "{piece}: {sent}");
    }
}

#[test]
fn a_document_is_sent_when_a_stream_would_end() {
    let server = start(|spec| {
        spec.ttft = Duration::from_millis(10);
        spec.itl = Duration::from_millis(5);
    });
    post(&server, "/v1/completions", r#"{"prompt": "a", "max_tokens": 5}"#);
    let row = server.truth().remove(0);
    assert_eq!(row.sent_ns.len(), 1);
    assert!(row.sent_ns[0] >= 30_000_000);
}

#[test]
fn rows_are_known_by_the_clients_number_else_by_arrival() {
    let server = server(&[]);
    complete(&server, 1);
    let mut socket = connect(&server);
    let headers = "X-Servemark-Request: 41\r\nConnection: close\r\n";
    socket.write_all(&request("POST", "/v1/completions", headers, &completion(2))).unwrap();
    Response::read_all(&mut socket);
    complete(&server, 3);
    let shape = |row: servemark_mock::TruthRow| (row.index, row.sent_ns.len());
    assert_eq!(
        server.take_truth().into_iter().map(shape).collect::<Vec<_>>(),
        [(0, 1), (2, 3), (41, 2)]
    );
    assert!(server.truth().is_empty());
}

#[test]
fn failures_have_a_row_too() {
    let server = server(&["status:500/2", "cut@1/3"]);
    for _ in 0..3 {
        complete(&server, 4);
    }
    let pieces: Vec<_> = server.truth().iter().map(|row| row.sent_ns.len()).collect();
    assert_eq!(pieces, [4, 0, 1]);
}

#[test]
fn other_processes_read_it_as_lines_and_clear_it() {
    let server = server(&[]);
    complete(&server, 2);
    complete(&server, 1);
    let lines = get(&server, "/__truth").body;
    let read: Vec<Truth> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let known: Vec<_> = server.truth().into_iter().map(Truth::from).collect();
    assert_eq!((read.len(), read), (2, known));
    assert_eq!(call(&server, "DELETE", "/__truth", "").status, 200);
    assert_eq!(get(&server, "/__truth").body, "");
}
