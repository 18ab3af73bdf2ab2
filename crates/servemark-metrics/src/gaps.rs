//! The times between the tokens of an answer.
//!
//! A run has as many of them as it has tokens, so they are never kept: they are worked out from the
//! record each time they are asked for.

use std::slice;

use serde::{Serialize, Serializer};
use servemark_core::Stamp;

use crate::events::Events;
use crate::policy::ItlRule;
use crate::score::seconds_between;

/// The inter-token latencies of one request, in seconds and in order.
#[derive(Clone, Debug)]
pub struct Gaps<'a>(Source<'a>);

#[derive(Clone, Debug)]
enum Source<'a> {
    Record(Events<'a>, ItlRule),
    Given(Vec<f64>),
}

impl<'a> Gaps<'a> {
    pub(crate) fn between(events: Events<'a>, rule: ItlRule) -> Self {
        Self(Source::Record(events, rule))
    }

    /// The latencies in order.
    pub fn iter(&self) -> GapsIter<'_> {
        GapsIter(match &self.0 {
            Source::Record(events, rule) => Walk::Along(Split::new(events.clone(), *rule)),
            Source::Given(gaps) => Walk::Over(gaps.iter()),
        })
    }
}

/// Latencies that somebody else measured.
impl From<Vec<f64>> for Gaps<'_> {
    fn from(gaps: Vec<f64>) -> Self {
        Self(Source::Given(gaps))
    }
}

impl<'s> IntoIterator for &'s Gaps<'_> {
    type Item = f64;
    type IntoIter = GapsIter<'s>;

    fn into_iter(self) -> GapsIter<'s> {
        self.iter()
    }
}

/// A list of seconds.
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

/// The inter-token latencies of [`Gaps`], one by one.
#[derive(Clone, Debug)]
pub struct GapsIter<'a>(Walk<'a>);

#[derive(Clone, Debug)]
enum Walk<'a> {
    Along(Split<'a>),
    Over(slice::Iter<'a, f64>),
}

impl Iterator for GapsIter<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        match &mut self.0 {
            Walk::Along(split) => split.next(),
            Walk::Over(given) => given.next().copied(),
        }
    }
}

/// The gaps between events, each split among the tokens that came after it.
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

    /// Goes on to the next piece that has any part in its gap.
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
