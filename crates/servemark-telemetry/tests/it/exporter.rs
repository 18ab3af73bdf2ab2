//! An exporter that answers by a script.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a script does with a question.
pub(crate) enum ScriptedAnswer {
    Text(String),
    Status(u16),
    /// The connection ends without an answer.
    Hangup,
}

/// A server that asks `script` for the answer to each question, by its zero-based number.
pub(crate) struct Exporter {
    addr: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Exporter {
    pub(crate) fn start(script: impl Fn(usize) -> ScriptedAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, script) = (Arc::clone(&heads), Arc::new(script));
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                thread::spawn(move || serve(socket, &seen, &*script));
            }
        });
        Self { addr, heads }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Returns the heads of the questions so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Answers the questions of one connection until it ends.
fn serve(
    mut socket: TcpStream,
    seen: &Mutex<Vec<String>>,
    script: &dyn Fn(usize) -> ScriptedAnswer,
) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while socket.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(String::from_utf8(std::mem::take(&mut head)).unwrap());
            seen.len() - 1
        };
        let (status, body) = match script(number) {
            ScriptedAnswer::Text(text) => (200, text),
            ScriptedAnswer::Status(status) => (status, String::new()),
            ScriptedAnswer::Hangup => return,
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
