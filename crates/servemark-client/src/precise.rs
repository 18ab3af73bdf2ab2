//! Writes requests exactly at their due times.
//!
//! A task that a timer wakes writes some tens of microseconds late, and later if it has to wait for
//! another task. With this module a request is handed over ahead of its due time, encoded and with
//! its connection, to a thread that all shards share. The thread sleeps until shortly before the
//! due time, polls the clock for the rest, and makes the system call itself. If one call does not
//! write all of the request, the request's own task writes the rest while it reads the answer.

use std::collections::BTreeMap;
use std::hint;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock, Stamp};
use tokio::sync::oneshot;

use crate::boxed::BoxFuture;
use crate::direct::{Direct, Encoded};
use crate::error::{ClientError, ClientErrorKind};
use crate::stamp_io::Wire;
use crate::target::Target;

/// Hands requests to the thread that writes them. Clones share the thread; it ends with the last.
#[derive(Clone, Debug)]
pub(crate) struct PreciseSender {
    orders: Sender<Order>,
}

/// A request that is to be written at its due time.
#[derive(Debug)]
struct Order {
    due: Stamp,
    socket: TcpStream,
    request: Encoded,
    wire: Arc<Wire>,
    /// Receives the number of bytes that were written.
    done: oneshot::Sender<usize>,
}

impl PreciseSender {
    /// How long before its due time a request is handed over. At half load, a thread that reads
    /// answers wakes up later than this for one request in a hundred. The request's connection and
    /// its slot at the gate are in use for this much longer.
    pub(crate) const HEAD_START: Duration = Duration::from_millis(1);

    /// Starts the thread; an error if precise sending is impossible for the target or on this
    /// machine.
    pub(crate) fn start(target: &Target, clock: MonotonicClock) -> Result<Self, ClientError> {
        let refused = |message: String| ClientError::new(ClientErrorKind::Configuration, message);
        target.check_precise().map_err(|reason| refused(reason.to_string()))?;
        if thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
            return Err(refused(ONE_CORE.to_owned()));
        }
        let (orders, taken) = channel();
        let watch = ClockWatch::new(clock, taken);
        let started = thread::Builder::new().name("precise-send".to_owned()).spawn(|| watch.keep());
        started.map_err(|error| refused(NO_THREAD.to_owned()).caused_by(error))?;
        Ok(Self { orders })
    }

    /// Waits until the request was due and was written. Returns the number of bytes that one call
    /// wrote; 0 if the call failed, in which case the request's own task gets the error from its
    /// own write.
    ///
    /// If the caller drops the future, the request is not written.
    pub(crate) fn write<'a>(
        &'a self,
        due: Stamp,
        direct: &'a Direct,
        request: &'a Encoded,
        wire: &'a Arc<Wire>,
    ) -> BoxFuture<'a, io::Result<usize>> {
        Box::pin(async move {
            let (done, written) = oneshot::channel();
            let (socket, request, wire) = (direct.socket()?, request.clone(), Arc::clone(wire));
            // If the thread is gone, the order is dropped and the receiver gets an error.
            let _ = self.orders.send(Order { due, socket, request, wire, done });
            written.await.map_err(|_| io::Error::other("the thread of precise sending has ended"))
        })
    }
}

impl Order {
    fn write(mut self, clock: MonotonicClock) {
        if self.done.is_closed() {
            return;
        }
        let at = clock.now();
        let written = self.socket.write_vectored(&self.request.rest(0)).unwrap_or(0);
        if written > 0 {
            self.wire.written_at(at);
        }
        // The receiver is gone if the request was dropped meanwhile; the wire has the send time.
        let _ = self.done.send(written);
    }
}

/// The state of the writing thread.
#[derive(Debug)]
struct ClockWatch {
    clock: MonotonicClock,
    orders: Receiver<Order>,
    /// Requests by due time, then in the order in which they came.
    waiting: BTreeMap<(Stamp, u64), Order>,
    taken: u64,
}

