//! The pages of a run that goes on: made when a browser asks, and kept until the next may be made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servemark::core::{Clock, IfDamaged, MonotonicClock, RunLogError, RunLogReader, Stamp};
use servemark::page::{Served, write_notice};
use servemark::{Scores, scoring_of};

use super::request::PageRequest;
use crate::screen::lock;

/// The pages of one command.
#[derive(Debug)]
pub(super) struct Pages {
    state: Mutex<State>,
    changed: Condvar,
    clock: MonotonicClock,
    /// Least time between two pages.
    pause: Duration,
}

/// What a page is made of.
#[derive(Clone, Debug, Default)]
pub(super) enum PageSource {
    /// Nothing has been recorded.
    #[default]
    Nothing,
    /// The run log at this path, which grows.
    RunLog(PathBuf),
}

/// Path of the run log and its size in bytes when a page is made of it; none without a run log.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Extent(Option<(PathBuf, u64)>);

impl Extent {
    fn of(source: &PageSource) -> Self {
        let PageSource::RunLog(path) = source else { return Self(None) };
        let bytes = fs::metadata(path).map_or(0, |facts| facts.len());
        Self(Some((path.clone(), bytes)))
    }
}

#[derive(Debug, Default)]
struct State {
    source: PageSource,
    page: Option<Arc<Page>>,
    /// Number of the latest page, or of the one that is being made.
    version: u64,
    /// What the latest page was made of.
    made_of: Option<Extent>,
    /// Time from which the next page may be made.
    due: Stamp,
    is_being_made: bool,
    is_closed: bool,
    /// Number of browsers that wait for a page or receive one.
    waiting: usize,
    /// Time at which a browser last received a page that was not the last, or was found gone: it may
    /// have another question.
    answered: Option<Stamp>,
    /// Time from which there is the last page.
    over_since: Option<Stamp>,
}

#[derive(Debug)]
struct Page {
    served: Served,
    bytes: Vec<u8>,
}

impl State {
    /// Returns the page that answers a request, if it has been made.
    fn ready(&self, asked: PageRequest, now: Stamp) -> Option<Arc<Page>> {
        let is_wanted = |page: &&Arc<Page>| match asked {
            _ if page.served.is_over => true,
            PageRequest::Last => false,
            // A new browser gets no outdated page.
            PageRequest::After(0) => now < self.due,
            PageRequest::After(version) => page.served.version > version,
        };
        self.page.as_ref().filter(is_wanted).cloned()
    }

    fn is_over(&self) -> bool {
        self.page.as_ref().is_some_and(|page| page.served.is_over)
    }

    /// Returns whether a browser waits for a page, or received one just now that was not the last.
    fn is_watched(&self, now: Stamp) -> bool {
        let just_now = |at: Stamp| now.since(at) < BETWEEN_QUESTIONS;
        self.waiting > 0 || self.answered.is_some_and(just_now)
    }

    /// Returns whether a browser may still ask for the last page. One whose question has changed in
    /// this moment is not known to be gone, so the page may have been sent to its old connection.
    fn is_awaited(&self, now: Stamp) -> bool {
        self.is_watched(now) || self.over_since.is_some_and(|at| now.since(at) < CHANGED_QUESTION)
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }
}

impl Default for Pages {
    fn default() -> Self {
        Self::every(PAUSE)
    }
}

impl Pages {
    /// Returns pages with at least this time between two.
    pub(super) fn every(pause: Duration) -> Self {
        let (state, changed) = Default::default();
        Self { state, changed, clock: MonotonicClock::start(), pause }
    }

    /// Sets what the next pages are made of.
    pub(super) fn turn_to(&self, source: PageSource) {
        lock(&self.state).source = source;
    }

    /// Sends the page that a browser asks for with `send`, once it is there, unless the browser is
    /// gone before.
    pub(super) fn answer(
        &self,
        asked: PageRequest,
        is_gone: impl Fn() -> bool,
        send: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let _visit = Visit::enter(self);
        let Some(page) = self.page(asked, is_gone) else {
            lock(&self.state).answered = Some(self.clock.now());
            return Ok(());
        };
        send(&page.bytes)?;
        let mut state = lock(&self.state);
        // A browser that has the last page asks for no other.
        state.answered = (!page.served.is_over).then(|| self.clock.now());
        Ok(())
    }

