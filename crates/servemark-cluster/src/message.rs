//! What ranks tell each other.
//!
//! Rank 0 publishes a [`Bulletin`] and every other rank a [`Report`], each at once when it changes
//! and otherwise once a second. Both say everything that is in force, so a lost message is made good
//! by the next one. Only joining, the plan, the clock and the results are asked for.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use servemark::core::{RankClock, RankMachine};
use servemark::runner::PlaceCounts;
use servemark::{LiveCounts, LoadDigest};

/// What rank 0 publishes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Bulletin {
    /// Identifies the process that is rank 0.
    pub(crate) instance: u64,
    /// Grows with every bulletin, so that a delayed one is recognised.
    pub(crate) number: u64,
    /// Number of the run, from 1; 0 before the first.
    pub(crate) run: u64,
    /// How far the run is.
    pub(crate) stage: RunStage,
    /// Whether the user stopped the run: 1 lets requests in flight end, 2 abandons them.
    pub(crate) stop: u8,
    /// Whether there will be no further run.
    pub(crate) closed: bool,
    /// Number of places of the concurrency limit that each rank is to have, if the ranks hand them
    /// to each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) places: Vec<usize>,
}

/// How far a run is, as rank 0 sees it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStage {
    /// No run is in progress: none has begun, or the results of the last one are gathered.
    #[default]
    Idle,
    /// The ranks prepare the run.
    Preparing,
    /// The measurement begins, or began, at this time of rank 0's clock.
    Start {
        /// Nanoseconds of the clock that answers `clock` requests.
        at_ns: u64,
    },
    /// The run does not take place.
    Abandoned {
        /// The reason.
        reason: String,
    },
}

/// What a rank other than 0 publishes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Report {
    pub(crate) rank: usize,
    /// Identifies the process.
    pub(crate) instance: u64,
    /// Grows with every report, so that a delayed one is recognised.
    pub(crate) number: u64,
    /// Number of the run that the rest is about.
    pub(crate) run: u64,
    pub(crate) stage: RankStage,
    /// Whether the user stopped this rank.
    pub(crate) stop: u8,
    /// What the rank has drawn, once it has.
    pub(crate) load: Option<Digest>,
    pub(crate) counts: LiveCounts,
    /// Rank 0's clock, as of the last exchange.
    pub(crate) clock: Option<RankClock>,
    /// The rank's places of the concurrency limit, if the ranks hand them to each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) places: Option<PlaceReport>,
    /// Whether the rank expects no further run: it knows the end, or it leaves.
    pub(crate) closed: bool,
}

/// A rank's places of a concurrency limit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct PlaceReport {
    /// Places that the rank has.
    pub(crate) held: usize,
    /// Places that it has and does not use.
    pub(crate) free: usize,
    /// Sessions that are due and wait for a place.
    pub(crate) waiting: usize,
}

impl From<PlaceCounts> for PlaceReport {
    fn from(counts: PlaceCounts) -> Self {
        let PlaceCounts { held, free, waiting } = counts;
        Self { held, free, waiting }
    }
}

/// How far a rank is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RankStage {
    #[default]
    Idle,
    Preparing,
    /// Everything is ready for the start.
    Ready,
    Measuring,
    /// No request is in flight any more.
    Drained,
    /// The rank's results can be asked for.
    Logged,
    Failed {
        reason: String,
    },
}

impl RankStage {
    /// Returns whether the rank sends nothing more in this run.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Drained | Self::Logged | Self::Failed { .. })
    }
}

/// What a rank has drawn.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Digest {
    pub(crate) sessions: usize,
    pub(crate) requests: String,
    pub(crate) schedule: String,
}

impl From<LoadDigest> for Digest {
    fn from(load: LoadDigest) -> Self {
        let LoadDigest { sessions, requests, schedule } = load;
        Self { sessions, requests, schedule }
    }
}

/// What ranks send to rank 0.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToLead {
    /// Asks to take part.
    Join(Joining),
    /// Asks for the plan of a run.
    Plan {
        /// Number of the run.
        run: u64,
    },
    /// Says how far a rank is.
    Report(Report),
    /// Asks whether there is a rank 0 at all.
    AreYouThere,
}

/// A process that asks to take part. One of another version may say less of itself, and is refused by
/// its version.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Joining {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    pub(crate) instance: u64,
    pub(crate) version: String,
    pub(crate) machine: RankMachine,
}

/// The answer to [`ToLead::Join`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JoinReply {
    Joined,
    Refused { reason: String },
}

/// The answer to [`ToLead::Plan`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct PlanReply {
    /// Name of the run.
    pub(crate) name: String,
    /// The plan as JSON.
    pub(crate) plan: serde_json::Value,
    /// When the clock of rank 0's stamps started, by the clock that answers `clock` requests.
    pub(crate) clock_started_ns: u64,
    /// Whether logs are gathered whole.
    pub(crate) gathers_logs: bool,
    /// Whether ranks hand places of the concurrency limit to each other.
    pub(crate) shares_places: bool,
}

/// Asks a rank for a part of its results.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct BlockRequest {
    pub(crate) run: u64,
    /// Zero-based number of the block.
    pub(crate) block: u64,
}

/// Writes a message.
pub(crate) fn encode(message: &impl Serialize) -> Bytes {
    serde_json::to_vec(message).expect("a message is plain JSON").into()
}

/// Reads a message; `None` if it is not one.
pub(crate) fn decode<T: DeserializeOwned>(payload: &[u8]) -> Option<T> {
    serde_json::from_slice(payload).ok()
}