impl ClockWatch {
    fn new(clock: MonotonicClock, orders: Receiver<Order>) -> Self {
        Self { clock, orders, waiting: BTreeMap::new(), taken: 0 }
    }

    /// Writes requests at their due times until all senders are dropped.
    fn keep(mut self) {
        sleep_exactly();
        loop {
            match self.take() {
                Ok(order) => self.wait_with(order),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
            self.write_due();
        }
    }

    /// Returns the next order. Sleeps while nothing is due soon, and polls otherwise.
    fn take(&self) -> Result<Order, TryRecvError> {
        let Some(left) = self.until_next() else { return Ok(self.orders.recv()?) };
        let asleep = left.saturating_sub(WATCHED);
        if asleep.is_zero() {
            hint::spin_loop();
            return self.orders.try_recv();
        }
        self.orders.recv_timeout(asleep).map_err(|error| match error {
            RecvTimeoutError::Timeout => TryRecvError::Empty,
            RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
        })
    }

    /// Returns the time until the next order is due.
    fn until_next(&self) -> Option<Duration> {
        let (&(due, _), _) = self.waiting.first_key_value()?;
        Some(due.since(self.clock.now()))
    }

    fn wait_with(&mut self, order: Order) {
        self.waiting.insert((order.due, self.taken), order);
        self.taken += 1;
    }

    fn write_due(&mut self) {
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 <= self.clock.now()
        {
            first.remove().write(self.clock);
        }
    }
}

/// Minimises the thread's timer slack. With the default slack the kernel wakes a thread up to 50 us
/// late, to wake several threads at once.
#[cfg(target_os = "linux")]
fn sleep_exactly() {
    let slack = std::num::NonZeroU64::MIN;
    if let Err(error) = rustix::thread::set_current_timer_slack(Some(slack)) {
        tracing::debug!(%error, "the kernel keeps its timer slack");
    }
}

#[cfg(not(target_os = "linux"))]
fn sleep_exactly() {}

/// The time before a due time for which the clock is polled. A sleep ends 30 to 50 us late, seldom
/// more than this.
const WATCHED: Duration = Duration::from_micros(80);

const ONE_CORE: &str = "precise sending needs a core for the thread that watches the clock, and this \
                        process may use only one; leave it out or allow a second";

const NO_THREAD: &str = "the system refused the thread that precise sending needs";

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::stamp_io::StampIo;

    fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").unwrap()
    }

    async fn order(listener: &TcpListener, due: Stamp) -> (Order, oneshot::Receiver<usize>) {
        let stream = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let io = StampIo::new(stream, MonotonicClock::start());
        let request = Encoded::new(http::Request::new(bytes::Bytes::new()));
        let (done, written) = oneshot::channel();
        (Order { due, socket: io.socket().unwrap(), request, wire: io.wire(), done }, written)
    }

    #[tokio::test]
    async fn the_thread_ends_with_those_who_hand_over_and_writes_nothing_more() {
        let (orders, taken) = channel();
        let due = Stamp::ZERO + Duration::from_secs(3600);
        let (order, mut written) = order(&listener(), due).await;
        let wire = Arc::clone(&order.wire);
        orders.send(order).unwrap();
        drop(orders);
        ClockWatch::new(MonotonicClock::start(), taken).keep();
        assert_eq!(written.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(wire.first_write(), None);
    }

    #[tokio::test]
    async fn the_first_that_is_due_is_written_first_and_the_past_at_once() {
        let (clock, listener) = (MonotonicClock::start(), listener());
        let (mut watch, mut wires) = (ClockWatch::new(clock, channel().1), Vec::new());
        for due in [clock.now(), Stamp::ZERO, Stamp::ZERO] {
            let (order, written) = order(&listener, due).await;
            wires.push((Arc::clone(&order.wire), written));
            watch.wait_with(order);
        }
        watch.write_due();
        let written = wires.iter().map(|(wire, _)| wire.first_write().unwrap());
        let written: Vec<_> = written.collect();
        assert!(written[1] < written[2] && written[2] < written[0], "{written:?}");
    }
}
