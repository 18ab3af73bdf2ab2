//! The events of a stream, independent of the dialect.

use std::num::NonZeroU32;

use super::TrueTimes;
use super::template::{Filling, Template};

/// The events of a stream as templates that serve every request of one form.
#[derive(Debug)]
pub(crate) struct Script {
    /// Events before the first token of a choice.
    pub(super) opening: Template,
    /// The event of a piece.
    pub(super) piece: Template,
    /// The event of the last piece, where it differs from the others.
    pub(super) last_piece: Option<Template>,
    /// Events after the last token of a choice.
    pub(super) ending: Template,
    /// Events after the last token of all choices.
    pub(super) closing: Template,
    /// Whether the dialect has an end mark.
    pub(super) end_mark: bool,
    /// The framing of the events in the body.
    pub(super) body: Body,
    /// The number of numbered events before the first piece.
    pub(super) numbered_before: u32,
}

/// The framing of a stream's events in its body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Body {
    /// Server-sent events.
    Events,
    /// Lines of JSON.
    Lines,
}

impl Body {
    /// The `content-type` of such a body.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream; charset=utf-8",
            Self::Lines => "application/x-ndjson",
        }
    }
}

/// What is specific to one choice of one prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Zero-based index of the choice among all choices of all prompts.
    pub(super) index: u32,
    /// The one-based number of the request.
    pub(super) number: u64,
    pub(super) prompt_tokens: u32,
    pub(super) length: Length,
    pub(super) times: TrueTimes,
    pub(super) cached: u32,
}

impl Script {
    /// Appends the events before the first piece.
    pub(super) fn open(&self, part: &Part, out: &mut Vec<u8>) {
        self.opening.render(&part.filling(0, 0, 0), out);
    }

    /// Appends the event of a piece.
    pub(super) fn append_event(&self, part: &Part, piece: u32, out: &mut Vec<u8>) {
        let is_last = piece + 1 == part.length.pieces();
        let template = self.last_piece.as_ref().filter(|_| is_last).unwrap_or(&self.piece);
        let (from, until) = part.length.tokens_of(piece);
        template.render(&part.filling(from, until, self.numbered_before + piece), out);
    }

    /// Appends the events after the last piece of a choice.
    pub(super) fn end(&self, part: &Part, out: &mut Vec<u8>) {
        let (tokens, sequence) = (part.length.tokens, self.numbered_before + part.length.pieces());
        self.ending.render(&part.filling(tokens, tokens, sequence), out);
    }

    /// Appends the events after the last piece of all choices, with the counts of all of them.
    pub(super) fn close(&self, part: &Part, all: Total, out: &mut Vec<u8>) {
        let whole = Part { prompt_tokens: all.prompt_tokens, ..*part };
        self.closing.render(&whole.filling(0, all.tokens, 0), out);
    }
}

/// The token counts of all choices of an answer together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total {
    pub(super) prompt_tokens: u32,
    pub(super) tokens: u32,
}

impl Part {
    fn filling(&self, from: u32, until: u32, sequence: u32) -> Filling {
        let &Self { index, number, prompt_tokens, times, cached, .. } = self;
        Filling { number, index, prompt_tokens, from, until, sequence, times, cached }
    }
}

/// The length of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub(super) tokens: u32,
    pub(super) tokens_per_piece: NonZeroU32,
}

impl Length {
    pub(super) fn pieces(self) -> u32 {
        self.tokens.div_ceil(self.tokens_per_piece.get())
    }

    /// The index of the last piece; zero if the answer has none.
    pub(super) fn last_piece(self) -> u32 {
        self.pieces().saturating_sub(1)
    }

    /// Returns the range of tokens in a piece: the first one, and the first one after it.
    pub(super) fn tokens_of(self, piece: u32) -> (u32, u32) {
        let from = piece * self.tokens_per_piece.get();
        (from, from.saturating_add(self.tokens_per_piece.get()).min(self.tokens))
    }
}
