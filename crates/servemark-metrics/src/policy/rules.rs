//! Types of the definitions on which the peers differ.

use serde::{Deserialize, Serialize};
use servemark_core::Retokenized;

use crate::statistics::{by_rank, whole};

/// Rules by which an answer is read.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct StreamRules {
    /// Pieces that count as output; the first of them is the first token.
    pub events: OutputEvents,
    /// Definition of an inter-token latency.
    pub itl: ItlRule,
    /// Definition of an inter-token latency if the server reports speculative decoding; if absent,
    /// `itl` applies.
    pub speculative_itl: Option<ItlRule>,
    /// Sources of the number of output tokens; the first source that knows it is used.
    pub output_tokens: Vec<TokenSource>,
}

impl StreamRules {
    pub(super) fn without_output() -> Self {
        Self {
            events: OutputEvents::Any,
            itl: ItlRule::PerEvent,
            speculative_itl: None,
            output_tokens: Vec::new(),
        }
    }
}

/// The text whose tokens a tokenizer counts after a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecountedText {
    /// The texts of all events one after the other, even if each holds all text so far. SGLang's
    /// client joins Triton's events so.
    Joined,
    /// The text of the answer.
    #[default]
    Text,
}

impl RecountedText {
    /// Returns the number of tokens of this text.
    pub(crate) fn of(self, counted: &Retokenized) -> u32 {
        match self {
            Self::Joined => counted.joined.unwrap_or(counted.tokens),
            Self::Text => counted.tokens,
        }
    }
}

/// Pieces of an answer that count as output.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputEvents {
    /// Every piece with text or tokens, of any kind.
    Any,
    /// Every piece from the first one with text of the answer or its reasoning.
    SinceFirstText,
    /// Every piece with text of the answer or its reasoning; tool calls are not output.
    Text,
    /// Every event of the answer, including those without output. Where a decoder keeps none of
    /// those, no log has their times: the event before the first piece is then taken to have come
    /// with the first byte of the stream, and those after the pieces with the stream's end.
    Every,
}

/// Definition of an inter-token latency.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItlRule {
    /// One per piece: the gap before it.
    PerEvent,
    /// One per token. A later piece of k tokens gives k equal parts of its gap; the first piece's
    /// surplus tokens came with the first token and give zeros. So N tokens have N-1 entries, and
    /// their sum is the time from the first token to the last.
    ///
    /// The wire's counts of a piece's tokens are used first. Without them a piece is one token if
    /// the number of pieces equals the server's count of tokens; else tokens of the whole text are
    /// assigned to pieces by their positions in it. If no tokenizer counted, a piece is one token.
    PerToken,
    /// One value per token after the first piece: a piece of k tokens, counted by re-tokenization,
    /// divides the gap before it into k equal values. A piece without tokens gives no value, and
    /// its gap is lost.
    SplitByPieces,
    /// One value per token after the first piece: a piece of k tokens, counted by the wire, divides
    /// the gap before it into k equal values. The gap of a piece without tokens is added to that of
    /// the next piece.
    SplitByWire,
}

/// A source of the number of output tokens.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The counts that the wire gives with the pieces.
    Deltas,
    /// The requested number of tokens.
    Requested,
    /// Servemark's own tokenizer, over the text.
    Retokenized,
    /// The server's closing count.
    Usage,
}

/// TTFT of a success without output.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingTtft {
    /// The TTFT is absent from the sample.
    Absent,
    /// The TTFT is zero.
    Zero,
}

/// Definition of the time per output token of requests with more than one token.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TpotRule {
    /// Time from the first piece to the last, divided by the tokens after the first piece. Tokens
    /// that came with the first token took no time that the client saw.
    FirstToLastToken,
    /// Time from the first token to the end of the stream, divided by the tokens after the first.
    LatencyAfterFirst,
    /// Time from the first token to the end of the stream, divided by the tokens after the first;
    /// zero for a request of at most one token.
    LatencyAfterFirstElseZero,
}

/// Instant from which a latency counts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// When the request was due: response time, which contains the client's own queue.
    Scheduled,
    /// When the request was sent: service time.
    Sent,
}

/// Requests that count.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedRequests {
    /// Every request that was sent.
    All,
    /// Requests that succeeded.
    Successes,
}

/// Duration that rates are divided by.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DurationRule {
    /// From when the load began to when the last request was done. The first request may be due
    /// later than the load begins.
    BeganToEnd,
    /// From when the first request was due to when the client noticed that the last was done.
    FirstDueToEnd,
    /// From when the first request was due to the latest end of any request: an answer ends with
    /// the arrival of its last byte, a failure when it is noticed.
    FirstDueToLastByte,
    /// From when the first request was sent to when the last was done.
    FirstSentToEnd,
    /// From the first sending to the last end of the requests that succeeded.
    OfSuccesses,
    /// From when the request that ended first was sent to when the last was done.
    FirstDoneToEnd,
}

/// Method by which peaks are found.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeakRule {
    /// A sweep over every start and end, and the fullest second wherever it begins.
    Exact,
    /// Whole seconds counted from the first start: requests that touch the same second count as
    /// concurrent.
    SecondBuckets,
}

/// Sampled requests that have a first token and a time per output token.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstTokensOf {
    /// All sampled requests.
    #[default]
    All,
    /// Streamed requests, if any was streamed, and otherwise all. A document comes with all of its
    /// tokens at once.
    Streamed,
    /// Streamed requests only: a document has no first token.
    StreamedAlone,
}

/// Rule by which a percentile is read from a sorted sample.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PercentileRule {
    /// `NumPy`'s default: linear between the two neighbours of rank q(n-1).
    Linear,
    /// The smallest value that at least the share q of the sample does not exceed.
    NearestRank,
    /// The value at the integer part of n q, counted from zero: one above the nearest rank where n
    /// q is whole.
    FloorIndex,
}

impl PercentileRule {
    /// Reads the percentile of `samples` values, of which `value` returns the one at a zero-based
    /// rank; absent without samples.
    pub(crate) fn read(
        self,
        samples: usize,
        percent: f64,
        value: &mut impl FnMut(usize) -> f64,
    ) -> Option<f64> {
        match self {
            Self::Linear => by_rank::percentile(samples, percent, value),
            Self::NearestRank => by_rank::nearest_rank(samples, percent, value),
            Self::FloorIndex => by_rank::floor_index(samples, percent, value),
        }
    }
}

/// Number of samples that a percentile needs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleSize {
    /// One sample.
    Any,
    /// Enough requests for one of them to lie beyond the percentile: 10 for p90, 100 for p99, 1000
    /// for p99.9. With fewer the value would be an interpolation towards the maximum. The gaps of
    /// one request count as one.
    Resolving,
}

impl SampleSize {
    /// Returns the least number of requests for a percentile.
    pub(crate) fn needs(self, percent: f64) -> usize {
        match self {
            Self::Any => 1,
            Self::Resolving if percent >= 100.0 => 1,
            // The slack keeps 99.9, which is no binary fraction, from needing 1001.
            Self::Resolving => whole((100.0 / (100.0 - percent) - 1e-6).ceil()),
        }
    }
}

/// Values of an empty sample.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptySample {
    /// Values are absent.
    Absent,
    /// Values are zero.
    Zero,
    /// Values are zero, except that the E2E latency is absent: a server that answered nothing did
    /// not answer in no time.
    ZeroButE2el,
}
