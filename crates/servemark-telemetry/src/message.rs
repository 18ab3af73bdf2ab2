//! Messages to the thread that reads metrics.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use mio::{Registry, Token, Waker};
use servemark_client::{ClientError, Text, TextReader};

/// A message to the thread that reads metrics.
#[derive(Debug)]
pub(crate) enum Message {
    /// Read all sources now.
    Ask,
    /// Read all sources a last time and end.
    Stop,
    /// A reader that was passed to the [`Opener`](crate::opener::Opener), and what it read.
    Read { source: usize, reader: Box<TextReader>, answer: Result<Text, ClientError> },
}

/// The sending side. A message wakes the thread up.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    sender: Sender<Message>,
    waker: Arc<Waker>,
}

impl Post {
    /// Creates both sides, for a thread that waits for the registry's events.
    pub(crate) fn new(registry: &Registry) -> io::Result<(Self, Receiver<Message>)> {
        let waker = Arc::new(Waker::new(registry, TOKEN)?);
        let (sender, receiver) = channel();
        Ok((Self { sender, waker }, receiver))
    }

    /// Sends a message. It is lost if the thread has ended.
    pub(crate) fn send(&self, message: Message) {
        if self.sender.send(message).is_ok() {
            // The thread reads its messages at each reading, too.
            let _ = self.waker.wake();
        }
    }
}

/// The token of messages; those of sources are their positions.
const TOKEN: Token = Token(usize::MAX);
