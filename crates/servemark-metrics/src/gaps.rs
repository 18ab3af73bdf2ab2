//! Times between the tokens of an answer.
//!
//! A run has about as many gaps as tokens, so they are never stored: they are computed from the
//! record each time.

use std::slice;

use serde::{Serialize, Serializer};
use servemark_core::Stamp;

use crate::events::Events;
use crate::policy::ItlRule;
use crate::seconds::seconds_between;

/// Inter-token latencies of one request, in seconds and in order.
#[derive(Clone, Debug)]
pub struct Gaps<'a>(GapSource<'a>);

#[derive(Clone, Debug)]
enum GapSource<'a> {
    Record(Events<'a>, ItlRule),
    Given(Vec<f64>),
}

impl<'a> Gaps<'a> {
    pub(crate) fn between(events: Events<'a>, rule: ItlRule) -> Self {
        Self(GapSource::Record(events, rule))
    }

    /// Returns the time from the first piece of output to the second, in seconds; absent if there
    /// are fewer.
    pub(crate) fn to_second_piece(&self) -> Option<f64> {
        match &self.0 {
            GapSource::Record(events, _) => {
                let mut events = events.clone();
                Some(seconds_between(events.next()?.at, events.next()?.at))
            }
            GapSource::Given(gaps) => gaps.first().copied(),
        }
    }

    /// Returns an iterator over the latencies, in order.
    pub fn iter(&self) -> GapsIter<'_> {
        GapsIter(match &self.0 {
            GapSource::Record(events, rule) => {
                IterSource::Computed(Split::new(events.clone(), *rule))
            }
            GapSource::Given(gaps) => IterSource::Stored(gaps.iter()),
        })
    }
}

/// Wraps latencies that were measured elsewhere, in seconds.
impl From<Vec<f64>> for Gaps<'_> {
    fn from(gaps: Vec<f64>) -> Self {
        Self(GapSource::Given(gaps))
    }
}

impl<'s> IntoIterator for &'s Gaps<'_> {
    type Item = f64;
    type IntoIter = GapsIter<'s>;

    fn into_iter(self) -> GapsIter<'s> {
        self.iter()
    }
}

/// Serialises the gaps as a list of seconds.
impl Serialize for Gaps<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self)
    }
}

impl PartialEq for Gaps<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other)
    }
}

/// Iterator over the inter-token latencies of [`Gaps`], in seconds.
#[derive(Clone, Debug)]
pub struct GapsIter<'a>(IterSource<'a>);

#[derive(Clone, Debug)]
enum IterSource<'a> {
    Computed(Split<'a>),
    Stored(slice::Iter<'a, f64>),
}

impl Iterator for GapsIter<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        match &mut self.0 {
            IterSource::Computed(split) => split.next(),
            IterSource::Stored(given) => given.next().copied(),
        }
    }
}

/// Iterator over the gaps between events, each split evenly among the tokens of the event that ends
/// it.
#[derive(Clone, Debug)]
struct Split<'a> {
    events: Events<'a>,
    rule: ItlRule,
    since: Option<Stamp>,
    part: f64,
    parts_left: usize,
}

impl<'a> Split<'a> {
    fn new(mut events: Events<'a>, rule: ItlRule) -> Self {
        let first = events.next();
        let surplus = first.filter(|_| rule == ItlRule::PerToken);
        let parts_left = surplus.map_or(0, |first| first.tokens(rule).saturating_sub(1));
        Self { events, rule, since: first.map(|first| first.at), part: 0.0, parts_left }
    }

    /// Advances to the next event that has at least one token.
    fn advance(&mut self) -> Option<()> {
        while self.parts_left == 0 {
            let (event, since) = (self.events.next()?, self.since?);
            self.parts_left = event.tokens(self.rule);
            if self.parts_left > 0 || self.rule == ItlRule::SplitByPieces {
                self.since = Some(event.at);
            }
            let gap = seconds_between(since, event.at);
            self.part = if self.parts_left == 1 { gap } else { gap / self.parts_left as f64 };
        }
        Some(())
    }
}

impl Iterator for Split<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.advance()?;
        self.parts_left -= 1;
        Some(self.part)
    }
}
