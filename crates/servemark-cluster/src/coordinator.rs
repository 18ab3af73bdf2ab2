//! How ranks exchange messages.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;
use tokio::sync::mpsc;

/// Carries messages between ranks.
///
/// Messages have subjects, which are names with dots. Every message may be lost, and two messages
/// may overtake each other: the ranks repeat what they have to say.
pub trait Coordinator: fmt::Debug + Send + Sync + 'static {
    /// Sends a message to all subscribers of a subject.
    fn publish(&self, subject: String, payload: Bytes) -> CoordinatorFuture<'_, ()>;

    /// Sends a message to a subscriber of a subject, and waits for the reply.
    fn request(
        &self,
        subject: String,
        payload: Bytes,
        patience: Duration,
    ) -> CoordinatorFuture<'_, Bytes>;

    /// Receives all messages of a subject from now on.
    fn subscribe(&self, subject: String) -> CoordinatorFuture<'_, Subscription>;
}

/// The result of an exchange.
pub type CoordinatorFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, CoordinatorError>> + Send + 'a>>;

/// Why a message could not be exchanged.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum CoordinatorError {
    /// Nothing subscribes to the subject.
    #[error("no rank listens to {subject}")]
    NoResponder {
        /// The subject.
        subject: String,
    },
    /// There was no reply in time.
    #[error("no reply within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The connection failed.
    #[error("{0}")]
    Connection(String),
}

/// The messages of a subject.
#[derive(Debug)]
pub struct Subscription {
    messages: mpsc::Receiver<Message>,
}

impl Subscription {
    /// Creates a subscription that receives what is sent to the other end of the channel.
    pub fn new(messages: mpsc::Receiver<Message>) -> Self {
        Self { messages }
    }

    /// Waits for the next message; `None` if there will be none.
    pub async fn next(&mut self) -> Option<Message> {
        self.messages.recv().await
    }
}

/// A received message.
#[derive(Debug)]
pub struct Message {
    /// What was sent.
    pub payload: Bytes,
    reply: Option<Reply>,
}

impl Message {
    /// Creates a message; `reply` answers it if it is a request.
    pub fn new(payload: Bytes, reply: Option<Reply>) -> Self {
        Self { payload, reply }
    }

    /// Answers a request. A lost answer is asked for again, so its error does not matter.
    pub async fn reply(self, payload: Bytes) {
        if let Some(Reply(reply)) = self.reply {
            let _ = reply(payload).await;
        }
    }
}

/// Answers a request.
pub struct Reply(Box<dyn FnOnce(Bytes) -> CoordinatorFuture<'static, ()> + Send>);

impl Reply {
    /// Creates the answer to a request from a function that sends it.
    pub fn new(
        send: impl FnOnce(Bytes) -> CoordinatorFuture<'static, ()> + Send + 'static,
    ) -> Self {
        Self(Box::new(send))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

/// Largest number of messages of one subscription that wait to be handled.
pub(crate) const MOST_WAITING: usize = 1 << 14;
