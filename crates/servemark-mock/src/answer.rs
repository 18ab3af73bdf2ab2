//! Answers as state machines: when the next bytes are due, and which bytes they are.
//!
//! Nothing here reads a clock or touches a socket. The event loop asks for the due time, and when it has
//! come, for the bytes; so a test can run an hour's answer in a millisecond.

mod ask;
mod decision;
mod dialect;
mod document;
mod injected;
mod logprobs;
mod schedule;
mod script;
mod scripts;
mod shapes;
mod stream;
mod template;
mod vectors;
mod words;

use std::num::NonZeroUsize;

use servemark_core::Stamp;

use crate::http::End;

pub(crate) use ask::{Ask, AskFault};
pub(crate) use dialect::{Author, Dialect};
pub(crate) use document::Document;
pub(crate) use injected::Injected;
pub(crate) use schedule::Schedule;
pub(crate) use scripts::Scripts;
pub(crate) use shapes::{error_document, refusal};
pub(crate) use stream::Stream;
pub(crate) use vectors::Vectors;

/// An answer that takes its time.
#[derive(Debug)]
pub(crate) enum Answer {
    Document(Document),
    Stream(Box<Stream>),
}

impl Answer {
    /// When the next step is due.
    pub(crate) fn due(&self) -> Stamp {
        match self {
            Self::Document(document) => document.due(),
            Self::Stream(stream) => stream.due(),
        }
    }

    /// Takes the next step: appends its bytes to `out` and says what they are.
    pub(crate) fn step(&mut self, out: &mut Vec<u8>) -> Step {
        match self {
            Self::Document(document) => document.step(out),
            Self::Stream(stream) => stream.step(out),
        }
    }

    /// The size of its writes, where it is not one per step.
    pub(crate) fn split(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Document(document) => document.split(),
            Self::Stream(stream) => stream.split(),
        }
    }

    /// How many pieces of output the next step has, unless a fault takes some of them away.
    pub(crate) fn next_pieces(&self) -> usize {
        match self {
            Self::Document(_) => 1,
            Self::Stream(stream) => stream.next_pieces(),
        }
    }

    /// How many pieces of output it will have.
    pub(crate) fn pieces(&self) -> usize {
        match self {
            Self::Document(_) => 1,
            Self::Stream(stream) => stream.pieces(),
        }
    }
}

/// What the bytes of one step are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Step {
    /// How many pieces of output are among them.
    pub(crate) pieces: usize,
    /// How many tokens those have together.
    pub(crate) tokens: u64,
    /// How the answer ends, if these are its last bytes.
    pub(crate) end: Option<End>,
}
