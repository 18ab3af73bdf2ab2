//! Required precision of figures, and checks of a running measurement until it is reached.
//!
//! A run is checked when it has [`FIRST_LOOK`] requests, then at a fifth more each time, and at its
//! end. Each check ("look") has an equal part of the error probability
//! ([`Looks`](servemark_statistics::Looks)), so stopping at the first sufficient one keeps the
//! confidence valid.
//!
//! Latencies are those of the first sessions, up to the first one that is not over. All answers
//! that have ended would contain too few long ones, because those are still in flight. Rates are
//! over all requests that have ended.

mod change;
mod grammar;
mod watch;

use std::fmt;

use serde::{Deserialize, Serialize};
use servemark_core::{RunFacts, RunLog};
use servemark_statistics::Looks;

pub use self::change::ChangeKnown;
pub use self::watch::PrecisionWatch;
use crate::rate_estimates::RateLimit;
use crate::unmet_waits::unmet_waits;
use crate::{Estimand, Estimated, Latencies, MetricPolicy, RateEstimates, RequestScore};

/// Required precision of a figure. Its text form is `ttft:mean+-2%`, `itl:p99+-5ms` or
/// `output_tokens_per_s+-1%`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Precision {
    /// The figure.
    pub of: Estimand,
    /// Largest distance that the interval may reach on either side.
    pub within: HalfWidth,
}

/// Largest distance that an interval may reach on either side of the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HalfWidth {
    /// A number of milliseconds.
    Milliseconds(f64),
    /// A share of the value.
    Share(f64),
}

impl HalfWidth {
    /// Returns the largest distance for an interval around `value`.
    pub fn at(self, value: f64) -> f64 {
        match self {
            Self::Milliseconds(most) => most,
            Self::Share(share) => share * value.abs(),
        }
    }
}

/// Precision of a figure in a run, compared with what is required.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KnownEnough {
    /// The required precision.
    pub target: Precision,
    /// Whether the figure is known with the required precision.
    pub is_known: bool,
    /// Estimate of the figure at the last look, with the confidence of one look; absent if no
    /// request shows the figure.
    pub estimate: Option<Estimated>,
    /// Confidence of all looks together, from 0 to 1.
    pub confidence: f64,
    /// One-based number of the last look.
    pub look: usize,
    /// Number of looks up to the planned number of requests.
    pub looks: usize,
}

impl KnownEnough {
    /// Evaluates the required precisions on a log with the given confidence, by the look that ended
    /// the run, or else by all its requests.
    pub fn of_log(log: &RunLog, targets: &[Precision], confidence: f64) -> Vec<Self> {
        let policy = MetricPolicy::native();
        let mut scores = RequestScore::of_log(log, &policy);
        let stop = log.footer().and_then(|footer| footer.early_stop);
        if let Some(stop) = stop {
            scores.sort_by(|one, other| one.end_s().total_cmp(&other.end_s()));
            scores.truncate(stop.requests);
        }
        let first = scores.iter().map(|score| score.index).min().unwrap_or_default();
        let facts = &log.header().facts;
        let looks = Looks::new(FIRST_LOOK, facts.requests);
        let mut found = SampleLook { targets, facts, looks, confidence, first }.at(&mut scores);
        for known in &mut found {
            // The look saw these requests, except for those that ended within the same instant.
            known.is_known |= stop.is_some();
        }
        found
    }
}

/// A look at the requests that are over.
struct SampleLook<'a> {
    targets: &'a [Precision],
    facts: &'a RunFacts,
    looks: Looks,
    confidence: f64,
    /// Index of the first measured session.
    first: usize,
}

impl SampleLook<'_> {
    /// Evaluates the required precisions on these requests.
    fn at(&self, scores: &mut [RequestScore<'_>]) -> Vec<KnownEnough> {
        let mut policy = MetricPolicy::native();
        policy.confidence = Some(self.looks.confidence(self.confidence));
        policy.percentiles = self.targets.iter().filter_map(|target| target.of.percent()).collect();
        scores.sort_by_key(|score| (score.index, score.turn));
        let whole = whole_sessions(scores, self.first);
        let waits = unmet_waits(self.facts, &scores[..whole]);
        let latencies = Latencies::of(&policy, &scores[..whole], waits);
        // Requests that are due after one that has not ended are missing among those that were due, so
        // arrivals count up to it.
        let limit = RateLimit::of(self.facts, &scores[..whole]);
        let flowing = if limit == RateLimit::Arrivals { &scores[..whole] } else { &*scores };
        let rates = RateEstimates::of(flowing, &policy, limit);
        let look = self.looks.number(scores.len());
        let known = |target: &Precision| {
            let estimate = target.of.find(&latencies, rates.as_ref());
            let is_known = estimate.is_some_and(|estimate| target.is_met_by(&estimate));
            let (confidence, looks) = (self.confidence, self.looks.count());
            KnownEnough { target: *target, is_known, estimate, confidence, look, looks }
        };
        self.targets.iter().map(known).collect()
    }
}

/// Returns the number of requests in the sessions that are over and follow each other without a
/// gap, beginning with the first session.
fn whole_sessions(sorted: &[RequestScore<'_>], first: usize) -> usize {
    let (mut next, mut whole) = (first, 0);
    for session in sorted.chunk_by(|one, other| one.index == other.index) {
        let last = &session[session.len() - 1];
        let is_over = !last.success || last.planned.follow_ups == 0;
        if last.index != next || !is_over {
            break;
        }
        next += 1;
        whole += session.len();
    }
    whole
}

impl Precision {
    /// Returns whether an interval reaches no farther than required.
    fn is_met_by(&self, estimate: &Estimated) -> bool {
        let reach = estimate.reach().zip(estimate.value);
        reach.is_some_and(|(reach, value)| reach <= self.within.at(value))
    }
}

/// Displays the result as `ttft:mean+-2% is known: 102.30 ms, +-1.90 % with 95 % confidence over 24
/// looks`.
impl fmt::Display for KnownEnough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, is_known, estimate, confidence, looks, .. } = self;
        let word = if *is_known { "known" } else { "undecided" };
        write!(f, "{target} is {word}: ")?;
        let Some(estimate) = estimate else { return f.write_str("no request shows it") };
        let Some(value) = estimate.value else { return f.write_str("it has no value") };
        write!(f, "{value:.2} {}", target.of.unit())?;
        match (estimate.reach(), estimate.reason.zip(estimate.times_longer)) {
            (Some(reach), _) => {
                let percent = reach / value * 100.0;
                let confidence = confidence * 100.0;
                write!(f, ", +-{percent:.2} % with {confidence} % confidence over {looks} looks")?;
            }
            (None, Some((reason, times))) => {
                write!(f, "; {reason}, about {times:.1} times longer")?;
            }
            (None, None) => {}
        }
        let needed = estimate.needed(target.within.at(value)).filter(|_| !is_known);
        match needed {
            Some(needed) if estimate.reach().is_some() && needed.times > 1.0 => {
                write!(f, "; about {:.1} times longer", needed.times)
            }
            _ => Ok(()),
        }
    }
}

/// Number of requests at the first look at a run. Fewer than 20 show nothing.
pub(crate) const FIRST_LOOK: usize = 50;

#[cfg(test)]
mod tests;
