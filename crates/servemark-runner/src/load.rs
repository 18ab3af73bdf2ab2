//! How much to send, and how.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use servemark_schedule::{AdapterSpec, ArrivalSpec};

/// How much to send, and how.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LoadSpec {
    /// When requests are due.
    pub arrivals: ArrivalSpec,
    /// How many may be in flight at once; without a limit, as many as are due.
    pub max_concurrency: Option<NonZeroUsize>,
    /// What is sent before the measurement.
    pub warmup: WarmupSpec,
    /// The adapters that sessions ask for; the model itself without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapters: Option<AdapterSpec>,
    /// How the turns of a session are put.
    #[serde(default)]
    pub sessions: SessionSpec,
    /// How much is prepared ahead of its time.
    #[serde(default)]
    pub look_ahead: LookAheadSpec,
}

impl LoadSpec {
    /// Everything that `arrivals` makes due, without a limit and with one warm-up request.
    pub fn new(arrivals: ArrivalSpec) -> Self {
        Self {
            arrivals,
            max_concurrency: None,
            warmup: WarmupSpec::default(),
            adapters: None,
            sessions: SessionSpec::default(),
            look_ahead: LookAheadSpec::default(),
        }
    }
}

/// How the turns of a session are put.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionSpec {
    /// Whether the reasoning of an answer is said again with the turns after it.
    pub echo_reasoning: bool,
    /// The header with which every turn names its session; none without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

/// What is sent before the measurement: copies of the first sample, all at once.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WarmupSpec {
    /// How many copies.
    pub requests: usize,
    /// The most output tokens that a copy asks for.
    pub most_output_tokens: u32,
}

impl WarmupSpec {
    /// So many copies of at most 32 output tokens, as SGLang's client warms up.
    pub fn of(requests: usize) -> Self {
        Self { requests, most_output_tokens: 32 }
    }
}

impl Default for WarmupSpec {
    fn default() -> Self {
        Self::of(1)
    }
}

/// How much is prepared ahead of its time: the sooner one of the two bounds holds.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LookAheadSpec {
    /// How many requests wait.
    pub calls: NonZeroUsize,
    /// How many bytes they are together. One that is larger alone waits alone.
    pub bytes: NonZeroUsize,
}

/// Four thousand text prompts of a thousand tokens are 20 MB; three pictures are as much.
impl Default for LookAheadSpec {
    fn default() -> Self {
        const CALLS: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");
        const BYTES: NonZeroUsize = NonZeroUsize::new(128 << 20).expect("it is not zero");
        Self { calls: CALLS, bytes: BYTES }
    }
}
