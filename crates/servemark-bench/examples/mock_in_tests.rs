//! The mock server in a program's own tests: it answers as an inference server does, with known
//! latencies and faults, and keeps the requests that it received.
//!
//! The client here is thirty lines over a socket; any HTTP client does as well.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use servemark::mock::{MockServer, MockSpec};

/// The client that is tested: asks for a chat completion and returns the whole response.
fn ask(address: &str, prompt: &str) -> std::io::Result<String> {
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"{prompt}"}}],"max_tokens":4}}"#
    );
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\nconnection: close";
    let mut socket = TcpStream::connect(address)?;
    write!(socket, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
    let mut response = String::new();
    socket.read_to_string(&mut response)?;
    Ok(response)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Every second request fails with this status.
    let spec = MockSpec::new(Duration::from_millis(5), Duration::from_millis(1))
        .with_fault("status:503/2".parse()?);
    let server = MockServer::start(spec)?;
    let url = server.base_url();
    let address = url.strip_prefix("http://").ok_or("the mock speaks plain HTTP")?;

    let statuses: Vec<bool> = ["one", "two"]
        .into_iter()
        .map(|prompt| Ok(ask(address, prompt)?.starts_with("HTTP/1.1 200")))
        .collect::<std::io::Result<_>>()?;
    assert_eq!(statuses.iter().filter(|is_ok| **is_ok).count(), 1);

    let received = server.requests();
    assert_eq!(received.len(), 2);
    assert!(received[0].body.windows(3).any(|bytes| bytes == b"one"));
    Ok(())
}
