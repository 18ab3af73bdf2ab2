//! A running server, seen from outside its thread.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::requests::{RequestLog, SeenRequest};
use crate::truth::{TruthLog, TruthRow};
use crate::{MockError, MockSpec};

mod connection;
mod reply;
mod route;
mod worker;

use worker::Command;

/// A server on a thread of its own. It stops when it is dropped.
pub struct MockServer {
    addr: SocketAddr,
    logs: Logs,
    commands: Option<UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl MockServer {
    /// Starts a server. When this returns, it accepts connections.
    ///
    /// # Errors
    ///
    /// The address is taken or not ours, or the machine gives no thread or timer.
    pub fn start(spec: MockSpec) -> Result<Self, MockError> {
        let (listener, addr) = listen(spec.listen)
            .map_err(|source| MockError::Listen { addr: spec.listen, source })?;
        let logs = Logs::new(spec.keep_requests);
        let (commands, inbox) = unbounded_channel();
        let (ready, started) = mpsc::channel();
        let shared = logs.clone();
        let run = move || worker::run(listener, spec, shared, inbox, &ready);
        let failed = |source| MockError::Start { source };
        let thread = Builder::new().name("servemark-mock".to_owned()).spawn(run).map_err(failed)?;
        let gone = |_| io::Error::other("the thread ended before it was ready");
        started.recv().map_err(gone).flatten().map_err(failed)?;
        Ok(Self { addr, logs, commands: Some(commands), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its address as a URL, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// What was sent of every answer that is done, by index. A client that has read a whole
    /// answer finds it here.
    pub fn truth(&self) -> Vec<TruthRow> {
        self.logs.truth.rows()
    }

    /// The same, and forgets it.
    pub fn take_truth(&self) -> Vec<TruthRow> {
        self.logs.truth.take()
    }

    /// The latest requests, of which there are at most [`MockSpec::keep_requests`].
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.logs.requests.all()
    }

    /// The latest requests that flush a cache or start or stop a profiler; a thousand are kept.
    pub fn control_calls(&self) -> Vec<SeenRequest> {
        self.logs.control_calls.all()
    }

    /// What the server's thread has used of a core so far; absent if the thread has died.
    ///
    /// Blocks until the thread, which alone can read its clock, has answered.
    pub fn cpu_time(&self) -> Option<Duration> {
        let (reply, answer) = mpsc::channel();
        self.commands.as_ref()?.send(Command::CpuTime(reply)).ok()?;
        answer.recv().ok()
    }

    /// Stops the server and closes its connections.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for MockServer {
    /// A thread that panicked has said so on its own.
    fn drop(&mut self) {
        drop(self.commands.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for MockServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MockServer").field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// What the server's thread writes down for others to read.
#[derive(Clone, Debug)]
struct Logs {
    truth: Arc<TruthLog>,
    requests: Arc<RequestLog>,
    control_calls: Arc<RequestLog>,
}

impl Logs {
    fn new(keep_requests: usize) -> Self {
        Self {
            truth: Arc::default(),
            requests: Arc::new(RequestLog::new(keep_requests)),
            control_calls: Arc::new(RequestLog::new(CONTROL_CALLS)),
        }
    }
}

/// The standard library's queue of 128 connections is too short for a burst; a second call to
/// `listen` makes it longer.
fn listen(addr: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(addr)?;
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

const BACKLOG: i32 = 4096;
const CONTROL_CALLS: usize = 1000;
