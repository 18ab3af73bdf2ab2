//! The time-outs of one request, on one timer.
//!
//! A stream's idle deadline moves on with every read. Resetting a timer each time would cost more
//! than reading the frame, so the timer stays where it is, and only when it fires is the current
//! deadline computed. Even polling the timer fetches memory that nothing else uses, so it is not
//! polled while it cannot have fired.

use std::fmt;
use std::future::{self, Future};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock, Stamp};
use servemark_target::Timeouts;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::{ClientError, ClientErrorKind};

/// Watches one request through its stages.
#[derive(Debug)]
pub(crate) struct Watch {
    clock: MonotonicClock,
    timeouts: Timeouts,
    started: Stamp,
    /// Created on the first wait.
    timer: Option<Timer>,
}

/// The stages that have a time-out of their own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TimeoutStage {
    Connect,
    FirstByte,
    Idle,
}

impl Watch {
    pub(crate) fn start(clock: MonotonicClock, timeouts: Timeouts) -> Self {
        Self { clock, timeouts, started: clock.now(), timer: None }
    }

    /// Waits for `work`, but at most until the time-out of the stage that began at `since`. The
    /// caller pins `work`, because moving it in here would copy it.
    pub(crate) async fn guard<W: Future + Unpin>(
        &mut self,
        stage: TimeoutStage,
        since: Stamp,
        mut work: W,
    ) -> Result<W::Output, ClientError> {
        future::poll_fn(|cx| match Pin::new(&mut work).poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => self.poll_late(stage, since, cx).map(Err),
        })
        .await
    }

    fn limit(&self, stage: TimeoutStage, since: Stamp) -> Limit {
        let (name, length) = match stage {
            TimeoutStage::Connect => ("connect", self.timeouts.connect),
            TimeoutStage::FirstByte => ("first-byte", self.timeouts.first_byte),
            TimeoutStage::Idle => ("idle", self.timeouts.idle),
        };
        let own = Limit { name, length, due: since + length };
        let length = self.timeouts.total;
        let total = Limit { name: "total", length, due: self.started + length };
        if total.due < own.due { total } else { own }
    }

    /// Waits for the time-out of the stage that began at `since`. Every poll that returns pending
    /// ends with a call of this.
    pub(crate) fn poll_late(
        &mut self,
        stage: TimeoutStage,
        since: Stamp,
        cx: &mut Context<'_>,
    ) -> Poll<ClientError> {
        if let Some(timer) = &mut self.timer
            && timer.is_known_to_run(stage, since, cx.waker())
        {
            return Poll::Pending;
        }
        let (limit, clock) = (self.limit(stage, since), self.clock);
        let timer = self.timer.get_or_insert_with(|| Timer::at(limit.due, clock));
        if timer.at > limit.due {
            timer.put_to(limit.due, clock);
        }
        while timer.poll(cx).is_ready() {
            if timer.at >= limit.due {
                return Poll::Ready(ClientError::new(ClientErrorKind::Timeout, limit.to_string()));
            }
            timer.put_to(limit.due, clock);
        }
        Poll::Pending
    }
}

/// A timer, and what is known of it without polling it.
#[derive(Debug)]
struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// When the timer fires.
    at: Stamp,
    /// The waker that the timer wakes.
    wakes: Option<Waker>,
    /// The stage and its start at the previous check.
    looked: Option<(TimeoutStage, Stamp)>,
}

impl Timer {
    fn at(at: Stamp, clock: MonotonicClock) -> Self {
        let sleep = Box::pin(sleep_until(instant(clock, at)));
        Self { sleep, at, wakes: None, looked: None }
    }

    fn put_to(&mut self, at: Stamp, clock: MonotonicClock) {
        self.sleep.as_mut().reset(instant(clock, at));
        self.at = at;
    }

