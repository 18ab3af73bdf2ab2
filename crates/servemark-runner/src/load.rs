//! How much to send, and how.

use std::num::{NonZero, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{ErrorKind, RequestRecord};
use servemark_schedule::{AdapterSpec, ArrivalSpec, Rate};

/// How much to send, and how.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LoadSpec {
    /// When requests are due.
    pub arrivals: ArrivalSpec,
    /// How many may be in flight at once; without a limit, as many as are due.
    pub max_concurrency: Option<NonZeroUsize>,
    /// Whether as many as that leave together, and the next only when all of them have ended. A
    /// warm-up counts: it must be none, or whole waves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_waves: bool,
    /// For how long requests are sent, from the first that is measured on; as long as there are any
    /// where it is absent. What is in flight when that is over is waited for.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "servemark_core::seconds::optional"
    )]
    pub lasts: Option<Duration>,
    /// Whether the first session follows the last, again and again, until that is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_rounds: bool,
    /// How many places more there are each second for what may be in flight, from one on and up to
    /// the limit; all at once where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Rate>,
    /// What is sent before the measurement.
    pub warmup: WarmupSpec,
    /// When a request that failed is sent again; never without a word of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetrySpec>,
    /// How many of the sessions are sent and not measured.
    #[serde(default, skip_serializing_if = "LeadInSpec::is_none")]
    pub lead_in: LeadInSpec,
    /// How often a small request is sent beside the load, at most; never without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Rate>,
    /// The adapters that sessions ask for; the model itself without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapters: Option<AdapterSpec>,
    /// How the turns of a session are put.
    #[serde(default)]
    pub sessions: SessionSpec,
    /// How much is prepared ahead of its time.
    #[serde(default)]
    pub look_ahead: LookAheadSpec,
    /// How many threads send and read; without a number, as many as [`shards`](Self::shards) finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<NonZeroUsize>,
    /// Whether a thread of its own watches the clock and writes each request at its very instant.
    /// Whoever makes the transport sees to it: one with a
    /// [head start](servemark_core::Transport::head_start).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub precise_send: bool,
}

impl LoadSpec {
    /// Everything that `arrivals` makes due, without a limit and with one warm-up request.
    pub fn new(arrivals: ArrivalSpec) -> Self {
        Self {
            arrivals,
            max_concurrency: None,
            in_waves: false,
            lasts: None,
            in_rounds: false,
            opening: None,
            warmup: WarmupSpec::default(),
            retry: None,
            lead_in: LeadInSpec::default(),
            probes: None,
            adapters: None,
            sessions: SessionSpec::default(),
            look_ahead: LookAheadSpec::default(),
            shards: None,
            precise_send: false,
        }
    }

    /// How many shards send so many sessions where there are so many cores for them.
    ///
    /// If the plan does not say: one for each thousand streams that may be
    /// open at once, and no more than cores. Those are all sessions, or what the limit lets
    /// through, or what arrives within a minute.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use servemark_runner::LoadSpec;
    /// use servemark_schedule::ArrivalSpec;
    ///
    /// let four = NonZeroUsize::new(4).unwrap();
    /// let burst = LoadSpec::new(ArrivalSpec::Burst);
    /// let shards = [1_000, 2_500, 100_000].map(|sessions| burst.shards(sessions, four).get());
    /// assert_eq!(shards, [1, 3, 4]);
    /// let slow = LoadSpec::new(ArrivalSpec::at_rate(10.0)?);
    /// assert_eq!(slow.shards(100_000, four).get(), 1);
    /// # Ok::<(), servemark_schedule::ScheduleError>(())
    /// ```
    pub fn shards(&self, sessions: usize, cores: NonZeroUsize) -> NonZeroUsize {
        let shards = self.shards.unwrap_or_else(|| {
            let shards = self.streams(sessions).div_ceil(STREAMS_PER_SHARD);
            NonZeroUsize::new(shards).unwrap_or(NonZeroUsize::MIN).min(cores)
        });
        // One without a session would have nothing to do.
        NonZeroUsize::new(sessions).map_or(NonZeroUsize::MIN, |sessions| shards.min(sessions))
    }

    /// How many streams may be open at once.
    #[expect(clippy::cast_sign_loss, reason = "a rate is positive")]
    fn streams(&self, sessions: usize) -> usize {
        let limit = self.max_concurrency.map_or(usize::MAX, NonZeroUsize::get);
        let arriving = self
            .arrivals
            .mean_rate()
            .map_or(f64::INFINITY, |rate| (rate * LONG_ANSWER.as_secs_f64()).ceil());
        sessions.min(limit).min(arriving as usize)
    }
}

