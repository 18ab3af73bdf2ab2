//! Prepares requests before they are due, on a thread that does nothing else.

use std::collections::VecDeque;
use std::iter::StepBy;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servemark_core::{ErrorKind, RequestError, Sample, Session};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::conversation::Conversation;
use crate::erased::{AnyTransport, PreparedResult};
use crate::{LookAheadSpec, Share};

/// Keeps the first requests of the next sessions prepared, so that only I/O is left when one is
/// due. Their number and their size are limited.
///
/// They are prepared on another thread, in batches: a new batch begins when the queue is less than
/// half full. A picture that takes long to render delays its own request and no other stream.
pub(crate) struct LookAhead {
    prefetcher: Arc<Prefetcher>,
}

/// The state shared by the sending thread and the preparing thread.
struct Prefetcher {
    transport: Arc<dyn AnyTransport>,
    sessions: Arc<[Session]>,
    most: LookAheadSpec,
    queue: Mutex<Queue>,
    made: Notify,
}

/// Requests that are ready, in the order of the sessions.
struct Queue {
    calls: VecDeque<PreparedResult>,
    bytes: usize,
    /// Indices of the sessions whose first requests are not yet begun.
    to_begin: StepBy<Range<usize>>,
    /// Whether a thread is preparing requests.
    busy: bool,
    /// Whether the consumer is gone.
    closed: bool,
}

impl LookAhead {
    /// Prepares the first requests of the sessions with the indices of `share` below `total`; if
    /// there are fewer sessions, they repeat. `most` limits all shards together.
    pub(crate) fn new(
        transport: Arc<dyn AnyTransport>,
        sessions: Arc<[Session]>,
        total: usize,
        share: Share,
        most: LookAheadSpec,
    ) -> Self {
        let most =
            LookAheadSpec { calls: share.of_bound(most.calls), bytes: share.of_bound(most.bytes) };
        let to_begin = share.indices(total);
        let (calls, bytes) = (VecDeque::new(), 0);
        let queue = Mutex::new(Queue { calls, bytes, to_begin, busy: false, closed: false });
        Self {
            prefetcher: Arc::new(Prefetcher {
                transport,
                sessions,
                most,
                queue,
                made: Notify::new(),
            }),
        }
    }

    /// Waits until the queue is full.
    pub(crate) async fn full(&self) {
        loop {
            let making = self.refill(&mut self.prefetcher.queue());
            if !making {
                return;
            }
            self.prefetcher.made.notified().await;
        }
    }

    /// Returns the next first request in the order of the sessions; `None` after the last. Waits if
    /// it is not ready yet.
    pub(crate) async fn next(&self) -> Option<PreparedResult> {
        loop {
            let (call, making) = {
                let mut queue = self.prefetcher.queue();
                (queue.take(), self.refill(&mut queue))
            };
            if call.is_some() || !making {
                return call;
            }
            self.prefetcher.made.notified().await;
        }
    }

    /// Starts preparing if the queue is less than half full. Returns whether requests are being
    /// prepared.
    fn refill(&self, queue: &mut Queue) -> bool {
        if !queue.busy && self.prefetcher.has_room(queue, 2) {
            queue.busy = true;
            let prefetcher = Arc::clone(&self.prefetcher);
            spawn_blocking(move || prefetcher.make());
        }
        queue.busy
    }
}

impl Queue {
    fn take(&mut self) -> Option<PreparedResult> {
        let call = self.calls.pop_front()?;
        self.bytes -= bytes(&call);
        Some(call)
    }
}

impl Drop for LookAhead {
    fn drop(&mut self) {
        self.prefetcher.queue().closed = true;
    }
}

impl Prefetcher {
    /// Prepares requests until the queue is full.
    fn make(&self) {
        while let Some(session) = self.begin() {
            self.put(prepared(self.transport.as_ref(), session));
        }
        self.made.notify_one();
    }

    /// Returns the session whose first request is prepared next, if the queue has room for it.
    fn begin(&self) -> Option<&Session> {
        let mut queue = self.queue();
        queue.busy = self.has_room(&queue, 1);
        let index = if queue.busy { queue.to_begin.next() } else { None };
        index.map(|index| &self.sessions[index % self.sessions.len()])
    }

    fn put(&self, call: PreparedResult) {
        let mut queue = self.queue();
        queue.bytes += bytes(&call);
        queue.calls.push_back(call);
        self.made.notify_one();
    }

    /// Returns whether there are requests left to prepare and the queue is empty or holds less than
    /// `1 / part` of its limits.
    fn has_room(&self, queue: &Queue, part: usize) -> bool {
        let most = self.most;
        let has_room = queue.calls.len() < most.calls.get().div_ceil(part)
            && queue.bytes < most.bytes.get().div_ceil(part);
        !queue.closed && queue.to_begin.len() > 0 && (has_room || queue.calls.is_empty())
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes(call: &PreparedResult) -> usize {
    call.as_ref().map_or(0, |call| call.bytes)
}

/// Prepares one first request. A panic of the transport becomes the error of this request alone.
fn prepared(transport: &dyn AnyTransport, session: &Session) -> PreparedResult {
    let prepare =
        || Conversation::opening(session).and_then(|sample| transport.prepare_call(&sample));
    catch_unwind(AssertUnwindSafe(prepare)).unwrap_or_else(|_| Err(panicked()))
}

/// Prepares a request that could not be known ahead of time, on another thread.
pub(crate) async fn prepare(transport: &Arc<dyn AnyTransport>, sample: Sample) -> PreparedResult {
    let transport = Arc::clone(transport);
    let prepared = spawn_blocking(move || transport.prepare_call(&sample)).await;
    prepared.unwrap_or_else(|_| Err(panicked()))
}

fn panicked() -> RequestError {
    RequestError::new(ErrorKind::Encode, "preparing the request panicked")
}
