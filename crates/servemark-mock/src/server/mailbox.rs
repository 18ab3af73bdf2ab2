//! Commands from other threads to an event loop.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Registry, Token, Waker};

use crate::http::End;

/// A command to an event loop.
#[derive(Debug)]
pub(super) enum Command {
    /// Report the CPU time of the loop's thread.
    CpuTime(Sender<Duration>),
    /// Send bytes that another thread has serialised to the connection in this slot.
    Send(usize, Vec<u8>, End),
    Serve(TcpStream),
    Stop,
}

/// The sender of commands to one event loop.
#[derive(Clone, Debug)]
pub(super) struct Mailbox {
    commands: Sender<Command>,
    waker: Arc<Waker>,
}

impl Mailbox {
    /// Returns a mailbox and the receiver of its commands; a command wakes the poll with `token`.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<(Self, Receiver<Command>)> {
        let (commands, inbox) = channel();
        let waker = Arc::new(Waker::new(registry, token)?);
        Ok((Self { commands, waker }, inbox))
    }

    /// Returns the waker of the poll, which can have only one.
    pub(super) fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// Sends a command. It is discarded if the loop has ended.
    pub(super) fn post(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            let _ = self.waker.wake();
        }
    }
}
