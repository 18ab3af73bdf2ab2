//! What a stream says, piece by piece, in whichever dialect.

use std::num::NonZeroU32;

use super::template::{Filling, Template};

/// The events of a stream, for whichever request.
#[derive(Debug)]
pub(crate) struct Script {
    /// Events before the first token of a choice.
    pub(super) opening: Template,
    /// The event of a piece.
    pub(super) piece: Template,
    /// The event of the last piece, where it is another.
    pub(super) last_piece: Option<Template>,
    /// Events after the last token of a choice.
    pub(super) ending: Template,
    /// Events after the last token of all choices.
    pub(super) closing: Template,
    /// Whether the dialect has an end mark.
    pub(super) end_mark: bool,
    /// What the body is a stream of.
    pub(super) body: Body,
    /// How many numbered events come before the first piece.
    pub(super) numbered_before: u32,
}

/// What the body of a stream is made of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Body {
    /// Server-sent events.
    Events,
    /// Lines of JSON.
    Lines,
}

impl Body {
    /// The content type by which it is announced.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream; charset=utf-8",
            Self::Lines => "application/x-ndjson",
        }
    }
}

/// What one choice of one prompt has of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The place of its choice among all choices of all prompts.
    pub(super) index: u32,
    /// The request's number.
    pub(super) number: u64,
    pub(super) prompt_tokens: u32,
    pub(super) length: Length,
}

impl Script {
    /// Appends what comes before the first piece.
    pub(super) fn open(&self, part: &Part, out: &mut Vec<u8>) {
        self.opening.render(&part.filling(0, 0, 0), out);
    }

    /// Appends the event of a piece.
    pub(super) fn tell(&self, part: &Part, piece: u32, out: &mut Vec<u8>) {
        let is_last = piece + 1 == part.length.pieces();
        let template = self.last_piece.as_ref().filter(|_| is_last).unwrap_or(&self.piece);
        let (from, until) = part.length.tokens_of(piece);
        template.render(&part.filling(from, until, self.numbered_before + piece), out);
    }

    /// Appends what comes after the last piece of a choice.
    pub(super) fn end(&self, part: &Part, out: &mut Vec<u8>) {
        let (tokens, sequence) = (part.length.tokens, self.numbered_before + part.length.pieces());
        self.ending.render(&part.filling(tokens, tokens, sequence), out);
    }

    /// Appends what comes after the last piece of all choices, with the counts of all.
    pub(super) fn close(&self, part: &Part, all: Total, out: &mut Vec<u8>) {
        let whole = Part { prompt_tokens: all.prompt_tokens, ..*part };
        self.closing.render(&whole.filling(0, all.tokens, 0), out);
    }
}

/// The counts of all choices of an answer together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total {
    pub(super) prompt_tokens: u32,
    pub(super) tokens: u32,
}

impl Part {
    fn filling(&self, from: u32, until: u32, sequence: u32) -> Filling {
        let &Self { index, number, prompt_tokens, .. } = self;
        Filling { number, index, prompt_tokens, from, until, sequence }
    }
}

/// How long an answer is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub(super) tokens: u32,
    pub(super) tokens_per_piece: NonZeroU32,
}

impl Length {
    pub(super) fn pieces(self) -> u32 {
        self.tokens.div_ceil(self.tokens_per_piece.get())
    }

    /// The piece that ends the answer; the first if there is none.
    pub(super) fn last_piece(self) -> u32 {
        self.pieces().saturating_sub(1)
    }

    /// The first token of a piece and the first that is no longer of it.
    pub(super) fn tokens_of(self, piece: u32) -> (u32, u32) {
        let from = piece * self.tokens_per_piece.get();
        (from, from.saturating_add(self.tokens_per_piece.get()).min(self.tokens))
    }
}
