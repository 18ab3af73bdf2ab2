//! The listener that accepts connections.

use std::io;
use std::net::TcpListener as StdListener;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use rustix::net::sockopt::set_socket_linger;
use servemark_receive::ask_for_stamps;

use super::mailbox::{Command, Mailbox};
use crate::{Fault, FaultKind};

/// The listener, and the event loops to which it assigns connections in turn.
#[derive(Debug)]
pub(super) struct Acceptor {
    listener: TcpListener,
    loops: Vec<Mailbox>,
    connections: u64,
    is_stuck: bool,
}

impl Acceptor {
    /// Prepares the listener; accepted connections inherit its socket options. Where receive stamps
    /// are refused, a request counts as received when it is read.
    pub(super) fn new(listener: StdListener, loops: Vec<Mailbox>) -> Self {
        let _ = ask_for_stamps(&listener);
        leave_at_once(&listener);
        Self { listener: TcpListener::from_std(listener), loops, connections: 0, is_stuck: false }
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.listener, token, Interest::READABLE)
    }

    /// Accepts all waiting connections.
    pub(super) fn admit(&mut self, faults: &[Fault]) {
        let refused = loop {
            match self.listener.accept() {
                Ok((socket, _)) => self.accept(socket, faults),
                Err(refused) => break refused.kind(),
            }
        };
        self.is_stuck = refused != io::ErrorKind::WouldBlock;
    }

    /// Whether a connection may still be waiting, because accepting failed for want of a descriptor
    /// or because a peer left too early.
    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Assigns a connection to the next event loop, or resets it if a fault says so. Errors of
    /// socket options are ignored: such a socket is broken, and its first read fails.
    fn accept(&mut self, socket: TcpStream, faults: &[Fault]) {
        let turn = self.connections % self.loops.len() as u64;
        self.connections += 1;
        if is_reset(faults, self.connections) {
            // With a linger time of zero, closing the socket resets the connection.
            let _ = set_socket_linger(&socket, Some(Duration::ZERO));
        } else {
            let _ = socket.set_nodelay(true);
            self.loops[turn as usize].post(Command::Serve(socket));
        }
    }
}

/// Selects Reno, which every kernel has. Some congestion controls, BBR among them, pace packets by
/// a timer, so that a chunk leaves later than it is sent.
#[cfg(target_os = "linux")]
fn leave_at_once(listener: &StdListener) {
    let _ = rustix::net::sockopt::set_tcp_congestion(listener, "reno");
}

#[cfg(not(target_os = "linux"))]
fn leave_at_once(_listener: &StdListener) {}

fn is_reset(faults: &[Fault], number: u64) -> bool {
    faults.iter().any(|fault| *fault.kind() == FaultKind::Reset && fault.hits(number))
}
