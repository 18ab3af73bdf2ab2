//! A client that keeps every byte, so that tests can inspect each one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};

/// Starts a server with zero delays and with these faults.
pub(crate) fn server(faults: &[&str]) -> MockServer {
    start(|spec| spec.faults = faults.iter().map(|text| text.parse().unwrap()).collect())
}

/// Starts a server with zero delays, configured further by `change`.
pub(crate) fn start(change: impl FnOnce(&mut MockSpec)) -> MockServer {
    let mut spec = MockSpec::new(Duration::ZERO, Duration::ZERO);
    change(&mut spec);
    MockServer::start(spec).unwrap()
}

/// Connects to the server. Reads time out after a minute, so a test that waits in vain fails.
pub(crate) fn connect(server: &MockServer) -> TcpStream {
    let socket = TcpStream::connect(server.addr()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

/// Returns the bytes of a request. `headers` are whole lines.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: mock\r\nContent-Length: {length}\r\n");
    format!("{head}{headers}\r\n{body}").into_bytes()
}

/// Sends a request on a connection of its own and reads until the connection ends.
pub(crate) fn call(server: &MockServer, method: &str, path: &str, body: &str) -> Response {
    let mut socket = connect(server);
    socket.write_all(&request(method, path, "Connection: close\r\n", body)).unwrap();
    Response::read_all(&mut socket)
}

pub(crate) fn post(server: &MockServer, path: &str, body: &str) -> Response {
    call(server, "POST", path, body)
}

pub(crate) fn get(server: &MockServer, path: &str) -> Response {
    call(server, "GET", path, "")
}

/// Requests a stream of `tokens` tokens from `/v1/completions`.
pub(crate) fn complete(server: &MockServer, tokens: u32) -> Response {
    post(server, "/v1/completions", &completion(tokens))
}

pub(crate) fn completion(tokens: u32) -> String {
    format!(r#"{{"prompt": "one two", "max_tokens": {tokens}, "stream": true}}"#)
}

/// A response, whole or truncated.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the body reached the end that its framing announced.
    pub(crate) is_whole: bool,
}

impl Response {
    /// Reads until the server closes the connection.
    pub(crate) fn read_all(socket: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes).unwrap();
        Self::parse(&bytes)
    }

    /// Reads one response and leaves the connection open.
    pub(crate) fn read_one(socket: &mut TcpStream) -> Self {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let count = socket.read(&mut buffer).unwrap();
            assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&buffer[..count]);
            if bytes.windows(4).any(|four| four == b"\r\n\r\n") {
                let response = Self::parse(&bytes);
                if response.is_whole {
                    return response;
                }
            }
        }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let (body, is_whole) = match length {
            Some(length) => (body.to_owned(), body.len() == length.parse::<usize>().unwrap()),
            None if head.contains("transfer-encoding: chunked") => dechunk(body),
            None => (body.to_owned(), true),
        };
        Self { status, head: head.to_owned(), body, is_whole }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Returns the data of every event.
    pub(crate) fn events(&self) -> Vec<&str> {
        self.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
    }

    /// Returns every event as JSON, for a dialect without an end mark.
    #[track_caller]
    pub(crate) fn unmarked(&self) -> Vec<Value> {
        assert!(self.is_whole, "{self:?}");
        self.events().into_iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }

    /// Returns every event as JSON but the last, which must be the end mark.
    #[track_caller]
    pub(crate) fn stream(&self) -> Vec<Value> {
        assert!(self.is_whole, "{self:?}");
        let events = self.events();
        let (done, events) = events.split_last().unwrap();
        assert_eq!(*done, "[DONE]");
        events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }
}

/// Returns the data of a chunked body, and whether its last chunk was there.
fn dechunk(mut rest: &str) -> (String, bool) {
    let mut data = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (data, after == "\r\n");
        }
        let taken = size.min(after.len());
        data.push_str(&after[..taken]);
        rest = after.get(size + 2..).unwrap_or_default();
    }
    (data, false)
}