    /// Returns whether the timer is known not to have fired, to wake the task of `waker`, and to
    /// fire no later than the stage's deadline. If the stage began later than at the previous
    /// check, its deadline is later too; `since` then lies within the current poll, so a timer set
    /// to a later time has not fired.
    fn is_known_to_run(&mut self, stage: TimeoutStage, since: Stamp, waker: &Waker) -> bool {
        let last = self.looked.replace((stage, since));
        let moved_on = last.is_some_and(|last| last.0 == stage && last.1 < since);
        let wakes = self.wakes.as_ref().is_some_and(|wakes| wakes.will_wake(waker));
        moved_on && since < self.at && wakes
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.wakes = Some(cx.waker().clone());
        self.sleep.as_mut().poll(cx)
    }
}

#[derive(Clone, Copy, Debug)]
struct Limit {
    name: &'static str,
    length: Duration,
    due: Stamp,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} time-out of {:?} passed", self.name, self.length)
    }
}

fn instant(clock: MonotonicClock, stamp: Stamp) -> Instant {
    Instant::from_std(clock.instant(stamp))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    #[track_caller]
    fn limits(timeouts: Timeouts, stage: TimeoutStage, since: Stamp) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut watch = Watch::start(MonotonicClock::start(), timeouts);
            let never = future::pending::<()>();
            watch.guard(stage, since, never).await.unwrap_err().to_string()
        })
    }

    #[test]
    fn each_stage_has_its_own_limit() {
        let of = |change: fn(&mut Timeouts)| {
            let mut timeouts = Timeouts::default();
            change(&mut timeouts);
            timeouts
        };
        let connect = of(|timeouts| timeouts.connect = SHORT);
        let message = limits(connect, TimeoutStage::Connect, Stamp::ZERO);
        assert_eq!(message, "the connect time-out of 5ms passed");
        let first_byte = of(|timeouts| timeouts.first_byte = SHORT);
        let message = limits(first_byte, TimeoutStage::FirstByte, Stamp::ZERO);
        assert_eq!(message, "the first-byte time-out of 5ms passed");
        let idle = of(|timeouts| timeouts.idle = SHORT);
        let message = limits(idle, TimeoutStage::Idle, Stamp::ZERO + SHORT);
        assert_eq!(message, "the idle time-out of 5ms passed");
        let total = of(|timeouts| timeouts.total = SHORT);
        let message = limits(total, TimeoutStage::Idle, Stamp::ZERO);
        assert_eq!(message, "the total time-out of 5ms passed");
    }

    #[tokio::test]
    async fn a_timer_that_fires_for_an_older_limit_is_put_off() {
        let mut timeouts = Timeouts::all(Duration::from_secs(3600));
        timeouts.connect = Duration::ZERO;
        let mut watch = Watch::start(MonotonicClock::start(), timeouts);
        let work = pin!(tokio::task::yield_now());
        assert!(watch.guard(TimeoutStage::FirstByte, Stamp::ZERO, work).await.is_ok());
    }

    /// Each read moves the deadline without a look at the timer.
    #[tokio::test]
    async fn a_stream_that_falls_silent_is_late() {
        let (clock, mut timeouts) = (MonotonicClock::start(), Timeouts::default());
        timeouts.idle = SHORT;
        let mut watch = Watch::start(clock, timeouts);
        let (mut since, mut reads) = (clock.now(), 0..3);
        let late = future::poll_fn(|cx| {
            if reads.next().is_some() {
                since = clock.now();
                cx.waker().wake_by_ref();
            }
            watch.poll_late(TimeoutStage::Idle, since, cx)
        });
        assert_eq!(late.await.to_string(), "the idle time-out of 5ms passed");
    }

    #[tokio::test]
    async fn work_that_is_done_is_never_late() {
        let mut watch = Watch::start(MonotonicClock::start(), Timeouts::all(Duration::ZERO));
        assert_eq!(
            watch.guard(TimeoutStage::Idle, Stamp::ZERO, future::ready(7)).await.unwrap(),
            7
        );
    }
}
