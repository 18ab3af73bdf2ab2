//! The thread that reads all sources: it asks them at common instants and receives their answers.
//!
//! Everything between two instants happens in one loop without a runtime, which at ten readings a
//! second would cost as much as the readings: each of its parts has to be fetched into the
//! processor's caches again.

use std::io;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use mio::{Events, Poll};
use servemark_core::{Clock, Stamp};
use tokio::sync::watch;

use crate::message::Message;
use crate::opener::Opener;
use crate::sampler::ReadingOccasion;
use crate::source_reader::{Report, SourceReader};

/// All sources, and the orders that they have to follow.
pub(crate) struct Sampling {
    poll: Poll,
    messages: Receiver<Message>,
    opener: Opener,
    report: Report,
    sources: Vec<SampledSource>,
    /// Number of orders to read all sources.
    orders: u64,
    is_stopping: bool,
    /// Number of readings that were ordered and are done.
    done: watch::Sender<u64>,
}

/// A source, and how far it has followed the orders.
struct SampledSource {
    source: SourceReader,
    was_asked: bool,
    /// Number of orders before its last reading.
    asked_for: u64,
    /// Number of orders that its readings have carried out.
    done: u64,
    /// Whether its last reading of all has begun.
    is_last: bool,
    has_ended: bool,
}

impl Sampling {
    pub(crate) fn new(
        poll: Poll,
        messages: Receiver<Message>,
        opener: Opener,
        report: Report,
        sources: Vec<SourceReader>,
        done: watch::Sender<u64>,
    ) -> Self {
        let sources = sources.into_iter().map(SampledSource::new).collect();
        Self { poll, messages, opener, report, sources, orders: 0, is_stopping: false, done }
    }

    /// Reads the sources until it is told to stop.
    pub(crate) fn run(mut self, interval: Duration) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let started = self.report.clock.now();
        let mut next = started;
        loop {
            let now = self.report.clock.now();
            if now >= next {
                next = instant_after(now, started, interval);
                self.ask_all();
            }
            self.follow_orders();
            if self.is_stopping && self.sources.iter().all(|it| it.has_ended) {
                return Ok(());
            }
            if self.report.due().is_some_and(|due| now >= due) {
                self.report.pass_on();
            }
            self.wait(&mut events, next)?;
            for event in &events {
                // Messages have a token without a source.
                if let Some(it) = self.sources.get_mut(event.token().0) {
                    it.source.receive(&self.opener, &mut self.report);
                }
            }
            self.take_messages();
            self.give_up();
        }
    }

    /// Waits for an answer or a message, but at most until `next`, until a reading is given up or until
    /// lines are due.
    fn wait(&mut self, events: &mut Events, next: Stamp) -> io::Result<()> {
        let limits = self.sources.iter().filter_map(|it| it.source.limit());
        let due = limits.chain(self.report.due()).fold(next, Stamp::min);
        let left = due.since(self.report.clock.now()).min(LONGEST_WAIT);
        match self.poll.poll(events, Some(left)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            waited => waited,
        }
    }

    /// Asks the sources that are not being read.
    fn ask_all(&mut self) {
        for it in self.sources.iter_mut().filter(|it| !it.has_ended && it.source.is_idle()) {
            let occasion =
                if it.was_asked { ReadingOccasion::Periodic } else { ReadingOccasion::Ordered };
            it.ask(occasion, self.orders, &self.opener, &mut self.report);
        }
    }

    fn take_messages(&mut self) {
        for message in self.messages.try_iter() {
            match message {
                Message::Ask => self.orders += 1,
                Message::Stop => self.is_stopping = true,
                Message::Read { source, reader, answer } => {
                    let source = &mut self.sources[source].source;
                    source.take_back(
                        reader,
                        answer,
                        self.poll.registry(),
                        &self.opener,
                        &mut self.report,
                    );
                }
            }
        }
    }

    fn give_up(&mut self) {
        let now = self.report.clock.now();
        for it in &mut self.sources {
            if it.source.limit().is_some_and(|limit| now >= limit) {
                it.source.give_up(&self.opener, &mut self.report);
            }
        }
    }

    fn follow_orders(&mut self) {
        let before: u64 = self.sources.iter().map(|it| it.done).sum();
        for it in &mut self.sources {
            it.follow(self.orders, self.is_stopping, &self.opener, &mut self.report);
        }
        let after: u64 = self.sources.iter().map(|it| it.done).sum();
        if after > before {
            self.report.pass_on();
            self.done.send_replace(after);
        }
    }
}

impl SampledSource {
    fn new(source: SourceReader) -> Self {
        Self { source, was_asked: false, asked_for: 0, done: 0, is_last: false, has_ended: false }
    }

    fn ask(
        &mut self,
        occasion: ReadingOccasion,
        orders: u64,
        opener: &Opener,
        report: &mut Report,
    ) {
        self.was_asked = true;
        self.asked_for = orders;
        self.source.ask(occasion, opener, report);
    }

    /// Carries out the orders: each of them is a reading that begins after it. The last reading of
    /// a source that fails is neither begun nor waited for.
    fn follow(&mut self, orders: u64, is_stopping: bool, opener: &Opener, report: &mut Report) {
        loop {
            let is_idle = self.source.is_idle();
            if is_idle {
                self.done = self.asked_for;
            }
            let (is_failing, is_over) = (self.source.is_failing(), self.is_last && is_idle);
            self.has_ended |= is_stopping && (is_failing || is_over);
            if self.has_ended || !is_idle || (self.done == orders && !is_stopping) {
                return;
            }
            self.is_last = is_stopping;
            self.ask(ReadingOccasion::Ordered, orders, opener, report);
        }
    }
}

/// Returns the first instant after `now`; instants that have passed are missed.
fn instant_after(now: Stamp, started: Stamp, interval: Duration) -> Stamp {
    let passed = now.since(started).as_nanos() / interval.as_nanos();
    let number = u32::try_from(passed + 1).unwrap_or(u32::MAX);
    started + interval.saturating_mul(number)
}

/// Longest time that systems can wait at once is some days; waking up in vain costs nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Number of events that are taken at a time.
const EVENTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_that_have_passed_are_missed() {
        let (started, interval) = (Stamp::from_nanos(7), Duration::from_nanos(100));
        let after = |now: u64| instant_after(Stamp::from_nanos(now), started, interval);
        assert_eq!(after(7), Stamp::from_nanos(107));
        assert_eq!(after(106), Stamp::from_nanos(107));
        assert_eq!(after(107), Stamp::from_nanos(207));
        assert_eq!(after(350), Stamp::from_nanos(407));
    }
}
