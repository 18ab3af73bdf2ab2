//! The load of a run: how much is sent, and how.

use std::num::{NonZero, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{ErrorKind, RequestRecord};
use servemark_schedule::{AdapterSpec, ArrivalSpec, Rate};

use crate::Share;

/// The load of a run: how much is sent, and how.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct LoadSpec {
    /// When sessions are due.
    pub arrivals: ArrivalSpec,
    /// Maximum number of sessions in flight; without it there is no limit.
    pub max_concurrency: Option<NonZeroUsize>,
    /// Whether a whole wave of `max_concurrency` sessions is sent together, and the next wave only
    /// when all of it has ended. A warm-up counts towards waves: it must be empty, or whole waves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_waves: bool,
    /// Duration for which requests are sent, counted from the first measured one; without it, until
    /// all are sent. Requests in flight at the end are waited for.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "servemark_core::seconds::optional"
    )]
    pub lasts: Option<Duration>,
    /// Whether the sessions start over after the last one, until `lasts` is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_rounds: bool,
    /// Rate at which slots of the concurrency limit open, per second, from one slot to the limit;
    /// without it all are open from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Rate>,
    /// Requests sent before the measurement.
    pub warmup: WarmupSpec,
    /// When a failed request is sent again; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetrySpec>,
    /// Number of first sessions that are sent and not measured.
    #[serde(default, skip_serializing_if = "LeadInSpec::is_none")]
    pub lead_in: LeadInSpec,
    /// Maximum rate of small requests sent beside the load; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Rate>,
    /// The adapters that sessions ask for; the base model if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapters: Option<AdapterSpec>,
    /// How the turns of sessions are sent.
    #[serde(default)]
    pub sessions: SessionSpec,
    /// Limits on what is prepared ahead of its due time.
    #[serde(default)]
    pub look_ahead: LookAheadSpec,
    /// Number of threads that send and read; if absent, [`shards`](Self::shards) computes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<NonZeroUsize>,
    /// Whether a separate thread watches the clock and writes each request exactly at its due time.
    /// The creator of the transport has to provide one with a [head
    /// start](servemark_core::Transport::head_start).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub precise_send: bool,
}

impl Default for LoadSpec {
    /// Returns the load of a burst.
    fn default() -> Self {
        Self::new(ArrivalSpec::Burst)
    }
}

impl LoadSpec {
    /// Creates the load of `arrivals`, without a limit and with one warm-up request.
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

    /// Returns the number of shards for `sessions` sessions and `cores` cores.
    ///
    /// If the plan does not set it: one for each thousand streams that may be open at once, and at
    /// most one per core. The number of streams is the number of sessions, the concurrency limit,
    /// or the number of arrivals within a minute, whichever is smallest. There are never more
    /// shards than sessions, even if the plan sets the number.
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
        self.shards_of(Share::WHOLE, sessions, cores)
    }

    /// Returns the number of shards of a process that has this share of `sessions` sessions, as
    /// [`shards`](Self::shards) does for a process that has all of them.
    pub fn shards_of(&self, share: Share, sessions: usize, cores: NonZeroUsize) -> NonZeroUsize {
        let shards = self.shards.unwrap_or_else(|| {
            let shards = share.of(self.streams(sessions)).div_ceil(STREAMS_PER_SHARD);
            NonZeroUsize::new(shards).unwrap_or(NonZeroUsize::MIN).min(cores)
        });
        // A shard without a session would have nothing to do.
        let sessions = NonZeroUsize::new(share.of(sessions));
        sessions.map_or(NonZeroUsize::MIN, |sessions| shards.min(sessions))
    }

    /// Returns the number of streams that may be open at once.
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

/// Number of streams per shard: what one core reads easily at fifty tokens a second each, with a
/// safety factor of about four.
const STREAMS_PER_SHARD: usize = 1_000;

/// Duration of an answer of three thousand tokens at fifty tokens a second.
const LONG_ANSWER: Duration = Duration::from_secs(60);

/// How the turns of sessions are sent.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SessionSpec {
    /// What turns after the first are sent with.
    #[serde(skip_serializing_if = "History::is_kept")]
    pub history: History,
    /// Whether the reasoning of an answer is part of the history of later turns.
    pub echo_reasoning: bool,
    /// Whether a session that has begun continues to its end after the time in which requests are
    /// sent is over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub runs_out: bool,
    /// Name of a header that carries the session's id on every turn; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Number of turns per second that a session would have if answers took no time: before each
    /// turn, the first one included, it waits for a gap of a Poisson process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_rate: Option<Rate>,
}

