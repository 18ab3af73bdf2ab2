//! Finds where a run is at its limit of requests in flight, by AISBench's two rules.

use serde::{Deserialize, Serialize};

use crate::statistics::whole;

/// Rule by which the stable part is found. Under both rules it begins with the second request that
/// reaches the limit: the first one ends the ramp.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StableRule {
    /// The part ends at the last moment at which the limit is reached, whatever happens in between:
    /// `AISBench` since August 2026.
    #[default]
    Full,
    /// The part ends at the first moment at which more than 2 % of the limit are missing for a
    /// millisecond, or at which a request ends after all have been sent: `AISBench` from December
    /// 2025 on.
    NearlyFull,
}

/// The stable part of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StableStage {
    /// Start and end of the part, on the clock of the requests.
    pub window: (f64, f64),
    /// Indices of the part's requests.
    pub requests: Vec<usize>,
}

impl StableStage {
    /// Finds the stable part of a run. Each request is its start and end in seconds, and at most
    /// `limit` of them were in flight at once. Absent if the limit was never reached, or only for a
    /// moment.
    ///
    /// ```
    /// use servemark_metrics::{StableRule, StableStage};
    ///
    /// let requests = [(0.0, 2.0), (0.5, 3.0), (2.5, 4.0), (3.5, 5.0)];
    /// let stage = StableStage::find(&requests, 2, StableRule::Full).expect("it is full thrice");
    /// assert_eq!((stage.window, stage.requests), ((2.5, 3.5), vec![2, 3]));
    /// assert_eq!(StableStage::find(&requests, 3, StableRule::Full), None);
    /// ```
    pub fn find(requests: &[(f64, f64)], limit: usize, rule: StableRule) -> Option<Self> {
        let stage = match rule {
            StableRule::Full => full(requests, limit),
            StableRule::NearlyFull => nearly_full(requests, limit),
        };
        stage.filter(|stage| stage.window.1 > stage.window.0)
    }
}

fn full(requests: &[(f64, f64)], limit: usize) -> Option<StableStage> {
    let changes = changes(requests);
    let at_limit = || changes.iter().filter(|change| change.in_flight == limit);
    let begin = at_limit().filter(|change| change.is_start).nth(1)?.time;
    let finish = at_limit().next_back()?.time;
    let starts = requests.iter().enumerate();
    let members = starts.filter(|(_, (start, _))| (begin..=finish).contains(start));
    Some(StableStage {
        window: (begin, finish),
        requests: members.map(|(place, _)| place).collect(),
    })
}

fn nearly_full(requests: &[(f64, f64)], limit: usize) -> Option<StableStage> {
    let changes = changes(requests);
    let enough = whole(limit as f64 * (1.0 - WAVE));
    let (mut sent, mut members, mut begin) = (0, Vec::new(), None);
    for (place, change) in changes.iter().enumerate() {
        sent += usize::from(change.is_start);
        if change.is_start && change.in_flight == limit {
            members.push(change.request);
            if members.len() == 2 {
                begin = Some(change.time);
            }
        } else if change.is_start && change.in_flight >= enough && members.len() > 2 {
            members.push(change.request);
        } else if !change.is_start
            && (sent == requests.len()
                || members.len() > 1
                    && change.in_flight < enough
                    && !recovers(&changes[place..], enough))
        {
            members.drain(..members.len().min(1));
            return Some(StableStage { window: (begin?, change.time), requests: members });
        }
    }
    None
}

/// Returns whether `enough` requests are in flight again within [`MOMENT`] of the first change.
fn recovers(changes: &[Change], enough: usize) -> bool {
    let soon = changes.iter().take_while(|change| change.time - changes[0].time <= MOMENT);
    soon.skip(1).any(|change| change.is_start && change.in_flight >= enough)
}

/// Start or end of a request.
struct Change {
    time: f64,
    is_start: bool,
    request: usize,
    /// Number of requests in flight after the change.
    in_flight: usize,
}

/// Returns all starts and ends by their time; at the same instant, those of the earlier request
/// come first.
fn changes(requests: &[(f64, f64)]) -> Vec<Change> {
    let change = |time, is_start, request| Change { time, is_start, request, in_flight: 0 };
    let both = requests.iter().enumerate().flat_map(|(request, (start, end))| {
        [change(*start, true, request), change(*end, false, request)]
    });
    let mut changes: Vec<Change> = both.collect();
    changes.sort_by(|one, other| one.time.total_cmp(&other.time));
    let mut in_flight = 0_isize;
    for change in &mut changes {
        in_flight += if change.is_start { 1 } else { -1 };
        change.in_flight = usize::try_from(in_flight).unwrap_or_default();
    }
    changes
}

/// Share of the limit that may be missing.
const WAVE: f64 = 0.02;
/// Time in seconds for which more than that share may be missing.
const MOMENT: f64 = 0.001;
