//! The server's thread: one runtime, one pacer, a task per connection, nothing shared with other
//! threads but the logs.

use std::cell::Cell;
use std::io;
use std::net::TcpListener as StdListener;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use servemark_core::{Clock, Stamp, unix_now};
use servemark_pacer::{MachineClock, thread_cpu_time};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{spawn_local, yield_now};

use super::{Logs, connection};
use crate::pacer::Pacer;
use crate::{FaultKind, MockSpec};

/// What the owner asks of the thread. It stops when the owner hangs up.
#[derive(Debug)]
pub(super) enum Command {
    CpuTime(Sender<Duration>),
}

/// The thread's body: serves until the owner hangs up. `started` is told whether it could begin;
/// an owner that no longer listens has hung up already.
pub(super) fn run(
    listener: StdListener,
    spec: MockSpec,
    logs: Logs,
    inbox: UnboundedReceiver<Command>,
    started: &Sender<io::Result<()>>,
) {
    let _ = match prepare(listener, spec, logs) {
        Ok((runtime, listener, worker)) => {
            let told = started.send(Ok(()));
            runtime.block_on(worker.serve(&listener, inbox));
            told
        }
        Err(error) => started.send(Err(error)),
    };
}

fn prepare(
    listener: StdListener,
    spec: MockSpec,
    logs: Logs,
) -> io::Result<(LocalRuntime, TcpListener, Rc<Worker>)> {
    let mut builder = Builder::new_current_thread();
    builder.enable_io();
    // Where there is a timerfd, tokio's clock would only add to the cost of every wake-up.
    if cfg!(not(target_os = "linux")) {
        builder.enable_time();
    }
    let runtime = builder.build_local(LocalOptions::default())?;
    let context = runtime.enter();
    let listener = TcpListener::from_std(listener)?;
    let worker = Worker::new(spec, logs)?;
    drop(context);
    Ok((runtime, listener, Rc::new(worker)))
}

/// What all connections need.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) spec: MockSpec,
    pub(super) logs: Logs,
    pub(super) pacer: Pacer,
    /// When the model is said to have been made, in seconds since the Unix epoch.
    pub(super) created: u64,
    pub(super) ready_at: Stamp,
    /// How many requests for an answer there have been.
    pub(super) answers: Cell<u64>,
    connections: Cell<u64>,
}

impl Worker {
    fn new(spec: MockSpec, logs: Logs) -> io::Result<Self> {
        Ok(Self {
            ready_at: MachineClock.now() + unready_time(&spec),
            spec,
            logs,
            pacer: Pacer::new()?,
            created: unix_now().as_secs(),
            answers: Cell::new(0),
            connections: Cell::new(0),
        })
    }

    async fn serve(self: Rc<Self>, listener: &TcpListener, mut inbox: UnboundedReceiver<Command>) {
        let worker = Rc::clone(&self);
        spawn_local(async move { worker.pacer.run().await });
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((socket, _)) => self.welcome(socket),
                    // Gone before it was accepted, or no descriptors left; others may close some.
                    Err(_) => yield_now().await,
                },
                command = inbox.recv() => match command {
                    // An owner that does not wait for the answer does not need it.
                    Some(Command::CpuTime(reply)) => drop(reply.send(thread_cpu_time())),
                    None => return,
                },
            }
        }
    }

    /// A socket that takes no options is broken, which its task finds out.
    fn welcome(self: &Rc<Self>, socket: TcpStream) {
        let number = next(&self.connections);
        let is_reset =
            |fault: &crate::Fault| *fault.kind() == FaultKind::Reset && fault.hits(number);
        if self.spec.faults.iter().any(is_reset) {
            let _ = set_socket_linger(&socket, Some(Duration::ZERO));
            return;
        }
        let _ = socket.set_nodelay(true);
        spawn_local(connection::serve(Rc::clone(self), socket));
    }
}

/// Counts one more.
pub(super) fn next(count: &Cell<u64>) -> u64 {
    count.set(count.get() + 1);
    count.get()
}

fn unready_time(spec: &MockSpec) -> Duration {
    let times = spec.faults.iter().filter_map(|fault| match fault.kind() {
        FaultKind::NotReady { until } => Some(*until),
        _ => None,
    });
    times.max().unwrap_or_default()
}
