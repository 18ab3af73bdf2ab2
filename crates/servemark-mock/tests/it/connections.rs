//! Connections that are kept alive, concurrent, read slowly, or closed early.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use servemark_mock::{MockError, MockServer, MockSpec};

use crate::client::{Response, complete, completion, connect, get, request, server, start};

#[test]
fn a_connection_serves_request_after_request() {
    let server = server(&[]);
    let mut socket = connect(&server);
    for tokens in 1..4 {
        socket.write_all(&request("POST", "/v1/completions", "", &completion(tokens))).unwrap();
        assert_eq!(Response::read_one(&mut socket).stream().len(), tokens as usize);
        socket.write_all(&request("GET", "/v1/models", "", "")).unwrap();
        assert_eq!(Response::read_one(&mut socket).json()["object"], "list");
    }
}

#[test]
fn a_connection_is_closed_when_asked() {
    let server = server(&[]);
    let response = get(&server, "/health");
    assert!(response.head.contains("connection: close"));
}

#[test]
fn a_request_may_come_in_pieces_and_ask_to_go_on() {
    let server = server(&[]);
    let mut socket = connect(&server);
    let bytes = request("POST", "/v1/completions", "Expect: 100-continue\r\n", &completion(2));
    let body = bytes.len() - completion(2).len();
    for byte in &bytes[..body] {
        socket.write_all(&[*byte]).unwrap();
    }
    let mut go_on = [0; 25];
    socket.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(&bytes[body..]).unwrap();
    assert_eq!(Response::read_one(&mut socket).stream().len(), 2);
}

#[test]
fn what_is_no_request_is_refused_and_the_connection_closed() {
    let server = server(&[]);
    let mut socket = connect(&server);
    socket.write_all(b"what?\r\n\r\n").unwrap();
    assert_eq!(Response::read_all(&mut socket).status, 400);
}

#[test]
fn a_long_stream_leaves_room_for_others() {
    let server = start(|spec| spec.itl = Duration::from_millis(1));
    let mut long = connect(&server);
    long.write_all(&request("POST", "/v1/completions", "", &completion(1_000_000))).unwrap();
    long.read_exact(&mut [0; 64]).unwrap();
    let (mut one, mut other) = (connect(&server), connect(&server));
    for socket in [&mut one, &mut other] {
        socket.write_all(&request("POST", "/v1/completions", "", &completion(20))).unwrap();
    }
    for socket in [&mut one, &mut other] {
        assert_eq!(Response::read_one(socket).stream().len(), 20);
    }
    assert_eq!(server.truth().len(), 2, "the long one is still under way");
    long.read_exact(&mut [0; 64]).unwrap();
}

#[test]
fn a_slow_reader_loses_nothing_and_delays_no_other_connection() {
    let server = server(&[]);
    let mut slow = connect(&server);
    // Cumulative text makes this tens of megabytes, more than any socket buffers.
    let body = r#"{"text": "a", "sampling_params": {"max_new_tokens": 4000}, "stream": true}"#;
    slow.write_all(&request("POST", "/generate", "Connection: close\r\n", body)).unwrap();
    assert_eq!(complete(&server, 5).stream().len(), 5);
    assert_eq!(server.truth().len(), 1, "what no socket takes is not sent");
    let events = Response::read_all(&mut slow).stream();
    assert_eq!(events.len(), 4000);
    assert_eq!(events[3999]["meta_info"]["completion_tokens"], 4000);
    assert_eq!(events[3999]["text"].as_str().unwrap().len(), 20_000);
    assert_eq!(server.truth()[0].sent_ns.len(), 4000);
}

#[test]
fn a_client_that_leaves_ends_its_own_answer_only() {
    let server = start(|spec| spec.itl = Duration::from_millis(1));
    let mut leaver = connect(&server);
    leaver.write_all(&request("POST", "/v1/completions", "", &completion(1_000_000))).unwrap();
    leaver.read_exact(&mut [0; 64]).unwrap();
    leaver.shutdown(Shutdown::Both).unwrap();
    drop(leaver);
    // The row appears once the server has noticed the end of the connection.
    while server.truth().is_empty() {
        assert_eq!(get(&server, "/health").status, 200);
    }
    assert!(server.truth()[0].sent_ns.len() < 1_000_000);
}

#[test]
fn a_taken_port_is_an_error_that_says_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let spec = MockSpec { listen: taken.local_addr().unwrap(), ..MockSpec::default() };
    let error = MockServer::start(spec).unwrap_err();
    assert!(matches!(error, MockError::Listen { .. }));
    assert!(error.to_string().starts_with("cannot listen on 127.0.0.1:"), "{error}");
}

#[test]
fn a_stopped_server_is_gone() {
    let server = server(&[]);
    let mut held = connect(&server);
    held.write_all(&request("GET", "/health", "", "")).unwrap();
    assert_eq!(Response::read_one(&mut held).status, 200);
    let addr = server.addr();
    server.stop();
    assert_eq!(held.read(&mut [0; 1]).unwrap(), 0);
    assert!(TcpListener::bind(addr).is_ok());
}

#[test]
fn several_threads_share_the_work_and_the_logs() {
    let server = start(|spec| spec.threads = 3.try_into().unwrap());
    let mut sockets: Vec<_> = (0..7).map(|_| connect(&server)).collect();
    for socket in &mut sockets {
        socket.write_all(&request("POST", "/v1/completions", "", &completion(4))).unwrap();
    }
    for socket in &mut sockets {
        assert_eq!(Response::read_one(socket).stream().len(), 4);
    }
    let rows = server.truth().into_iter().map(|row| (row.index, row.sent_ns.len()));
    assert!(rows.eq((0..7).map(|index| (index, 4))));
    assert!(server.cpu_time().is_some());
    server.stop();
    for socket in &mut sockets {
        assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0);
    }
}

#[test]
fn a_server_that_never_sleeps_answers_and_stops() {
    let server = start(|spec| {
        spec.spin = true;
        spec.itl = Duration::from_millis(1);
    });
    assert_eq!(complete(&server, 5).stream().len(), 5);
    server.stop();
}

#[test]
fn the_thread_tells_its_cpu_time() {
    let server = server(&[]);
    let before = server.cpu_time().unwrap();
    complete(&server, 1000);
    assert!(server.cpu_time().unwrap() > before);
}