    /// Waits for a page; `None` if the browser that wants it is gone.
    fn page(&self, asked: PageRequest, is_gone: impl Fn() -> bool) -> Option<Arc<Page>> {
        let mut state = lock(&self.state);
        let mut has_waited = false;
        loop {
            let now = self.clock.now();
            if let Some(page) = state.ready(asked, now) {
                return (!has_waited || !is_gone()).then_some(page);
            }
            let may_be_made = asked != PageRequest::Last && !state.is_being_made;
            if may_be_made && now >= state.due {
                drop(state);
                self.make();
                state = lock(&self.state);
            } else if is_gone() {
                return None;
            } else {
                let left = if may_be_made { state.due.since(now) } else { LOOK };
                state = self.wait(state, left.min(LOOK));
                has_waited = true;
            }
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Makes the next page, unless another thread makes one.
    fn make(&self) {
        let Some(making) = Making::begin(self) else { return };
        let began = self.clock.now();
        let (source, version, extent) = {
            let mut state = lock(&self.state);
            let extent = Extent::of(&state.source);
            if state.made_of.as_ref() == Some(&extent) {
                // The page would be the same.
                state.due = began + self.pause;
                return;
            }
            (state.source.clone(), state.next_version(), extent)
        };
        let page = Page::of(&source, Served { version, is_over: false });
        let now = self.clock.now();
        let mut state = lock(&self.state);
        if !state.is_over() {
            state.page = Some(Arc::new(page));
            state.made_of = Some(extent);
            state.due = now + self.pause.max(now.since(began) * SHARE);
        }
        drop(state);
        drop(making);
    }

    /// Makes the page of the run that is over with `make`, which gets the number of the page, if a
    /// browser follows the run.
    pub(super) fn finish(&self, make: impl FnOnce(u64) -> Vec<u8>) {
        let version = {
            let mut state = lock(&self.state);
            if !state.is_watched(self.clock.now()) {
                return;
            }
            state.next_version()
        };
        self.end_with(Page { served: Served { version, is_over: true }, bytes: make(version) });
    }

    fn end_with(&self, page: Page) {
        let mut state = lock(&self.state);
        state.page = Some(Arc::new(page));
        state.over_since = Some(self.clock.now());
        drop(state);
        self.changed.notify_all();
    }

    /// Ends the pages: browsers that follow the run get the last one, which is made here if the
    /// command failed.
    pub(super) fn close(&self) {
        let state = lock(&self.state);
        let (source, is_over) = (state.source.clone(), state.is_over());
        let is_watched = state.is_watched(self.clock.now());
        drop(state);
        if is_watched && !is_over {
            let version = lock(&self.state).next_version();
            self.end_with(Page::of(&source, Served { version, is_over: true }));
        }
        let mut state = lock(&self.state);
        let until = self.clock.now() + LINGER;
        while state.is_awaited(self.clock.now()) && self.clock.now() < until {
            state = self.wait(state, SHORT);
        }
        state.is_closed = true;
    }

    /// Returns whether no more browsers are answered.
    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }
}

/// A browser that waits for a page or receives one.
struct Visit<'a>(&'a Pages);

impl<'a> Visit<'a> {
    fn enter(pages: &'a Pages) -> Self {
        lock(&pages.state).waiting += 1;
        Self(pages)
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).waiting -= 1;
        self.0.changed.notify_all();
    }
}

/// Right to make a page, which one thread has at a time. Threads that wait for the page are woken
/// when it is dropped, also by a panic.
struct Making<'a>(&'a Pages);

impl<'a> Making<'a> {
    fn begin(pages: &'a Pages) -> Option<Self> {
        let mut state = lock(&pages.state);
        let is_mine = !std::mem::replace(&mut state.is_being_made, true);
        is_mine.then_some(Self(pages))
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).is_being_made = false;
        self.0.changed.notify_all();
    }
}

impl Page {
    fn of(source: &PageSource, served: Served) -> Self {
        let bytes = match source {
            PageSource::Nothing if served.is_over => notice(served, ENDED),
            PageSource::Nothing => notice(served, PREPARING),
            PageSource::RunLog(path) => of_run_log(path, served).unwrap_or_else(|error| {
                notice(served, ["The run log cannot be read", &error.to_string()])
            }),
        };
        Self { served, bytes }
    }
}

/// Makes the page of the requests that are in a run log so far.
fn of_run_log(path: &Path, served: Served) -> Result<Vec<u8>, RunLogError> {
    let reader = RunLogReader::open(path)?.if_damaged(IfDamaged::Skip).without_texts();
    let log = reader.into_log()?;
    let scoring = scoring_of(log.header()).unwrap_or_default();
    let mut page = Vec::new();
    let source = path.display().to_string();
    // Writing to memory does not fail.
    let _ = Scores::of(&log, &scoring).write_served_page(Some(&source), served, &mut page);
    Ok(page)
}

fn notice(served: Served, text: [&str; 2]) -> Vec<u8> {
    let mut page = Vec::new();
    // Writing to memory does not fail.
    let _ = write_notice(served, text, env!("CARGO_PKG_VERSION"), &mut page);
    page
}

const PREPARING: [&str; 2] = [
    "The run is being prepared",
    "No request has ended yet. This page shows the first ones by itself.",
];

const ENDED: [&str; 2] =
    ["The command has ended", "It measured no requests; its messages in the terminal say why."];

/// Least time between two pages.
const PAUSE: Duration = Duration::from_secs(2);

/// Pause after a page, as a multiple of the time that it took to make.
const SHARE: u32 = 10;

/// Time within which a browser that follows the run asks for the next page.
const BETWEEN_QUESTIONS: Duration = Duration::from_secs(2);

/// Time that a browser takes to ask again after its question has changed.
const CHANGED_QUESTION: Duration = Duration::from_millis(500);

/// Longest time for which a command that is over waits for browsers.
const LINGER: Duration = Duration::from_secs(3);

/// Time between two checks of whether the browser that waits for a page is gone.
const LOOK: Duration = Duration::from_secs(1);

const SHORT: Duration = Duration::from_millis(50);
