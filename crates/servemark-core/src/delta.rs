//! What a decoder extracts from an answer, and the sink that receives it.

use serde::{Deserialize, Serialize};

use crate::{OddCount, ServerTimes};

/// One piece of output as a decoder finds it. The recorder adds its arrival time.
///
/// ```
/// use servemark_core::{Delta, DeltaKind};
///
/// let piece = Delta::content("Hel").of_kind(DeltaKind::Reasoning).with_tokens(Some(1));
/// assert_eq!((piece.text, piece.tokens), ("Hel", Some(1)));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Delta<'a> {
    /// What the piece is a part of.
    pub kind: DeltaKind,
    /// Text of the piece; may be empty where the server counts a token but still holds back its
    /// text.
    pub text: &'a str,
    /// Number of tokens in the piece, if the wire gives it.
    pub tokens: Option<u32>,
}

impl<'a> Delta<'a> {
    /// Creates a piece of the answer without a token count.
    pub const fn content(text: &'a str) -> Self {
        Self { kind: DeltaKind::Content, text, tokens: None }
    }

    /// Sets the kind of output.
    #[must_use]
    pub const fn of_kind(self, kind: DeltaKind) -> Self {
        Self { kind, ..self }
    }

    /// Sets the token count given by the wire.
    #[must_use]
    pub const fn with_tokens(self, tokens: Option<u32>) -> Self {
        Self { tokens, ..self }
    }
}

/// What a piece of output is a part of. All kinds are output tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeltaKind {
    /// The answer.
    #[default]
    Content,
    /// The reasoning that precedes the answer.
    Reasoning,
    /// The name or the arguments of a tool call.
    ToolCall,
}

/// Token counts as reported by the server.
///
/// ```
/// use servemark_core::Usage;
///
/// let usage = Usage::new(Some(120), Some(16)).with_cached(Some(64));
/// assert_eq!(usage.cached_tokens, Some(64));
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// Number of prompt tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u32>,
    /// Number of output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u32>,
    /// Number of prompt tokens taken from a prefix cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
    /// Number of cached prompt tokens by storage tier, if the server reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_details: Option<CachedDetails>,
    /// Number of verification steps of speculative decoding, each of which yields one or more
    /// tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_steps: Option<u32>,
}

/// Number of cached prompt tokens by storage tier.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CachedDetails {
    /// Tokens in the accelerator's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// Tokens in the machine's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<u32>,
    /// Tokens in storage beyond the machine's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<u32>,
}

impl CachedDetails {
    /// Creates the counts of the three tiers.
    pub const fn new(device: Option<u32>, host: Option<u32>, storage: Option<u32>) -> Self {
        Self { device, host, storage }
    }

    /// Returns the sum over all tiers.
    pub fn total(&self) -> u32 {
        let places = [self.device, self.host, self.storage].into_iter().flatten();
        places.fold(0, u32::saturating_add)
    }
}

impl Usage {
    /// Creates a usage from the two counts that every dialect has.
    pub const fn new(prompt_tokens: Option<u32>, completion_tokens: Option<u32>) -> Self {
        Self {
            prompt_tokens,
            completion_tokens,
            cached_tokens: None,
            cached_details: None,
            verify_steps: None,
        }
    }

    /// Sets the count of cached prompt tokens.
    #[must_use]
    pub const fn with_cached(self, cached_tokens: Option<u32>) -> Self {
        Self { cached_tokens, ..self }
    }

    /// Sets the cached prompt tokens by storage tier.
    #[must_use]
    pub const fn with_cached_details(self, cached_details: Option<CachedDetails>) -> Self {
        Self { cached_details, ..self }
    }

    /// Sets the number of verification steps of speculative decoding.
    #[must_use]
    pub const fn with_verify_steps(self, verify_steps: Option<u32>) -> Self {
        Self { verify_steps, ..self }
    }
}

/// Receives what a decoder finds. [`Recorder::at`](crate::Recorder::at) returns a sink that stamps
/// it; a test can use a plain list.
///
/// ```
/// use servemark_core::{Delta, Sink, Usage};
///
/// #[derive(Default)]
/// struct Text(String);
///
/// impl Sink for Text {
///     fn delta(&mut self, delta: Delta<'_>) {
///         self.0.push_str(delta.text);
///     }
///     fn usage(&mut self, _usage: Usage) {}
///     fn finish_reason(&mut self, _reason: &str) {}
/// }
///
/// let mut text = Text::default();
/// ["Hel", "lo"].map(|piece| text.delta(Delta::content(piece)));
/// assert_eq!(text.0, "Hello");
/// ```
pub trait Sink {
    /// Says that what follows belongs to the answer to the prompt at position `place` of a batch.
    /// The default ignores it, for answers to a single prompt.
    fn prompt(&mut self, place: usize) {
        let _ = place;
    }
    /// Receives a piece of output.
    fn delta(&mut self, delta: Delta<'_>);
    /// Receives the server's own counts; later values replace earlier ones, field by field.
    fn usage(&mut self, usage: Usage);
    /// Receives the reason why the server stopped.
    fn finish_reason(&mut self, reason: &str);
    /// Receives an event of the answer that carries no output. The default ignores it.
    fn silent_event(&mut self) {}
    /// Says that each event of the answer holds all text so far, of which only the new part is
    /// passed on. The default ignores it.
    fn restated(&mut self) {}
    /// Receives the name of the storage that held cached prompt tokens. The default ignores it.
    fn cache_storage(&mut self, name: &str) {
        let _ = name;
    }
    /// Receives the server's own times of this request; later values replace earlier ones. The
    /// default ignores them.
    fn server_times(&mut self, times: ServerTimes) {
        let _ = times;
    }
    /// Receives a token count that is not a JSON integer. The default ignores it.
    fn odd_count(&mut self, count: OddCount) {
        let _ = count;
    }
}
