//! The truth log: its contents, the indices of its rows, and that nothing is sent early.

use std::io::{Read, Write};
use std::time::Duration;

use servemark_core::{ArrivalClock, SimulatedTimes};
use servemark_mock::{MockServer, TruthRow};

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

/// The second request of a connection stays in the socket's buffer until the first is answered.
#[test]
fn a_request_counts_from_its_arrival_however_late_it_is_read() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let server = start(|spec| {
        spec.ttft = Duration::from_millis(30);
        spec.itl = Duration::from_millis(1);
    });
    // The kernel enables receive stamps for the first socket that asks for them, with a short
    // delay.
    let rows = loop {
        let rows = two_at_once(&server);
        if rows.iter().all(|row| row.clock == ArrivalClock::Kernel) {
            break rows;
        }
    };
    let answered = rows[0].received + Duration::from_nanos(rows[0].sent_ns[2]);
    assert!(rows[1].received < answered, "{rows:?}");
    assert!(rows[1].sent_ns[0] >= 30_000_000, "{rows:?}");
}

/// Returns the truth of two requests on one connection; the second is sent once the answer to the
/// first has begun.
fn two_at_once(server: &MockServer) -> Vec<TruthRow> {
    let mut socket = connect(server);
    let completion = completion(3);
    socket.write_all(&request("POST", "/v1/completions", "", &completion)).unwrap();
    socket.read_exact(&mut [0; 64]).unwrap();
    let last = request("POST", "/v1/completions", "Connection: close\r\n", &completion);
    socket.write_all(&last).unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
    server.take_truth()
}

#[test]
fn pieces_of_one_write_share_its_stamp() {
    let stamps = |most: u32| {
        let server = start(|spec| spec.pieces_per_write = most.try_into().unwrap());
        assert_eq!(complete(&server, 5).stream().len(), 5);
        server.truth().remove(0).sent_ns
    };
    let (alone, pairs, all) = (stamps(1), stamps(2), stamps(64));
    assert!(alone.windows(2).all(|two| two[0] < two[1]), "{alone:?}");
    assert!(pairs[0] == pairs[1] && pairs[1] < pairs[2] && pairs[2] == pairs[3], "{pairs:?}");
    assert!(all.iter().all(|stamp| *stamp == all[0]), "{all:?}");
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
    let shape = |row: TruthRow| (row.index, row.sent_ns.len());
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
    let read: Vec<SimulatedTimes> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let known: Vec<_> = server.truth().into_iter().map(SimulatedTimes::from).collect();
    assert_eq!((read.len(), read), (2, known));
    assert_eq!(call(&server, "DELETE", "/__truth", "").status, 200);
    assert_eq!(get(&server, "/__truth").body, "");
}