/// What a core reads without trouble at fifty tokens a second each, with a margin of four or so.
const STREAMS_PER_SHARD: usize = 1_000;

/// An answer of three thousand tokens at fifty a second.
const LONG_ANSWER: Duration = Duration::from_secs(60);

/// How the turns of a session are put.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionSpec {
    /// What the turns after the first are sent with.
    #[serde(skip_serializing_if = "History::is_kept")]
    pub history: History,
    /// Whether the reasoning of an answer is said again with the turns after it.
    pub echo_reasoning: bool,
    /// Whether a session that has begun goes on to its end when the time in which requests are sent
    /// is over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub runs_out: bool,
    /// The header with which every turn names its session; none without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// How many turns a second a session would have if answers took no time: before each of them, the
    /// first one too, it waits for a gap of a Poisson process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_rate: Option<Rate>,
}

/// What a later turn of a session is sent with. Closed: it is one or the other.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// All that was said before, the answers as they really came.
    #[default]
    Kept,
    /// Nothing: each turn stands for itself and only waits for the one before it.
    Left,
}

impl History {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
    fn is_kept(&self) -> bool {
        *self == Self::Kept
    }
}

/// What is sent before the measurement, all at once: copies of the first sample, or the first
/// sessions.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WarmupSpec {
    /// How many copies, or sessions.
    pub requests: usize,
    /// The most output tokens that a copy asks for.
    pub most_output_tokens: u32,
    /// Whether a copy has the keys that are the first sample's own, and asks for the model itself.
    /// Without, it has none of them and asks for the first adapter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alike: bool,
    /// How many sessions each is ahead of the one before it, where whole sessions are sent: those
    /// from the first on, and the same again where there are not as many. Without, all that is sent
    /// is copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<NonZero<u32>>,
}

impl WarmupSpec {
    /// So many copies of at most 32 output tokens, as SGLang's client warms up.
    pub fn of(requests: usize) -> Self {
        Self { requests, most_output_tokens: 32, alike: false, stride: None }
    }

    /// So many copies, each as long as the first sample and with its keys, as vLLM's client warms
    /// up.
    pub fn alike(requests: usize) -> Self {
        Self { requests, most_output_tokens: u32::MAX, alike: true, stride: None }
    }

    /// So many rows of the data set, from the first on, where so many sessions are of one row, as
    /// AISBench warms up.
    pub fn rows(requests: usize, sessions_per_row: NonZero<u32>) -> Self {
        Self { stride: Some(sessions_per_row), ..Self::alike(requests) }
    }
}

impl Default for WarmupSpec {
    fn default() -> Self {
        Self::of(1)
    }
}

/// When a request that failed is sent again: at once, and at the place that it has at the gate. Each
/// try has a record of its own, of which only the last is scored.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RetrySpec {
    /// How many tries a request has, the first among them.
    pub tries: NonZero<u32>,
    /// After which failures there is another.
    pub after: Vec<ErrorKind>,
}

impl RetrySpec {
    /// So many tries of what got no whole answer: without a connection, out of time, broken off or
    /// not to be read. A server that refuses is not asked again. AISBench does so.
    pub fn of_unanswered(tries: NonZero<u32>) -> Self {
        use ErrorKind::{Connect, Decode, Timeout, Tls, Truncated};
        Self { tries, after: vec![Connect, Tls, Timeout, Decode, Truncated] }
    }

    /// Whether there is a try after one that ended so.
    pub(crate) fn follows(&self, record: &RequestRecord) -> bool {
        let is_left = record.earlier_tries + 1 < self.tries.get();
        is_left && record.outcome.as_ref().is_err_and(|error| self.after.contains(&error.kind))
    }
}

/// The first sessions of those that are drawn, which are sent like the others and not measured.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LeadInSpec {
    /// How many.
    pub sessions: usize,
    /// Whether all of them have ended before the first one is sent that is measured. They have a
    /// schedule of their own then; else all sessions have one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ends_first: bool,
}

impl LeadInSpec {
    /// So many sessions, into whose places those step that are measured.
    pub fn flowing(sessions: usize) -> Self {
        Self { sessions, ends_first: false }
    }

    /// So many sessions, all of which have ended before the measurement begins.
    pub fn ended(sessions: usize) -> Self {
        Self { sessions, ends_first: true }
    }

    /// How many go before the others without a break.
    pub(crate) fn in_stream(self) -> usize {
        if self.ends_first { 0 } else { self.sessions }
    }

    fn is_none(&self) -> bool {
        self.sessions == 0
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
