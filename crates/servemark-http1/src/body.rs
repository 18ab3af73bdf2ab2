//! Reads a body out of its framing.

use crate::chunks::Chunks;
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

/// The next part of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'a> {
    /// Bytes of the body.
    Data(&'a [u8]),
    /// All input is used up; the body has more.
    More,
    /// The end of the body; the rest of the input does not belong to it.
    End,
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

/// Takes at most `left` bytes off the input; `None` if `left` is zero.
pub(crate) fn take<'a>(left: &mut u64, input: &mut &'a [u8]) -> Option<Piece<'a>> {
    if *left == 0 {
        return None;
    }
    if input.is_empty() {
        return Some(Piece::More);
    }
    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    let (data, rest) = input.split_at(length);
    *input = rest;
    *left -= length as u64;
    Some(Piece::Data(data))
}

#[cfg(test)]
mod tests;
