//! A running server, seen from outside its threads.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::requests::{ReceivedRequest, RequestLog};
use crate::truth::{TruthLog, TruthRow};
use crate::{MockError, MockSpec};

mod acceptor;
mod alarm;
mod connection;
mod connections;
mod delivery;
mod event_loop;
mod histogram;
mod mailbox;
mod metrics;
mod prefix_cache;
mod queue;
mod reply;
mod route;
mod slots;
mod state;
mod work;

use acceptor::Acceptor;
use event_loop::EventLoop;
use mailbox::{Command, Mailbox};
use state::ServerState;

/// A server that runs on its own threads and stops when it is dropped.
pub struct MockServer {
    addr: SocketAddr,
    logs: Logs,
    threads: Vec<Thread>,
}

impl MockServer {
    /// Starts a server; it accepts connections as soon as this returns.
    ///
    /// # Errors
    ///
    /// Fails if the address is taken or does not belong to this machine, or if the operating system
    /// refuses a thread or a timer.
    pub fn start(spec: MockSpec) -> Result<Self, MockError> {
        let (listener, addr) = listen(spec.listen)
            .map_err(|source| MockError::Listen { addr: spec.listen, source })?;
        let logs = Logs::new(spec.keep_requests);
        let mut server = Self { addr, logs: logs.clone(), threads: Vec::new() };
        let failed = |source| MockError::Start { source };
        server.start_threads(listener, ServerState::new(spec, logs)).map_err(failed)?;
        Ok(server)
    }

    /// Starts one event loop per thread; the first one accepts connections and distributes them to
    /// all.
    fn start_threads(&mut self, listener: TcpListener, state: ServerState) -> io::Result<()> {
        let count = state.spec.threads.get();
        let state = Arc::new(state);
        let loops = (0..count).map(|_| EventLoop::new(Arc::clone(&state)));
        let mut loops = loops.collect::<io::Result<Vec<_>>>()?;
        let mailboxes = loops.iter().map(EventLoop::mailbox).collect();
        loops[0].open(Acceptor::new(listener, mailboxes))?;
        for event_loop in loops {
            self.threads.push(Thread::start(event_loop)?);
        }
        Ok(())
    }

    /// Returns the address that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the server's address as a URL without a trailing slash.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns what was sent of every finished answer, sorted by index. The row of an answer is
    /// there by the time a client has read all of it.
    pub fn truth(&self) -> Vec<TruthRow> {
        self.logs.truth.rows()
    }

    /// Returns what was sent of every finished answer, sorted by index, and clears the log.
    pub fn take_truth(&self) -> Vec<TruthRow> {
        self.logs.truth.take()
    }

    /// Returns the latest requests, at most [`MockSpec::keep_requests`] of them.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.logs.requests.all()
    }

    /// Returns the latest requests that flush a cache or start or stop a profiler, at most 1000.
    pub fn control_calls(&self) -> Vec<ReceivedRequest> {
        self.logs.control_calls.all()
    }

    /// Returns the CPU time that the server's threads have used so far, or `None` if one of them
    /// has died.
    ///
    /// Blocks until all threads have answered, because only a thread itself can read its CPU clock.
    pub fn cpu_time(&self) -> Option<Duration> {
        self.threads.iter().map(Thread::cpu_time).sum()
    }

    /// Stops the server and closes its connections.
    pub fn stop(self) {
        drop(self);
    }
}

impl fmt::Debug for MockServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MockServer").field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// A thread of the server; it stops when it is dropped.
struct Thread {
    mailbox: Mailbox,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    fn start(event_loop: EventLoop) -> io::Result<Self> {
        let mailbox = event_loop.mailbox();
        let builder = Builder::new().name("servemark-mock".to_owned());
        let handle = builder.spawn(move || event_loop.run())?;
        Ok(Self { mailbox, handle: Some(handle) })
    }

    fn cpu_time(&self) -> Option<Duration> {
        let (reply, answer) = mpsc::channel();
        self.mailbox.post(Command::CpuTime(reply));
        answer.recv().ok()
    }
}

impl Drop for Thread {
    /// Stops the thread and waits for it. A panic of the thread is ignored: it was already reported
    /// when it happened.
    fn drop(&mut self) {
        self.mailbox.post(Command::Stop);
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

/// What the server's threads record for the owner of the [`MockServer`] to read.
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

/// Binds a non-blocking listener. A second call to `listen` raises the standard library's backlog
/// of 128 connections, which is too short for a burst.
fn listen(addr: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(addr)?;
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

const BACKLOG: i32 = 4096;
const CONTROL_CALLS: usize = 1000;
