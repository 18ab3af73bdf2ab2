//! The bare receiver, a lower bound for any reader of metrics: it sends the requests, receives the
//! answers into one buffer, and looks at nothing but their lengths.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// Calls `work` while a thread named `name` asks an exporter for `urls` texts every `interval`.
pub(super) fn beside<T>(
    name: &str,
    addr: &str,
    urls: usize,
    interval: Duration,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let receive = || receive_until(&is_over, addr, urls, interval);
        let receiving =
            thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, receive)?;
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        receiving.join().ok().context("the bare receiver panicked")??;
        result
    })
}

#[expect(clippy::disallowed_methods, reason = "nothing is measured by the sleep")]
fn receive_until(
    is_over: &AtomicBool,
    addr: &str,
    urls: usize,
    interval: Duration,
) -> anyhow::Result<()> {
    let requests: Vec<String> =
        (0..urls).map(|number| format!("GET /{number} HTTP/1.1\r\nhost: {addr}\r\n\r\n")).collect();
    let mut sockets = (0..urls).map(|_| connect(addr)).collect::<io::Result<Vec<_>>>()?;
    let (mut buffer, mut next) = (vec![0; ROOM], Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        for (socket, request) in sockets.iter_mut().zip(&requests) {
            socket.write_all(request.as_bytes())?;
        }
        for socket in &mut sockets {
            receive(socket, &mut buffer)?;
        }
        next += interval;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

fn connect(addr: &str) -> io::Result<TcpStream> {
    let socket = TcpStream::connect(addr)?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Receives one answer.
fn receive(socket: &mut TcpStream, buffer: &mut [u8]) -> anyhow::Result<()> {
    let mut received = socket.read(buffer)?;
    let length = length_of(&buffer[..received]).context("the answer has no length")?;
    ensure!(length <= buffer.len(), "the answer has more than {} bytes", buffer.len());
    while received < length {
        let more = socket.read(&mut buffer[received..])?;
        ensure!(more > 0, "the exporter closed a connection");
        received += more;
    }
    Ok(())
}

/// Returns the length of an answer whose head is given, the head included.
fn length_of(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let fields = str::from_utf8(&answer[..head]).ok()?;
    let length = fields.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    Some(head + length.parse::<usize>().ok()?)
}

/// Largest answer in bytes.
const ROOM: usize = 1 << 20;
