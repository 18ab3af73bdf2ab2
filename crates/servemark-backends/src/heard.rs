//! What a decoder hands out, for tests that hold two ways of reading against each other.

use servemark_core::{Delta, RequestError, Sink, Usage};
use servemark_sse::Event;

use crate::{Decoder, Flow};

/// Everything a decoder hands out.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Heard(Vec<String>);

impl Sink for Heard {
    fn delta(&mut self, delta: Delta<'_>) {
        self.0.push(format!("{delta:?}"));
    }

    fn usage(&mut self, usage: Usage) {
        self.0.push(format!("{usage:?}"));
    }

    fn finish_reason(&mut self, reason: &str) {
        self.0.push(reason.to_owned());
    }
}

/// What each frame gives, and how many were not parsed. `is_unparsed` looks at the decoder before
/// each of them.
pub(crate) fn heard<D: Decoder>(
    mut decoder: D,
    frames: &[impl AsRef<[u8]>],
    mut is_unparsed: impl FnMut(&mut D, &[u8]) -> bool,
) -> (Heard, Vec<Result<Flow, RequestError>>, usize) {
    let (mut heard, mut outcomes, mut unparsed) = (Heard::default(), Vec::new(), 0);
    for frame in frames.iter().map(AsRef::as_ref) {
        unparsed += usize::from(is_unparsed(&mut decoder, frame));
        outcomes.push(decoder.event(Event::from_data(frame), &mut heard));
    }
    outcomes.push(decoder.end().map(|()| Flow::Done));
    (heard, outcomes, unparsed)
}
