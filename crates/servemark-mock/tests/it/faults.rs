//! The effect of every fault on the bytes that a client receives.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::client::{Response, complete, completion, connect, get, post, request, server};

#[test]
fn a_status_hits_every_nth_request() {
    let server = server(&["status:503/3"]);
    let statuses: Vec<_> = (0..6).map(|_| complete(&server, 1).status).collect();
    assert_eq!(statuses, [200, 200, 503, 200, 200, 503]);
    assert_eq!(get(&server, "/health").status, 200);
}

#[test]
fn a_status_has_the_body_it_is_given() {
    let response = complete(&server(&["status:429:slow down"]), 1);
    assert_eq!((response.status, response.body.as_str()), (429, "slow down"));
    let usual = complete(&server(&["status:500"]), 1).json();
    assert_eq!(usual["error"]["code"], 500);
}

#[test]
fn a_cut_leaves_the_body_unfinished() {
    let response = complete(&server(&["cut@2"]), 5);
    assert_eq!((response.events().len(), response.is_whole), (2, false));
}

#[test]
fn a_cut_document_is_half_of_one() {
    let body = r#"{"prompt": "a", "max_tokens": 8}"#;
    let whole = post(&server(&[]), "/v1/completions", body);
    let half = post(&server(&["cut@0"]), "/v1/completions", body);
    assert!(!half.is_whole && whole.body.starts_with(&half.body[..20]));
    assert_eq!(half.body.len(), whole.body.len() / 2);
}

