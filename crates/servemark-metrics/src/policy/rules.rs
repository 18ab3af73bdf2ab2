//! The definitions on which the peers differ, one type each.

use serde::{Deserialize, Serialize};

use crate::statistics::{by_rank, whole};

/// How a streamed answer is read.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StreamRules {
    /// Which pieces are output; the first of them is the first token.
    pub events: OutputEvents,
    /// What one inter-token latency is.
    pub itl: ItlRule,
    /// What it is instead when the server says that it decodes speculatively.
    pub speculative_itl: Option<ItlRule>,
    /// Who is asked for the number of output tokens, the first that knows wins.
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

/// Which pieces of an answer are output.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputEvents {
    /// Every piece with text or tokens, of whatever kind.
    Any,
    /// Every piece from the first with text of the answer or its reasoning.
    SinceFirstText,
    /// Every piece with text of the answer or its reasoning; tool calls are not output.
    Text,
    /// Every event of the answer, those without output too. Where a decoder keeps none of them, their
    /// times are in no log: the one before the first piece is then taken to have come with the first
    /// byte of the stream, and those after it with the stream's end.
    Every,
}

/// What one inter-token latency is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ItlRule {
    /// One per piece: the gap before it.
    PerEvent,
    /// One per token. A later piece of k tokens gives k equal parts of its gap; the first piece's
    /// surplus tokens came with the first token and give zeros. So N tokens have N-1 entries, and
    /// their sum is the time from the first token to the last. A piece's tokens are counted by the
    /// wire. Without such counts a piece is one token where the number of pieces is the server's
    /// count of tokens; else the tokens of the whole text count by where they lie in it; and where
    /// no tokenizer counted, a piece is one token.
    PerToken,
    /// A later piece of k tokens, counted by re-tokenization, gives k equal parts of its gap; a
    /// piece without tokens gives none and its gap is lost.
    SplitByPieces,
    /// A later piece of k tokens, counted by the wire, gives k equal parts of its gap; a piece
    /// without tokens leaves its gap to the next.
    SplitByWire,
}

/// Who is asked for the number of output tokens.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TokenSource {
    /// The counts that the wire gives with the pieces.
    Deltas,
    /// What was asked for.
    Requested,
    /// Our tokenizer, over the text.
    Retokenized,
    /// The server's closing count.
    Usage,
}

/// What stands for the TTFT of a success without output.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissingTtft {
    /// Nothing: it is not in the sample.
    Absent,
    /// Zero.
    Zero,
}

/// What the time per output token is made of, for requests of more than one token.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TpotRule {
    /// From the first piece to the last, over the tokens after the first piece. Tokens that came
    /// with the first token took no time that the client saw.
    FirstToLastToken,
    /// From the first token to the end of the stream, over the tokens after the first.
    LatencyAfterFirst,
    /// The same, and zero for a request of one token or none.
    LatencyAfterFirstElseZero,
}

/// From which instant a latency counts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// When it was due: response time, the client's own queue included.
    Scheduled,
    /// When it was sent: service time.
    Sent,
}

/// Which requests count.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Counted {
    /// Every request that was sent.
    All,
    /// Those that ended well.
    Successes,
}

/// What rates are divided by.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DurationRule {
    /// From when the load began to when the last request was done. The first may be due later.
    BeganToEnd,
    /// From when the first request was due to when the client noticed that the last was done.
    FirstDueToEnd,
    /// From when the first request was due to the last end of any: an answer ends with the arrival
    /// of its last byte, a failure when it is noticed.
    FirstDueToLastByte,
    /// From when the first request was sent to when the last was done.
    FirstSentToEnd,
    /// From when the first of those that ended well was sent to the last end of one of them.
    OfSuccesses,
    /// From when the request was sent that was the first to be done, to when the last was.
    FirstDoneToEnd,
}

/// How peaks are found.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PeakRule {
    /// By a sweep over every start and end, and the fullest second wherever it begins.
    Exact,
    /// By seconds counted from the first start: requests that touch the same second count as
    /// concurrent.
    SecondBuckets,
}

/// Which successes a sample of first tokens and of times per output token is made of.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FirstTokensOf {
    /// All of those whose latencies are in the samples.
    #[default]
    All,
    /// Those of them that were streamed, if any was: a document comes with all of its tokens at
    /// once.
    Streamed,
    /// Those of them that were streamed: a document has no first token.
    StreamedAlone,
}

/// How a percentile is read off a sorted sample.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PercentileRule {
    /// `NumPy`'s default: linear between the two neighbours of rank q(n-1).
    Linear,
    /// The smallest value that a share of q of the sample does not exceed.
    NearestRank,
    /// The value at the whole part of n q, counted from zero: one above the nearest rank where n q is
    /// whole.
    FloorIndex,
}

impl PercentileRule {
    /// The percentile of so many values, whoever knows the value of each rank; nothing of none.
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

/// How many samples a percentile needs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SampleSize {
    /// One.
    Any,
    /// As many requests as make one of them lie beyond it: 10 for p90, 100 for p99, 1000 for p99.9.
    /// Below that the number would be an interpolation towards the maximum. The gaps of one request
    /// count as one.
    Resolving,
}

impl SampleSize {
    /// Fewest requests for a percentile.
    pub(crate) fn needs(self, percent: f64) -> usize {
        match self {
            Self::Any => 1,
            Self::Resolving if percent >= 100.0 => 1,
            // The slack keeps 99.9, which no binary fraction is, from asking for 1001.
            Self::Resolving => whole((100.0 / (100.0 - percent) - 1e-6).ceil()),
        }
    }
}

/// What an empty sample shows.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmptySample {
    /// Nothing.
    Absent,
    /// Zeros.
    Zero,
    /// Zeros, except for the E2E latency, which is absent: a server that answered nothing did not
    /// answer in no time.
    ZeroButE2el,
}
