//! One piece of output and the columns in which a request keeps its pieces.

use serde::{Deserialize, Serialize};

use crate::{Arrival, Stamp};

/// One piece of output as a decoder finds it. When it arrived is the recorder's business.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Delta<'a> {
    /// What the piece is part of.
    pub kind: DeltaKind,
    /// Its text; may be empty where the server counts a token whose text it still holds back.
    pub text: &'a str,
    /// How many tokens it stands for, if the wire says so.
    pub tokens: Option<u32>,
}

impl<'a> Delta<'a> {
    /// A piece of the answer whose token count the wire does not give.
    pub const fn content(text: &'a str) -> Self {
        Self { kind: DeltaKind::Content, text, tokens: None }
    }

    /// The same piece as another kind of output.
    #[must_use]
    pub const fn of_kind(self, kind: DeltaKind) -> Self {
        Self { kind, ..self }
    }

    /// The same piece with the token count that the wire gives.
    #[must_use]
    pub const fn with_tokens(self, tokens: Option<u32>) -> Self {
        Self { tokens, ..self }
    }
}

/// What a piece of output is part of. All three are output tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeltaKind {
    /// The answer.
    #[default]
    Content,
    /// The reasoning before it.
    Reasoning,
    /// The name or the arguments of a tool call.
    ToolCall,
}

/// What the server says it counted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u32>,
    /// Tokens of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u32>,
    /// Tokens of the prompt that came from a prefix cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
    /// Where in the server they were, if it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_details: Option<CachedDetails>,
    /// Steps of speculative decoding in which its guesses were checked, each of which yields a
    /// token or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_steps: Option<u32>,
}

/// Where in the server cached prompt tokens were.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CachedDetails {
    /// In the accelerator's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// In the machine's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<u32>,
    /// In a storage beyond it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<u32>,
}

impl CachedDetails {
    /// Details of the three places.
    pub const fn new(device: Option<u32>, host: Option<u32>, storage: Option<u32>) -> Self {
        Self { device, host, storage }
    }

    /// The tokens of all places.
    pub fn total(&self) -> u32 {
        let places = [self.device, self.host, self.storage].into_iter().flatten();
        places.fold(0, u32::saturating_add)
    }
}

impl Usage {
    /// The two counts that every dialect has.
    pub const fn new(prompt_tokens: Option<u32>, completion_tokens: Option<u32>) -> Self {
        Self {
            prompt_tokens,
            completion_tokens,
            cached_tokens: None,
            cached_details: None,
            verify_steps: None,
        }
    }

    /// The same with the count of cached prompt tokens.
    #[must_use]
    pub const fn with_cached(self, cached_tokens: Option<u32>) -> Self {
        Self { cached_tokens, ..self }
    }

    /// The same with where the cached tokens were.
    #[must_use]
    pub const fn with_cached_details(self, cached_details: Option<CachedDetails>) -> Self {
        Self { cached_details, ..self }
    }

    /// The same with the steps of speculative decoding.
    #[must_use]
    pub const fn with_verify_steps(self, verify_steps: Option<u32>) -> Self {
        Self { verify_steps, ..self }
    }
}

/// Where a decoder puts what it finds. [`Recorder::at`](crate::Recorder::at) makes one that knows
/// the time; a test can use a plain list.
pub trait Sink {
    /// A piece of output.
    fn delta(&mut self, delta: Delta<'_>);
    /// The server's own counts; the last word wins, field by field.
    fn usage(&mut self, usage: Usage);
    /// Why the server stopped.
    fn finish_reason(&mut self, reason: &str);
    /// The name of the storage in which cached prompt tokens were. Whoever has no use for it leaves
    /// this out.
    fn cache_storage(&mut self, name: &str) {
        let _ = name;
    }
}

/// Every piece of output of one request, as columns: one push per piece, no allocation per piece
/// once the expected length is reserved.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct DeltaLog {
    at: Vec<Stamp>,
    bytes: Vec<u32>,
    #[serde(skip_serializing_if = "all_unknown")]
    tokens: Vec<Option<u32>>,
    #[serde(skip_serializing_if = "all_content")]
    kinds: Vec<DeltaKind>,
    #[serde(skip_serializing_if = "all_zero")]
    lag_us: Vec<u32>,
}

