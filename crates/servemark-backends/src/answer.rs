//! The state of a decoder that all dialects share: whether there was output, whether the answer
//! ended, and the server's token counts.

use std::ops::ControlFlow;

use servemark_core::{Delta, ErrorKind, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use crate::Flow;
use crate::wire::{Frame, believable};

/// The state of an answer, with a dialect's own state `S` for each of its `n` choices.
#[derive(Clone, Debug)]
pub(crate) struct Answer<S> {
    expected_tokens: u32,
    has_output: bool,
    has_counted: bool,
    is_over: bool,
    choices: Vec<Choice<S>>,
}

#[derive(Clone, Debug)]
struct Choice<S> {
    index: u32,
    is_finished: bool,
    state: S,
}

impl<S: Default> Answer<S> {
    /// Returns the initial state for the answer to a sample.
    pub(crate) fn to(sample: &Sample) -> Self {
        Self {
            expected_tokens: sample.output_tokens,
            has_output: false,
            has_counted: false,
            is_over: false,
            choices: Vec::new(),
        }
    }

    /// Returns the initial state for an answer that must have output, even if no tokens were asked
    /// for.
    pub(crate) fn with_output(sample: &Sample) -> Self {
        Self { expected_tokens: sample.output_tokens.max(1), ..Self::to(sample) }
    }

    /// Returns the dialect's state of the choice at `index`, which is created on first use.
    pub(crate) fn choice(&mut self, index: u32) -> &mut S {
        &mut self.entry(index).state
    }

    /// Passes a piece of output on to `out`.
    pub(crate) fn delta(&mut self, delta: Delta<'_>, out: &mut dyn Sink) {
        self.has_output = true;
        out.delta(delta);
    }

    /// Passes the server's counts on to `out`, unless they are placeholders.
    pub(crate) fn usage(&mut self, usage: Usage, out: &mut dyn Sink) {
        if let Some(usage) = believable(usage) {
            self.has_counted |= usage.completion_tokens > Some(0);
            out.usage(usage);
        }
    }

    /// Records that the server ended a choice, with its reason. Fails if the server gave the choice
    /// up.
    pub(crate) fn finish(
        &mut self,
        index: u32,
        reason: &str,
        message: Option<&str>,
        out: &mut dyn Sink,
    ) -> Result<(), RequestError> {
        self.entry(index).is_finished = true;
        if GIVEN_UP.contains(&reason) {
            let why = message.unwrap_or("the server does not say why");
            return Err(RequestError::new(ErrorKind::InStream, format!("{reason}: {why}")));
        }
        out.finish_reason(reason);
        Ok(())
    }

    /// Classifies an event of the stream: returns its JSON, or the meaning of an event without any.
    pub(crate) fn event<'e>(
        &mut self,
        event: Event<'e>,
    ) -> Result<ControlFlow<Flow, &'e [u8]>, RequestError> {
        Ok(match Frame::of_event(event)? {
            Frame::Blank => ControlFlow::Break(Flow::Continue),
            Frame::Done => {
                self.over();
                ControlFlow::Break(Flow::Done)
            }
            Frame::Json(json) => ControlFlow::Continue(json),
        })
    }

    /// Records that the dialect's end mark was read, or that the answer is a document and thus
    /// complete.
    pub(crate) fn over(&mut self) {
        self.is_over = true;
    }

    /// Returns the states of all choices that have one.
    pub(crate) fn choices(&self) -> impl Iterator<Item = &S> {
        self.choices.iter().map(|choice| &choice.state)
    }

    /// Returns an error unless the answer is complete after its last byte. An answer whose tokens
    /// the server has counted is complete even without text, because tokens can decode to nothing.
    pub(crate) fn end(&self) -> Result<(), RequestError> {
        let is_counted = self.has_counted && (self.is_over || self.has_finished());
        if !self.has_output && !is_counted && self.expected_tokens > 0 {
            return Err(RequestError::new(ErrorKind::Empty, "the answer holds no output"));
        }
        if self.has_output && !self.is_over && !self.is_finished() {
            let story = "the answer stopped with neither a finish reason nor [DONE]";
            return Err(RequestError::new(ErrorKind::Truncated, story));
        }
        Ok(())
    }

    /// Whether the server has ended every choice.
    pub(crate) fn has_finished(&self) -> bool {
        !self.choices.is_empty() && self.is_finished()
    }

    fn is_finished(&self) -> bool {
        self.choices.iter().all(|choice| choice.is_finished)
    }

    fn entry(&mut self, index: u32) -> &mut Choice<S> {
        let known = self.choices.iter().position(|choice| choice.index == index);
        let position = known.unwrap_or(self.choices.len());
        if known.is_none() {
            self.choices.push(Choice { index, is_finished: false, state: S::default() });
        }
        &mut self.choices[position]
    }
}

/// Converts a server's running total of tokens to counts per piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenCounter {
    total: u32,
    missed_a_piece: bool,
}

impl TokenCounter {
    /// Returns the number of tokens in this piece.
    ///
    /// `None` if no total came with it or with the piece before it: a total after a gap also counts
    /// the pieces in the gap. If the total falls, because the server took tokens back, pieces count
    /// zero until the total exceeds its maximum, so that their sum equals the total.
    pub(crate) fn advance(&mut self, total: Option<u32>) -> Option<u32> {
        let Some(total) = total else {
            self.missed_a_piece = true;
            return None;
        };
        let new = total.saturating_sub(self.total);
        self.total = self.total.max(total);
        let counts_others = std::mem::take(&mut self.missed_a_piece);
        (!counts_others).then_some(new)
    }

    /// Returns the highest total so far.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }
}

/// The finish reasons of requests that the server gave up: `abort` in SGLang and vLLM, and `error`
/// in vLLM.
const GIVEN_UP: [&str; 2] = ["abort", "error"];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(totals: &[Option<u32>], new: &[Option<u32>]) {
        let mut counter = TokenCounter::default();
        let counted: Vec<_> = totals.iter().map(|total| counter.advance(*total)).collect();
        assert_eq!(counted, new);
    }

    #[test]
    fn a_running_total_is_cut_into_pieces() {
        check(&[Some(1), Some(2), Some(5)], &[Some(1), Some(1), Some(3)]);
    }

    #[test]
    fn a_total_after_a_gap_says_nothing_about_its_own_piece() {
        check(&[None, None, Some(3)], &[None, None, None]);
        check(&[Some(1), None, Some(3), Some(4)], &[Some(1), None, None, Some(1)]);
    }

    #[test]
    fn what_is_taken_back_is_not_counted_twice() {
        check(&[Some(5), Some(3), Some(4), Some(7)], &[Some(5), Some(0), Some(0), Some(2)]);
    }
}
