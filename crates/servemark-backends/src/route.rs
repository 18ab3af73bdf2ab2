//! What a plan must know of a wire dialect beside its codec.

use std::borrow::Cow;

/// An API route: its path, the prompts that it takes, and whether its answers consist of tokens.
///
/// Each dialect declares its own; the dialects of other clients build theirs.
///
/// ```
/// use servemark_backends::Route;
///
/// assert_eq!(Route::CHAT.path(), "/v1/chat/completions");
/// assert!(Route::CHAT.takes_messages() && !Route::CHAT.takes_ids());
/// assert!(!Route::EMBEDDINGS.generates());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Route {
    path: &'static str,
    answer: AnswerContent,
    messages: Messages,
    ids: Ids,
}

/// A bundled dialect, which knows its route.
pub(crate) trait Dialect {
    /// Returns the route. Its path is the usual one, which the options may override.
    fn route(&self) -> Route;

    /// Returns the path of requests if the options have one of their own.
    fn own_path(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the name by which another client or the program selects the dialect; `None` for those
    /// that a [`BackendName`](crate::BackendName) selects.
    fn own_name(&self) -> Option<&str> {
        None
    }
}

/// Content of an answer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum AnswerContent {
    Tokens,
    Scores,
}

/// Treatment of a prompt that consists of messages.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Messages {
    Taken,
    /// Sent in the place of a text, as SGLang's client does.
    Passed,
    Refused,
}

/// Treatment of a prompt that consists of token ids.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Ids {
    Taken,
    Refused,
}

impl Route {
    /// Creates a route that takes texts only and answers with tokens.
    pub(crate) const fn at(path: &'static str) -> Self {
        Self { path, answer: AnswerContent::Tokens, messages: Messages::Refused, ids: Ids::Refused }
    }

    /// Answers with vectors or scores instead of tokens.
    pub(crate) const fn with_scores(mut self) -> Self {
        self.answer = AnswerContent::Scores;
        self
    }

    /// Takes messages.
    pub(crate) const fn with_messages(mut self) -> Self {
        self.messages = Messages::Taken;
        self
    }

    /// Sends messages in the place of a text.
    pub(crate) const fn with_passed_messages(mut self) -> Self {
        self.messages = Messages::Passed;
        self
    }

    /// Takes token ids.
    pub(crate) const fn with_ids(mut self) -> Self {
        self.ids = Ids::Taken;
        self
    }

    /// Returns the path of requests, relative to the target's base URL.
    pub const fn path(self) -> &'static str {
        self.path
    }

    /// Returns whether an answer consists of tokens, unlike embeddings and rankings.
    pub const fn generates(self) -> bool {
        matches!(self.answer, AnswerContent::Tokens)
    }

    /// Returns whether the route accepts messages, and thus conversations of several turns.
    pub const fn takes_messages(self) -> bool {
        matches!(self.messages, Messages::Taken)
    }

    /// Returns whether messages are sent as they stand, as SGLang's client does, although the
    /// server takes texts.
    pub const fn passes_messages(self) -> bool {
        matches!(self.messages, Messages::Passed)
    }

    /// Returns whether the route accepts token ids in place of text.
    pub const fn takes_ids(self) -> bool {
        matches!(self.ids, Ids::Taken)
    }
}
