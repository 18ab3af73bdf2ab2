//! The thread on which a rank's messages are handled, and the state that it shares with runs.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use tokio::sync::{Notify, oneshot, watch};

/// A thread that handles messages until it is dropped. Runs measure on other threads, so that a
/// message delays no request.
#[derive(Debug)]
pub(crate) struct MessageThread {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MessageThread {
    /// Starts the thread. `work` is given a signal at which it has to end.
    pub(crate) fn start<F: Future<Output = ()>>(
        work: impl FnOnce(oneshot::Receiver<()>) -> F + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (end, ended) = oneshot::channel();
        let thread = Builder::new().name("coordination".to_owned());
        let thread = thread.spawn(move || runtime.block_on(work(ended)))?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for MessageThread {
    fn drop(&mut self) {
        // The thread may have ended before.
        let _ = self.end.take().map(|end| end.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// State that the thread of messages and the threads of runs share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    state: Mutex<S>,
    changes: watch::Sender<()>,
    /// Tells the thread of messages that there is something to publish.
    to_publish: Notify,
}

impl<S> Shared<S> {
    pub(crate) fn new(state: S) -> Self {
        let (changes, to_publish) = (watch::Sender::new(()), Notify::new());
        Self { state: Mutex::new(state), changes, to_publish }
    }

    /// Reads the state.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&S) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state by what was received.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let changed = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_replace(());
        changed
    }

    /// Changes the state and publishes it.
    pub(crate) fn announce<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let changed = self.change(change);
        self.to_publish.notify_one();
        changed
    }

    /// Waits until there is something to publish.
    pub(crate) async fn announced(&self) {
        self.to_publish.notified().await;
    }

    /// Waits until the state gives a value.
    pub(crate) async fn until<T>(&self, mut find: impl FnMut(&S) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        loop {
            if let Some(found) = self.read(&mut find) {
                return found;
            }
            // The sender lives as long as this state.
            let _ = changes.changed().await;
        }
    }
}
