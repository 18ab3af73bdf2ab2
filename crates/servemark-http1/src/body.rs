//! Reads a body out of its framing.

use crate::chunks::Chunks;
use crate::piece::{Piece, take};
use crate::{Framing, Malformed};

/// A body that is being read.
#[derive(Clone, Debug)]
pub struct Body {
    rest: Rest,
}

#[derive(Clone, Debug)]
enum Rest {
    Chunks(Chunks),
    Length(u64),
    UntilClose,
}

impl Body {
    /// Creates an unread body.
    pub fn new(framing: Framing) -> Self {
        let rest = match framing {
            Framing::Chunked => Rest::Chunks(Chunks::default()),
            Framing::Length(length) => Rest::Length(length),
            Framing::UntilClose => Rest::UntilClose,
        };
        Self { rest }
    }

    /// Takes the next piece off the input. Call it until it returns [`More`](Piece::More) or
    /// [`End`](Piece::End).
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Piece<'a>, Malformed> {
        match &mut self.rest {
            Rest::Chunks(chunks) => chunks.next(input),
            Rest::Length(left) => Ok(take(left, input).unwrap_or(Piece::End)),
            Rest::UntilClose => {
                let mut endless = u64::MAX;
                Ok(take(&mut endless, input).unwrap_or(Piece::End))
            }
        }
    }

    /// Returns whether the end was read.
    pub fn is_over(&self) -> bool {
        match &self.rest {
            Rest::Chunks(chunks) => chunks.are_over(),
            Rest::Length(left) => *left == 0,
            Rest::UntilClose => false,
        }
    }

    /// Returns whether the body is complete if the connection ends here.
    pub fn may_end_here(&self) -> bool {
        self.is_over() || matches!(self.rest, Rest::UntilClose)
    }
}

#[cfg(test)]
mod tests;
