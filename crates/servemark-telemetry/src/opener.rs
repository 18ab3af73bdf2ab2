//! Readings that need more than an open connection.

use std::io;
use std::thread::{Builder, JoinHandle};

use servemark_client::TextReader;
use tokio::runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::message::{Message, Post};

/// A thread with a runtime. It reads a text over a new connection, by TLS or by HTTP/2, and costs
/// nothing while texts are read over connections that are open.
#[derive(Debug)]
pub(crate) struct Opener {
    /// Readers with the positions of their sources; absent once the thread has to end.
    jobs: Option<UnboundedSender<(usize, Box<TextReader>)>>,
    thread: Option<JoinHandle<()>>,
}

impl Opener {
    /// Starts the thread. What it reads is sent to `post`.
    pub(crate) fn start(post: Post) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (jobs, mut accepted) = unbounded_channel::<(usize, Box<TextReader>)>();
        let opening = move || {
            runtime.block_on(async {
                while let Some((source, mut reader)) = accepted.recv().await {
                    let post = post.clone();
                    tokio::spawn(async move {
                        let answer = reader.read().await;
                        post.send(Message::Read { source, reader, answer });
                    });
                }
            });
            // A name that is being looked up is not waited for.
            runtime.shutdown_background();
        };
        let thread = Builder::new().name("telemetry-open".to_owned()).spawn(opening)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Passes on a reader, which comes back in a message with what it read.
    pub(crate) fn read(&self, source: usize, reader: Box<TextReader>) {
        if let Some(jobs) = &self.jobs {
            // The thread ends no earlier than its sender.
            let _ = jobs.send((source, reader));
        }
    }
}

impl Drop for Opener {
    /// Abandons all readings.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}
