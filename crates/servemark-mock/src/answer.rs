//! Answers as state machines: when the next bytes are due, and which bytes they are.
//!
//! This module reads no clock and touches no socket. The event loop asks for the due time and, once
//! it has come, for the bytes; so a test can run an hour's answer in a millisecond.

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
mod times;
mod vectors;
mod words;

use std::num::NonZeroUsize;

use servemark_core::Stamp;

use crate::http::End;

pub(crate) use ask::{Ask, AskFault};
pub(crate) use dialect::{Dialect, ResponseBuilder};
pub(crate) use document::Document;
pub(crate) use injected::Injected;
pub(crate) use schedule::Schedule;
pub(crate) use script::Length;
pub(crate) use scripts::Scripts;
pub(crate) use shapes::{OLLAMA_TIME, error_document, refusal};
pub(crate) use stream::Stream;
pub(crate) use times::{TimesWords, TrueTimes};
pub(crate) use vectors::Vectors;

/// An answer that is sent on a schedule.
#[derive(Debug)]
pub(crate) enum MockAnswer {
    Document(Document),
    Stream(Box<Stream>),
}

impl MockAnswer {
    /// Returns when the next step is due.
    pub(crate) fn due(&self) -> Stamp {
        match self {
            Self::Document(document) => document.due(),
            Self::Stream(stream) => stream.due(),
        }
    }

    /// Takes the next step at `now`: appends its bytes to `out` and describes them.
    pub(crate) fn step(&mut self, now: Stamp, out: &mut Vec<u8>) -> Step {
        match self {
            Self::Document(document) => document.step(out),
            Self::Stream(stream) => stream.step(now, out),
        }
    }

    /// The largest size of one write in bytes; without one, each step is one write.
    pub(crate) fn split(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Document(document) => document.split(),
            Self::Stream(stream) => stream.split(),
        }
    }

    /// The number of pieces of output in the next step, unless a fault removes some of them.
    pub(crate) fn next_pieces(&self) -> usize {
        match self {
            Self::Document(_) => 1,
            Self::Stream(stream) => stream.next_pieces(),
        }
    }

    /// The number of pieces of output in the whole answer.
    pub(crate) fn pieces(&self) -> usize {
        match self {
            Self::Document(_) => 1,
            Self::Stream(stream) => stream.pieces(),
        }
    }
}

/// A description of the bytes of one step.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Step {
    /// The number of pieces of output among the bytes.
    pub(crate) pieces: usize,
    /// The number of tokens in those pieces.
    pub(crate) tokens: u64,
    /// How the answer ends, if these are its last bytes.
    pub(crate) end: Option<End>,
}