/// What a later turn of a session is sent with. Closed: it is one or the other.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// All earlier messages, with the answers as the server gave them.
    #[default]
    Kept,
    /// Nothing: each turn contains only its own messages and just waits for the previous answer.
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
pub struct WarmupSpec {
    /// Number of copies or sessions.
    pub requests: usize,
    /// Maximum number of output tokens that a copy asks for.
    pub most_output_tokens: u32,
    /// Whether a copy keeps the first sample's own body keys and asks for the base model. If not,
    /// it has none of those keys and asks for the first adapter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alike: bool,
    /// Distance between the sessions that are sent, if whole sessions are sent: every `stride`-th
    /// from the first on, starting over if there are too few. Without it, copies of the first
    /// sample are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<NonZero<u32>>,
}

impl WarmupSpec {
    /// Creates a warm-up of `requests` copies of at most 32 output tokens, as SGLang's client does.
    pub fn of(requests: usize) -> Self {
        Self { requests, most_output_tokens: 32, alike: false, stride: None }
    }

    /// Creates a warm-up of `requests` copies, each as long as the first sample and with its keys,
    /// as vLLM's client does.
    pub fn alike(requests: usize) -> Self {
        Self { requests, most_output_tokens: u32::MAX, alike: true, stride: None }
    }

    /// Creates a warm-up of the first `requests` rows of the data set, each of which gives
    /// `sessions_per_row` sessions, as AISBench does.
    pub fn rows(requests: usize, sessions_per_row: NonZero<u32>) -> Self {
        Self { stride: Some(sessions_per_row), ..Self::alike(requests) }
    }
}

impl Default for WarmupSpec {
    fn default() -> Self {
        Self::of(1)
    }
}

/// When a failed request is sent again: at once, with its slot at the gate. Each try has a record
/// of its own, and only the last one is scored.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RetrySpec {
    /// Number of tries of a request, the first included.
    pub tries: NonZero<u32>,
    /// Kinds of failure after which there is another try.
    pub after: Vec<ErrorKind>,
}

impl RetrySpec {
    /// Creates up to `tries` tries of requests without a whole answer: no connection, timed out,
    /// broken off, or undecodable. A request that the server refused is not sent again. AISBench
    /// does this.
    pub fn of_unanswered(tries: NonZero<u32>) -> Self {
        use ErrorKind::{Connect, Decode, Timeout, Tls, Truncated};
        Self { tries, after: vec![Connect, Tls, Timeout, Decode, Truncated] }
    }

    /// Returns whether there is another try after the one with this record.
    pub(crate) fn follows(&self, record: &RequestRecord) -> bool {
        let is_left = record.earlier_tries + 1 < self.tries.get();
        is_left && record.outcome.as_ref().is_err_and(|error| self.after.contains(&error.kind))
    }
}

/// The first sessions of those drawn that are sent like the others and not measured.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct LeadInSpec {
    /// Number of sessions.
    pub sessions: usize,
    /// Whether all of them have to end before the first measured session is sent. They have a
    /// schedule of their own then; otherwise all sessions share one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ends_first: bool,
}

impl LeadInSpec {
    /// Creates a lead-in of `sessions` sessions whose slots are taken over by the measured ones.
    pub fn flowing(sessions: usize) -> Self {
        Self { sessions, ends_first: false }
    }

    /// Creates a lead-in of `sessions` sessions that have all ended before the measurement begins.
    pub fn already_ended(sessions: usize) -> Self {
        Self { sessions, ends_first: true }
    }

    /// Returns the number of sessions that precede the measured ones without a break.
    pub(crate) fn in_stream(self) -> usize {
        if self.ends_first { 0 } else { self.sessions }
    }

    fn is_none(&self) -> bool {
        self.sessions == 0
    }
}

/// Limits on what is prepared ahead of its due time; both hold.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct LookAheadSpec {
    /// Maximum number of prepared requests that wait.
    pub calls: NonZeroUsize,
    /// Maximum number of bytes of those requests together. A request above the limit waits alone.
    pub bytes: NonZeroUsize,
}

/// Four thousand text prompts of a thousand tokens are 20 MB; three pictures are about as much.
impl Default for LookAheadSpec {
    fn default() -> Self {
        const CALLS: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");
        const BYTES: NonZeroUsize = NonZeroUsize::new(128 << 20).expect("it is not zero");
        Self { calls: CALLS, bytes: BYTES }
    }
}
