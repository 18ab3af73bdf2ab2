//! What a decoder finds in an answer, and where it puts it.

use serde::{Deserialize, Serialize};

use crate::OddCount;

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

/// What the server says of its own times of a request, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerTimes {
    /// For how long it waited until it was worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_ms: Option<f64>,
    /// From there to its first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<f64>,
}

impl ServerTimes {
    /// Times of a request.
    pub const fn new(queue_ms: Option<f64>, ttft_ms: Option<f64>) -> Self {
        Self { queue_ms, ttft_ms }
    }
}

/// Where a decoder puts what it finds. [`Recorder::at`](crate::Recorder::at) makes one that knows
/// the time; a test can use a plain list.
pub trait Sink {
    /// What follows is of the answer to this prompt of a batch. Whoever reads the answer to one
    /// prompt alone leaves this out.
    fn prompt(&mut self, place: usize) {
        let _ = place;
    }
    /// A piece of output.
    fn delta(&mut self, delta: Delta<'_>);
    /// The server's own counts; the last word wins, field by field.
    fn usage(&mut self, usage: Usage);
    /// Why the server stopped.
    fn finish_reason(&mut self, reason: &str);
    /// An event of the answer that brings no output. Whoever has no use for it leaves this out.
    fn silent_event(&mut self) {}
    /// The name of the storage in which cached prompt tokens were. Whoever has no use for it leaves
    /// this out.
    fn cache_storage(&mut self, name: &str) {
        let _ = name;
    }
    /// The server's own times of this request; the last word wins. Whoever has no use for them
    /// leaves this out.
    fn server_times(&mut self, times: ServerTimes) {
        let _ = times;
    }
    /// A token count that is no JSON integer. The default leaves it out.
    fn odd_count(&mut self, count: OddCount) {
        let _ = count;
    }
}