/// Reads until nothing has arrived for 300 ms.
fn read_until_silent(socket: &mut TcpStream) -> String {
    let mut text = String::new();
    socket.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    let error = loop {
        let mut buffer = [0; 4096];
        match socket.read(&mut buffer) {
            Ok(count) => {
                assert!(count > 0, "closed after {text}");
                text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock), "{error}");
    text
}

#[test]
fn a_stall_for_ever_leaves_the_connection_silent() {
    let server = server(&["stall@1"]);
    let mut socket = connect(&server);
    socket.write_all(&request("POST", "/v1/completions", "", &completion(3))).unwrap();
    // The wait for the first piece has no short time-out, as a machine may be slow; only then is
    // silence measured.
    let mut text = String::new();
    while !text.contains("\n\n") {
        let mut buffer = [0; 4096];
        let count = socket.read(&mut buffer).unwrap();
        assert!(count > 0);
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    let rest = read_until_silent(&mut socket);
    assert!(rest.trim().is_empty() && !text.contains("[DONE]"), "{text}{rest}");
    assert_eq!(server.truth()[0].sent_ns.len(), 1);
}

#[test]
fn a_stall_delays_what_follows() {
    let server = server(&["stall@1:40ms"]);
    assert_eq!(complete(&server, 3).stream().len(), 3);
    let sent = server.truth().remove(0).sent_ns;
    assert!(sent[1] >= 40_000_000 && sent[2] >= 40_000_000, "{sent:?}");
}

#[test]
fn a_bad_frame_is_no_json() {
    let response = complete(&server(&["bad-frame@1"]), 3);
    let events = response.events();
    assert_eq!(events.len(), 4);
    let is_json = |event: &&str| serde_json::from_str::<Value>(event).is_ok();
    assert_eq!(events.iter().map(is_json).collect::<Vec<_>>(), [true, false, true, false]);
}

#[test]
fn an_error_comes_in_three_shapes() {
    let error = |shape: &str| {
        let events = complete(&server(&[&format!("error@1:{shape}")]), 3).stream();
        assert_eq!(events.len(), 2);
        events[1].clone()
    };
    assert_eq!(error("object")["error"]["message"], "an injected error");
    assert_eq!(error("string")["error"], "an injected error");
    assert_eq!((&error("flat")["object"], &error("flat")["code"]), (&"error".into(), &500.into()));
}

#[test]
fn bodies_may_lack_what_matters() {
    let empty = complete(&server(&["empty"]), 3);
    assert_eq!((empty.status, empty.body.as_str(), empty.is_whole), (200, "", true));
    let document = post(&server(&["empty"]), "/v1/embeddings", r#"{"input": "a"}"#);
    assert_eq!((document.status, document.body.as_str()), (200, ""));
    assert_eq!(complete(&server(&["only-done"]), 3).events(), ["[DONE]"]);
    let unmarked = complete(&server(&["no-done"]), 3);
    assert_eq!((unmarked.events().len(), unmarked.is_whole), (3, true));
}

#[test]
fn split_bytes_join_to_the_same_answer() {
    let (split, whole) = (complete(&server(&["split:3"]), 3), complete(&server(&[]), 3));
    assert_eq!((split.stream().len(), split.head), (whole.stream().len(), whole.head));
}

#[test]
fn split_bytes_come_in_many_reads() {
    let server = server(&["split:1", "stall@0:200ms"]);
    let mut socket = connect(&server);
    socket.write_all(&request("POST", "/v1/completions", "", &completion(1))).unwrap();
    let mut first = [0; 1];
    socket.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"H");
    assert_eq!(Response::parse(&[&first[..], &rest_of(&mut socket)].concat()).stream().len(), 1);
}

/// Reads until the last chunk of a chunked body.
fn rest_of(socket: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n0\r\n\r\n") {
        let mut byte = [0; 1];
        socket.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    bytes
}

#[test]
fn lines_may_end_with_cr_lf() {
    let response = complete(&server(&["crlf"]), 3);
    assert_eq!(response.body.matches("\r\n\r\n").count(), 4);
    assert_eq!((response.body.matches('\n').count(), response.stream().len()), (8, 3));
}

#[test]
fn comments_may_precede_events() {
    let response = complete(&server(&["comments"]), 3);
    assert_eq!(
        (response.body.matches(": keep-alive\n\ndata").count(), response.stream().len()),
        (4, 3)
    );
}

#[test]
fn several_events_may_share_a_chunk_and_a_stamp() {
    let server = server(&["merge:2"]);
    assert_eq!(complete(&server, 5).stream().len(), 5);
    let sent = server.truth().remove(0).sent_ns;
    assert_eq!((sent.len(), sent[0], sent[2]), (5, sent[1], sent[3]));
}

#[test]
fn a_body_may_end_with_its_connection() {
    let server = server(&["close-delimited"]);
    let mut socket = connect(&server);
    socket.write_all(&request("POST", "/v1/completions", "", &completion(3))).unwrap();
    let response = Response::read_all(&mut socket);
    assert!(response.head.starts_with("HTTP/1.0 200"));
    assert!(!response.head.contains("chunked") && !response.head.contains("content-length"));
    assert_eq!(response.stream().len(), 3);
}

#[test]
fn a_reset_hits_every_nth_connection() {
    let server = server(&["reset/2"]);
    assert_eq!(get(&server, "/health").status, 200);
    // The reset may arrive before `connect` returns.
    let read = TcpStream::connect(server.addr()).and_then(|mut socket| socket.read(&mut [0; 64]));
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(get(&server, "/health").status, 200);
}

#[test]
fn slow_headers_hold_everything_back() {
    let server = server(&["slow-headers:40ms"]);
    assert_eq!(complete(&server, 1).stream().len(), 1);
    assert!(server.truth()[0].sent_ns[0] >= 40_000_000);
}

#[test]
fn a_server_that_is_not_ready_says_so() {
    let server = server(&["not-ready:3600s"]);
    for response in [get(&server, "/health"), get(&server, "/v1/models"), complete(&server, 1)] {
        assert_eq!(response.status, 503);
    }
}

#[test]
fn a_server_becomes_ready() {
    let server = server(&["not-ready:50ms"]);
    while get(&server, "/health").status == 503 {}
    assert_eq!(complete(&server, 1).status, 200);
}

/// Returns an answer on a keep-alive connection, and all bytes that follow it until the server ends
/// the connection.
fn after_an_answer(fault: &str) -> (Response, Vec<u8>) {
    let server = server(&[fault]);
    let mut socket = connect(&server);
    socket.write_all(&request("POST", "/v1/completions", "", &completion(2))).unwrap();
    let response = Response::read_one(&mut socket);
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).unwrap();
    (response, rest)
}

#[test]
fn a_connection_that_said_it_stays_ends_after_its_answer() {
    for fault in ["close-after:0.05ms", "close-idle:1ms"] {
        let (response, rest) = after_an_answer(fault);
        assert!(
            response.is_whole && !response.head.to_lowercase().contains("close"),
            "{response:?}"
        );
        assert!(rest.is_empty(), "{fault}: {rest:?}");
    }
}

#[test]
fn an_idle_connection_gets_an_unrequested_408() {
    let (response, rest) = after_an_answer("idle-408:1ms");
    assert_eq!(response.status, 200);
    assert!(rest.starts_with(b"HTTP/1.1 408 "), "{rest:?}");
}

#[test]
fn an_idle_limit_counts_anew_from_each_answer() {
    let server = server(&["close-idle:100s"]);
    let mut socket = connect(&server);
    for _ in 0..3 {
        socket.write_all(&request("POST", "/v1/completions", "", &completion(2))).unwrap();
        assert!(Response::read_one(&mut socket).is_whole);
    }
}

#[test]
fn only_every_nth_answer_is_followed_by_the_end() {
    let server = server(&["close-after:0.05ms/3"]);
    let mut socket = connect(&server);
    for _ in 0..3 {
        socket.write_all(&request("POST", "/v1/completions", "", &completion(2))).unwrap();
        assert!(Response::read_one(&mut socket).is_whole);
    }
    assert_eq!(socket.read(&mut [0; 8]).unwrap(), 0);
}
