//! Where connections come in.

use std::io;
use std::net::TcpListener as StdListener;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use rustix::net::sockopt::set_socket_linger;
use servemark_receive::ask_for_stamps;

use super::mailbox::{Command, Mailbox};
use crate::{Fault, FaultKind};

/// The listener, and the loops among which it deals its connections out in turn.
#[derive(Debug)]
pub(super) struct Door {
    listener: TcpListener,
    loops: Vec<Mailbox>,
    connections: u64,
    is_stuck: bool,
}

impl Door {
    /// A door to these loops. Its connections take over what the listener asks the kernel for.
    /// Where stamps are refused, a request is received when it is read.
    pub(super) fn new(listener: StdListener, loops: Vec<Mailbox>) -> Self {
        let _ = ask_for_stamps(&listener);
        leave_at_once(&listener);
        Self { listener: TcpListener::from_std(listener), loops, connections: 0, is_stuck: false }
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.listener, token, Interest::READABLE)
    }

    /// Takes in all who wait.
    pub(super) fn admit(&mut self, faults: &[Fault]) {
        let refused = loop {
            match self.listener.accept() {
                Ok((socket, _)) => self.welcome(socket, faults),
                Err(refused) => break refused.kind(),
            }
        };
        self.is_stuck = refused != io::ErrorKind::WouldBlock;
    }

    /// Whether somebody may still wait, because no descriptor was left or he left too early.
    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// A socket that takes no options is broken, which its first read finds out.
    fn welcome(&mut self, socket: TcpStream, faults: &[Fault]) {
        let turn = self.connections % self.loops.len() as u64;
        self.connections += 1;
        if is_reset(faults, self.connections) {
            // It is reset as it is closed.
            let _ = set_socket_linger(&socket, Some(Duration::ZERO));
        } else {
            let _ = socket.set_nodelay(true);
            self.loops[turn as usize].post(Command::Serve(socket));
        }
    }
}

/// Some congestion controls, BBR among them, space packets out by a timer: a chunk then leaves later
/// than it is sent. Reno, which every kernel has, does not.
#[cfg(target_os = "linux")]
fn leave_at_once(listener: &StdListener) {
    let _ = rustix::net::sockopt::set_tcp_congestion(listener, "reno");
}

#[cfg(not(target_os = "linux"))]
fn leave_at_once(_listener: &StdListener) {}

fn is_reset(faults: &[Fault], number: u64) -> bool {
    faults.iter().any(|fault| *fault.kind() == FaultKind::Reset && fault.hits(number))
}
