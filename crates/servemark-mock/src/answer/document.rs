//! An answer that is one document.

use std::num::NonZeroUsize;

use servemark_core::Stamp;

use super::injected::{Content, Injected, Interruption, Status};
use super::script::Length;
use super::shapes::error_document;
use super::{Schedule, Step};
use crate::http::{End, Framing, KeepAlive, json_document};

/// An answer that is one document, sent in a single step.
#[derive(Debug)]
pub(crate) struct Document {
    due: Stamp,
    bytes: Vec<u8>,
    step: Step,
    split: Option<NonZeroUsize>,
}

impl Document {
    /// Returns the whole answer with additional headers, due when the last piece of a stream would
    /// be.
    pub(crate) fn new(
        body: &str,
        length: Length,
        schedule: &Schedule,
        (injected, headers): (&Injected, &str),
        keep_alive: KeepAlive,
    ) -> Self {
        let last = length.last_piece();
        let due = schedule.piece_out(last).max(schedule.head());
        let body = if injected.content == Content::All { body } else { "" };
        let mut whole = Self::response(200, (body, headers), due, injected, keep_alive);
        match (0..=last).find_map(|piece| injected.interruption(piece)) {
            Some(Interruption::Cut) => {
                whole.bytes.truncate(whole.bytes.len() - body.len().div_ceil(2));
                whole.step = Step { end: Some(End::Close), ..Step::default() };
            }
            Some(Interruption::Hang) => {
                whole.bytes.clear();
                whole.step = Step { end: Some(End::Hang), ..Step::default() };
            }
            Some(Interruption::BadFrame | Interruption::Error(_)) | None => {}
        }
        whole
    }

    /// Sets the number of tokens in the document's output.
    #[must_use]
    pub(crate) fn with_tokens(mut self, tokens: u32) -> Self {
        self.step.tokens = if self.step.pieces > 0 { tokens.into() } else { 0 };
        self
    }

    /// Returns an error status in place of the answer, due when a response's head is.
    pub(crate) fn status(
        status: &Status,
        schedule: &Schedule,
        injected: &Injected,
        keep_alive: KeepAlive,
    ) -> Self {
        let usual = || error_document(status.code, "an injected error");
        let body = status.body.clone().unwrap_or_else(usual);
        let due = schedule.head();
        let refusal = Self::response(status.code, (&body, ""), due, injected, keep_alive);
        Self { step: Step { pieces: 0, ..refusal.step }, ..refusal }
    }

    pub(super) fn due(&self) -> Stamp {
        self.due
    }

    pub(super) fn split(&self) -> Option<NonZeroUsize> {
        self.split
    }

    pub(super) fn step(&mut self, out: &mut Vec<u8>) -> Step {
        out.append(&mut self.bytes);
        self.step
    }

    fn response(
        code: u16,
        (body, headers): (&str, &str),
        due: Stamp,
        injected: &Injected,
        keep_alive: KeepAlive,
    ) -> Self {
        let (framing, keep_alive) = if injected.close_delimited {
            (Framing::Close, KeepAlive::No)
        } else {
            (Framing::Length(body.len()), keep_alive)
        };
        let bytes = json_document(code, body, headers, framing, keep_alive);
        let pieces = usize::from(!body.is_empty());
        let step = Step { pieces, end: Some(keep_alive.into()), ..Step::default() };
        Self { due, bytes, step, split: injected.split }
    }
}
