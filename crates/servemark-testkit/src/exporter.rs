//! A metrics exporter for tests, whose answers are given beforehand.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot start its server has failed"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// How a scripted exporter answers a request.
#[derive(Clone, Debug)]
pub enum ExporterAnswer {
    /// It answers with this text.
    Text(String),
    /// It answers with this status and no text.
    Status(u16),
    /// It answers with this status and this text.
    Refusal(u16, String),
    /// The connection ends without an answer.
    Hangup,
    /// The connection stays open without an answer.
    Silence,
    /// It answers with lines that never end.
    Endless,
}

/// A metrics server that gets the answer to each request from a function of the request's
/// zero-based number.
#[derive(Debug)]
pub struct ScriptedExporter {
    addr: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl ScriptedExporter {
    /// Starts the server on a port of its own.
    pub fn start(script: impl Fn(usize) -> ExporterAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (received, script) = (Arc::clone(&heads), Arc::new(script));
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (received, script) = (Arc::clone(&received), Arc::clone(&script));
                thread::spawn(move || serve(socket, &received, &*script));
            }
        });
        Self { addr, heads }
    }

    /// Returns the address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Returns the heads of the requests received so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Answers the requests of one connection until it ends.
fn serve(
    mut socket: TcpStream,
    received: &Mutex<Vec<String>>,
    script: &dyn Fn(usize) -> ExporterAnswer,
) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while socket.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let number = {
            let mut received = received.lock().unwrap();
            received.push(String::from_utf8(std::mem::take(&mut head)).unwrap());
            received.len() - 1
        };
        let (status, body) = match script(number) {
            ExporterAnswer::Text(text) => (200, text),
            ExporterAnswer::Status(status) => (status, String::new()),
            ExporterAnswer::Refusal(status, text) => (status, text),
            ExporterAnswer::Hangup => return,
            ExporterAnswer::Silence => continue,
            ExporterAnswer::Endless => {
                let lines = "x 1\n".repeat(64 << 10);
                let mut sent = socket.write_all(b"HTTP/1.1 200 X\r\n\r\n");
                while sent.is_ok() {
                    sent = socket.write_all(lines.as_bytes());
                }
                return;
            }
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n");
        if socket
            .write_all(head.as_bytes())
            .and_then(|()| socket.write_all(body.as_bytes()))
            .is_err()
        {
            return;
        }
    }
}
