//! A server of one page: HTTP/1.1, `GET` only, an answer for each connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::pages::Pages;
use super::request::{Refused, parse};

/// A server that accepts connections until it is stopped.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(listener: TcpListener, pages: Arc<Pages>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let accept = move || accept(&listener, &pages);
        let accepting = Builder::new().name("live-page".to_owned()).spawn(accept)?;
        Ok(Self { address, accepting: Some(accepting) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the thread that accepts connections. It checks at each connection whether the pages
    /// are closed, so one connection is opened to wake it.
    pub(super) fn stop(&mut self) {
        let Some(accepting) = self.accepting.take() else { return };
        // If the connection fails, the thread ends with the process.
        let woken = TcpStream::connect_timeout(
            &(Ipv4Addr::LOCALHOST, self.address.port()).into(),
            PATIENCE,
        );
        if woken.is_ok() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, pages: &Arc<Pages>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if pages.is_closed() {
            return;
        }
        // Errors of a single connection do not end the server. A browser that opens many more
        // connections than it needs is not answered.
        let Ok(stream) = stream else { continue };
        if open.fetch_add(1, Relaxed) >= MOST_CONNECTIONS {
            open.fetch_sub(1, Relaxed);
            continue;
        }
        let (pages, connection) = (Arc::clone(pages), OpenConnection(Arc::clone(&open)));
        let answer = move || {
            let _connection = connection;
            let _ = answer(stream, &pages);
        };
        // Without a thread the connection is closed.
        let _ = Builder::new().name("live-page".to_owned()).spawn(answer);
    }
}

/// An open connection, which is counted until it is dropped.
struct OpenConnection(Arc<AtomicUsize>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn answer(mut stream: TcpStream, pages: &Pages) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read_head(&mut stream)?.ok_or(Refused::Malformed).and_then(|head| parse(&head));
    match request {
        Ok(asked) => pages.answer(
            asked,
            || is_gone(&stream),
            |page| send(&stream, "200 OK", "text/html; charset=utf-8", page),
        ),
        Err(refused) => {
            let (status, text) = refused.answer();
            send(&stream, status, "text/plain; charset=utf-8", text.as_bytes())
        }
    }
}

/// Reads the head of a request; `None` if the connection ends before it does, or if it is too long.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    while head.len() < MOST_BYTES {
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Ok(None);
        }
        head.extend_from_slice(&part[..read]);
        if head.windows(END.len()).any(|window| window == END) {
            return Ok(Some(head));
        }
    }
    Ok(None)
}

/// Returns whether the browser has closed the connection.
fn is_gone(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let peeked = stream.peek(&mut [0]);
    let is_open = match &peeked {
        Ok(bytes) => *bytes > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    };
    stream.set_nonblocking(false).is_err() || !is_open
}

fn send(mut stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.shutdown(Shutdown::Write)
}

/// Longest time for one read from a browser or one write to it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Largest head of a request.
const MOST_BYTES: usize = 16 << 10;

const MOST_CONNECTIONS: usize = 64;

const END: &[u8] = b"\r\n\r\n";
