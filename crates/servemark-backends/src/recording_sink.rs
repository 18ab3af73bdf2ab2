//! Records the output of decoders, for tests that compare two ways of decoding.

use servemark_core::{Delta, RequestError, Sink, Usage};
use servemark_sse::Event;

use crate::{Decoder, Flow};

/// All values that a decoder passes to its sink.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RecordingSink(Vec<String>);

impl Sink for RecordingSink {
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

/// Decodes frames. Returns the output, the result of each call, and the number of frames that were
/// not parsed according to `is_unparsed`, which inspects the decoder before each frame.
pub(crate) fn decode_counting<D: Decoder>(
    mut decoder: D,
    frames: &[impl AsRef<[u8]>],
    mut is_unparsed: impl FnMut(&mut D, &[u8]) -> bool,
) -> (RecordingSink, Vec<Result<Flow, RequestError>>, usize) {
    let (mut heard, mut outcomes, mut unparsed) = (RecordingSink::default(), Vec::new(), 0);
    for frame in frames.iter().map(AsRef::as_ref) {
        unparsed += usize::from(is_unparsed(&mut decoder, frame));
        outcomes.push(decoder.event(Event::from_data(frame), &mut heard));
    }
    outcomes.push(decoder.end().map(|()| Flow::Done));
    (heard, outcomes, unparsed)
}