/// One row of a [`DeltaLog`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DeltaRow {
    /// When the piece arrived.
    pub at: Stamp,
    /// The length of its text in bytes.
    pub bytes: u32,
    /// How many tokens it stands for, if the wire said so.
    pub tokens: Option<u32>,
    /// What it is part of.
    pub kind: DeltaKind,
    /// For how many microseconds it had arrived when the client saw it; zero where only the
    /// client's own clock says when it arrived.
    pub lag_us: u32,
}

impl DeltaLog {
    /// A log with room for `expected` pieces.
    pub fn with_capacity(expected: usize) -> Self {
        Self {
            at: Vec::with_capacity(expected),
            bytes: Vec::with_capacity(expected),
            tokens: Vec::with_capacity(expected),
            kinds: Vec::with_capacity(expected),
            lag_us: Vec::with_capacity(expected),
        }
    }

    /// Appends a piece.
    pub fn push(&mut self, arrival: impl Into<Arrival>, delta: Delta<'_>) {
        let arrival = arrival.into();
        self.at.push(arrival.at());
        self.lag_us.push(arrival.lag_us());
        self.bytes.push(u32::try_from(delta.text.len()).unwrap_or(u32::MAX));
        self.tokens.push(delta.tokens);
        self.kinds.push(delta.kind);
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// When the first piece arrived.
    pub fn first_at(&self) -> Option<Stamp> {
        self.at.first().copied()
    }

    /// The pieces in order of arrival.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = DeltaRow> + '_ {
        // A column that was left out of a file stands for its default in every row.
        self.at.iter().zip(&self.bytes).enumerate().map(|(row, (&at, &bytes))| DeltaRow {
            at,
            bytes,
            tokens: self.tokens.get(row).copied().flatten(),
            kind: self.kinds.get(row).copied().unwrap_or_default(),
            lag_us: self.lag_us.get(row).copied().unwrap_or_default(),
        })
    }
}

/// Two logs are equal if their rows are, whether or not a column was left out of a file.
impl PartialEq for DeltaLog {
    fn eq(&self, other: &Self) -> bool {
        self.rows().eq(other.rows())
    }
}

fn all_unknown(tokens: &[Option<u32>]) -> bool {
    tokens.iter().all(Option::is_none)
}

fn all_content(kinds: &[DeltaKind]) -> bool {
    kinds.iter().all(|kind| *kind == DeltaKind::Content)
}

fn all_zero(lags_us: &[u32]) -> bool {
    lags_us.iter().all(|lag_us| *lag_us == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn round_trips(log: &DeltaLog, json: &str) {
        assert_eq!(serde_json::to_string(log).unwrap(), json);
        let back: DeltaLog = serde_json::from_str(json).unwrap();
        assert_eq!(&back, log);
    }

    #[test]
    fn a_plain_answer_is_two_columns() {
        let mut log = DeltaLog::with_capacity(2);
        log.push(Stamp::from_nanos(1), Delta::content("a"));
        log.push(Stamp::from_nanos(3), Delta::content("bc"));
        round_trips(&log, r#"{"at":[1,3],"bytes":[1,2]}"#);
    }

    #[test]
    fn a_lag_is_kept_where_it_is_known() {
        let (arrived, seen) = (Stamp::from_nanos(1), Stamp::from_nanos(30_001));
        let mut log = DeltaLog::default();
        log.push(Arrival::new(arrived, seen), Delta::content("a"));
        round_trips(&log, r#"{"at":[1],"bytes":[1],"lag_us":[30]}"#);
    }

    #[test]
    fn counts_and_kinds_are_kept_when_they_say_something() {
        let mut log = DeltaLog::default();
        log.push(Stamp::ZERO, Delta::content("a").of_kind(DeltaKind::Reasoning));
        log.push(Stamp::ZERO, Delta::content("b").with_tokens(Some(2)));
        round_trips(
            &log,
            r#"{"at":[0,0],"bytes":[1,1],"tokens":[null,2],"kinds":["reasoning","content"]}"#,
        );
    }
}
