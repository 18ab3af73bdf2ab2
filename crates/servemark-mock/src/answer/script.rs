//! What a stream says, piece by piece, in whichever dialect.

use std::num::NonZeroU32;

use super::template::Template;

/// The events of one stream.
#[derive(Debug)]
pub(crate) struct Script {
    /// Events before the first token.
    pub(super) opening: String,
    /// The event of a piece.
    pub(super) piece: Template,
    /// The event of the last piece, where it is another.
    pub(super) last_piece: Option<Template>,
    /// Events after the last token.
    pub(super) closing: String,
    /// Whether the dialect has an end mark.
    pub(super) end_mark: bool,
    pub(super) length: Length,
}

impl Script {
    /// Appends the event of a piece.
    pub(super) fn render(&self, piece: u32, out: &mut Vec<u8>) {
        let is_last = piece + 1 == self.length.pieces();
        let template = self.last_piece.as_ref().filter(|_| is_last).unwrap_or(&self.piece);
        let (from, until) = self.length.tokens_of(piece);
        template.render(from, until, out);
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
    fn tokens_of(self, piece: u32) -> (u32, u32) {
        let from = piece * self.tokens_per_piece.get();
        (from, from.saturating_add(self.tokens_per_piece.get()).min(self.tokens))
    }
}
