//! Prepares requests before they are due, on a thread that has nothing else to do.

use std::collections::VecDeque;
use std::iter::StepBy;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servemark_core::{ErrorKind, RequestError, Sample, Session, Transport};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::conversation::Conversation;
use crate::{LookAheadSpec, Share};

/// What became of a sample that was prepared.
pub(crate) type Prepared<T> = Result<<T as Transport>::Prepared, RequestError>;

/// Keeps the openings of the next sessions prepared, so that nothing but I/O is left to do when
/// one is due. How many there are, and how large, is bounded.
///
/// They are prepared on another thread, in batches: a new batch begins when half of the last is
/// used up. A picture that takes long to render makes its own request late and no other's stream.
pub(crate) struct LookAhead<T: Transport> {
    shop: Arc<Shop<T>>,
}

/// Where calls are made and kept.
struct Shop<T: Transport> {
    transport: Arc<T>,
    sessions: Arc<[Session]>,
    most: LookAheadSpec,
    shelf: Mutex<Shelf<Prepared<T>>>,
    made: Notify,
}

/// What is ready, in the order of the sessions.
struct Shelf<C> {
    calls: VecDeque<(C, usize)>,
    bytes: usize,
    /// The sessions whose openings are not begun.
    to_begin: StepBy<Range<usize>>,
    /// Whether somebody makes calls.
    busy: bool,
    /// Whether nobody will take any more.
    closed: bool,
}

impl<T: Transport> LookAhead<T> {
    /// For a part of `total` openings, which are those of the sessions, again and again if there are
    /// more. What `most` allows is allowed to all parts together.
    pub(crate) fn new(
        transport: Arc<T>,
        sessions: Arc<[Session]>,
        total: usize,
        share: Share,
        most: LookAheadSpec,
    ) -> Self {
        let most =
            LookAheadSpec { calls: share.of_bound(most.calls), bytes: share.of_bound(most.bytes) };
        let to_begin = share.indices(total);
        let (calls, bytes) = (VecDeque::new(), 0);
        let shelf = Mutex::new(Shelf { calls, bytes, to_begin, busy: false, closed: false });
        Self { shop: Arc::new(Shop { transport, sessions, most, shelf, made: Notify::new() }) }
    }

    /// Waits until as much is ready as may be.
    pub(crate) async fn full(&self) {
        loop {
            let making = self.restock(&mut self.shop.shelf());
            if !making {
                return;
            }
            self.shop.made.notified().await;
        }
    }

    /// The next opening in the order of the sessions; none behind the last. Waits for one that is
    /// not ready yet.
    pub(crate) async fn next(&self) -> Option<Prepared<T>> {
        loop {
            let (call, making) = {
                let mut shelf = self.shop.shelf();
                (shelf.take(), self.restock(&mut shelf))
            };
            if call.is_some() || !making {
                return call;
            }
            self.shop.made.notified().await;
        }
    }

    /// Has calls made if half of the shelf is empty. Says whether any are being made.
    fn restock(&self, shelf: &mut Shelf<Prepared<T>>) -> bool {
        if !shelf.busy && self.shop.wants(shelf, 2) {
            shelf.busy = true;
            let shop = Arc::clone(&self.shop);
            spawn_blocking(move || shop.make());
        }
        shelf.busy
    }
}

impl<C> Shelf<C> {
    fn take(&mut self) -> Option<C> {
        let (call, bytes) = self.calls.pop_front()?;
        self.bytes -= bytes;
        Some(call)
    }
}

impl<T: Transport> Drop for LookAhead<T> {
    fn drop(&mut self) {
        self.shop.shelf().closed = true;
    }
}

impl<T: Transport> Shop<T> {
    /// Makes calls until the shelf is full.
    fn make(&self) {
        while let Some(session) = self.begin() {
            self.put(prepared(self.transport.as_ref(), session));
        }
        self.made.notify_one();
    }

    /// The session whose opening is made next, if there is room for it.
    fn begin(&self) -> Option<&Session> {
        let mut shelf = self.shelf();
        shelf.busy = self.wants(&shelf, 1);
        let index = if shelf.busy { shelf.to_begin.next() } else { None };
        index.map(|index| &self.sessions[index % self.sessions.len()])
    }

    fn put(&self, call: Prepared<T>) {
        let bytes = call.as_ref().map_or(0, T::bytes);
        let mut shelf = self.shelf();
        shelf.bytes += bytes;
        shelf.calls.push_back((call, bytes));
        self.made.notify_one();
    }

    /// Whether there is more to make and less on the shelf than a part of what it holds.
    fn wants(&self, shelf: &Shelf<Prepared<T>>, part: usize) -> bool {
        let most = self.most;
        let has_room = shelf.calls.len() < most.calls.get().div_ceil(part)
            && shelf.bytes < most.bytes.get().div_ceil(part);
        !shelf.closed && shelf.to_begin.len() > 0 && (has_room || shelf.calls.is_empty())
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf<Prepared<T>>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One opening. A transport that panics over one spoils no other.
fn prepared<T: Transport>(transport: &T, session: &Session) -> Prepared<T> {
    let prepare = || Conversation::opening(session).and_then(|sample| transport.prepare(&sample));
    catch_unwind(AssertUnwindSafe(prepare)).unwrap_or_else(|_| Err(panicked()))
}

/// Prepares a request that nobody could know ahead of time, on another thread as well.
pub(crate) async fn prepare<T: Transport>(transport: &Arc<T>, sample: Sample) -> Prepared<T> {
    let transport = Arc::clone(transport);
    let prepared = spawn_blocking(move || transport.prepare(&sample)).await;
    prepared.unwrap_or_else(|_| Err(panicked()))
}

fn panicked() -> RequestError {
    RequestError::new(ErrorKind::Encode, "its preparation panicked")
}
