//! A running server, seen from outside its threads.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::requests::{RequestLog, SeenRequest};
use crate::truth::{TruthLog, TruthRow};
use crate::{MockError, MockSpec};

mod alarm;
mod connection;
mod connections;
mod delivery;
mod door;
mod event_loop;
mod mailbox;
mod metrics;
mod places;
mod queue;
mod reply;
mod route;
mod site;
mod work;

use door::Door;
use event_loop::EventLoop;
use mailbox::{Command, Mailbox};
use site::Site;

/// A server on threads of its own. It stops when it is dropped.
pub struct MockServer {
    addr: SocketAddr,
    logs: Logs,
    threads: Vec<Thread>,
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
        let mut server = Self { addr, logs: logs.clone(), threads: Vec::new() };
        let failed = |source| MockError::Start { source };
        server.start_threads(listener, Site::new(spec, logs)).map_err(failed)?;
        Ok(server)
    }

    /// One loop per thread; the first has the door and deals connections out to all.
    fn start_threads(&mut self, listener: TcpListener, site: Site) -> io::Result<()> {
        let count = site.spec.threads.get();
        let site = Arc::new(site);
        let loops = (0..count).map(|_| EventLoop::new(Arc::clone(&site)));
        let mut loops = loops.collect::<io::Result<Vec<_>>>()?;
        let mailboxes = loops.iter().map(EventLoop::mailbox).collect();
        loops[0].open(Door::new(listener, mailboxes))?;
        for event_loop in loops {
            self.threads.push(Thread::start(event_loop)?);
        }
        Ok(())
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

    /// What the server's threads have used of their cores so far; absent if one has died.
    ///
    /// Blocks until the threads, which alone can read their clocks, have answered.
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

/// One of the server's threads. It stops when it is dropped.
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
    /// A thread that panicked has said so on its own.
    fn drop(&mut self) {
        self.mailbox.post(Command::Stop);
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

/// What the server's threads write down for others to read.
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
