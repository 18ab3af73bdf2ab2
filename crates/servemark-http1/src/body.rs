//! A body out of its framing.

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

/// What comes next of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'a> {
    /// Bytes of it.
    Data(&'a [u8]),
    /// Nothing before more is read.
    More,
    /// Its end; what is left of the input is not its own.
    End,
}

impl Body {
    /// A body of which nothing was read.
    pub fn new(framing: Framing) -> Self {
        let rest = match framing {
            Framing::Chunked => Rest::Chunks(Chunks::default()),
            Framing::Length(length) => Rest::Length(length),
            Framing::UntilClose => Rest::UntilClose,
        };
        Self { rest }
    }

    /// Takes the next piece off the input. Call it until it says [`More`](Piece::More) or
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

    /// Whether its end was read.
    pub fn is_over(&self) -> bool {
        match &self.rest {
            Rest::Chunks(chunks) => chunks.are_over(),
            Rest::Length(left) => *left == 0,
            Rest::UntilClose => false,
        }
    }

    /// Whether it is whole if the connection ends here.
    pub fn may_end_here(&self) -> bool {
        self.is_over() || matches!(self.rest, Rest::UntilClose)
    }
}

/// At most `left` bytes of the input; nothing if there are none left to take.
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
