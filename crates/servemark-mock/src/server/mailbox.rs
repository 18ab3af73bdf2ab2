//! How others speak to an event loop.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Registry, Token, Waker};

use crate::http::End;

/// What is asked of an event loop.
#[derive(Debug)]
pub(super) enum Command {
    /// What its thread has used of a core.
    CpuTime(Sender<Duration>),
    /// Send what another thread has written down for the connection in this slot.
    Send(usize, Vec<u8>, End),
    Serve(TcpStream),
    Stop,
}

/// Where commands are put.
#[derive(Clone, Debug)]
pub(super) struct Mailbox {
    commands: Sender<Command>,
    waker: Arc<Waker>,
}

impl Mailbox {
    /// A mailbox, and where its commands come out after an event of the token.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<(Self, Receiver<Command>)> {
        let (commands, inbox) = channel();
        let waker = Arc::new(Waker::new(registry, token)?);
        Ok((Self { commands, waker }, inbox))
    }

    /// A loop that has ended needs no commands.
    pub(super) fn post(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            let _ = self.waker.wake();
        }
    }
}
