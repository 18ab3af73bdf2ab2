//! Measures how many one-token requests per second the server answers, and at what cost: `requests
//! [CONNECTIONS] [SECONDS] [PATH]`.
//!
//! Each connection sends its next request when the answer to the last one has ended. The asker only
//! looks for the end of each answer, so that it costs less than any client.

#![expect(clippy::print_stdout, reason = "a program that measures and says what it saw")]

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use servemark_core::{Clock, MonotonicClock};
use servemark_mock::{MockServer, MockSpec};
use servemark_pacer::thread_cpu_time;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let connections = arguments.next().map_or(Ok(64), |text| text.parse())?;
    let seconds = arguments.next().map_or(Ok(2.0), |text| text.parse())?;
    let path = arguments.next().unwrap_or_else(|| "/v1/chat/completions".to_owned());
    let server = MockServer::start(MockSpec::new(Duration::ZERO, Duration::ZERO))?;
    let mut asker = Asker::connect(server.addr(), connections, &path)?;
    asker.ask_for(Duration::from_millis(200))?;
    let cpu = || (server.cpu_time().unwrap_or_default(), thread_cpu_time());
    let before = cpu();
    let (answers, seconds) = asker.ask_for(Duration::from_secs_f64(seconds))?;
    let after = cpu();
    let each = |after: Duration, before| after.saturating_sub(before).as_secs_f64() * 1e6 / answers;
    println!("{connections} connections, {:.0} requests/s", answers / seconds);
    println!("{:.2} us of CPU per request", each(after.0, before.0));
    println!("{:.2} us of the asker's", each(after.1, before.1));
    Ok(())
}

struct Asker {
    poll: Poll,
    sockets: Vec<TcpStream>,
    request: Vec<u8>,
}

impl Asker {
    fn connect(server: SocketAddr, connections: usize, path: &str) -> io::Result<Self> {
        let body = r#"{"model":"mock","messages":[{"role":"user","content":"Tell me a story."}],"prompt":"a","input":"b","max_tokens":1,"stream":true}"#;
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {server}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let poll = Poll::new()?;
        let mut sockets = Vec::new();
        for number in 0..connections {
            let socket = std::net::TcpStream::connect(server)?;
            socket.set_nodelay(true)?;
            socket.set_nonblocking(true)?;
            let mut socket = TcpStream::from_std(socket);
            poll.registry().register(&mut socket, Token(number), Interest::READABLE)?;
            sockets.push(socket);
        }
        Ok(Self { poll, sockets, request: request.into_bytes() })
    }

    /// Sends requests for `time`. Returns the number of answers and the seconds until the last one.
    fn ask_for(&mut self, time: Duration) -> io::Result<(f64, f64)> {
        let clock = MonotonicClock::start();
        for socket in &mut self.sockets {
            socket.write_all(&self.request)?;
        }
        let (mut events, mut buffer) = (Events::with_capacity(1024), vec![0; 64 << 10]);
        let (mut answers, mut open) = (0.0, self.sockets.len());
        while open > 0 {
            self.poll.poll(&mut events, None)?;
            let goes_on = clock.now().since(servemark_core::Stamp::ZERO) < time;
            for event in &events {
                let socket = &mut self.sockets[event.token().0];
                let length = socket.read(&mut buffer)?;
                if !is_end(&buffer[..length]) {
                    continue;
                }
                answers += 1.0;
                if goes_on {
                    socket.write_all(&self.request)?;
                } else {
                    open -= 1;
                }
            }
        }
        Ok((answers, clock.now().since(servemark_core::Stamp::ZERO).as_secs_f64()))
    }
}

/// Whether a read ends an answer: a stream, or a document that arrives in one read.
fn is_end(read: &[u8]) -> bool {
    read.ends_with(b"0\r\n\r\n") || read.ends_with(b"}")
}
