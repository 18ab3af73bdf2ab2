//! Whatever a server sends, no decoder panics.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use servemark_backends::{Backend, BackendName, BackendSpec, CommonSpec, Decoder};
use servemark_core::{Phase, Recorder, Sample, Stamp};
use servemark_sse::Event;

/// An answer in events, and the same server's answer as one document.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    backend: usize,
    events: Vec<&'a [u8]>,
    document: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let name = BackendName::ALL[input.backend % BackendName::ALL.len()];
    let backend = BackendSpec::new(name, CommonSpec::new("m")).build();
    let sample = Sample::new("x", 1, 16);
    let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
    let mut out = recorder.at(Stamp::ZERO);
    let mut decoder = backend.decoder(&sample);
    for data in input.events {
        if decoder.event(Event::from_data(data), &mut out).is_err() {
            break;
        }
    }
    let _ = decoder.end();
    let _ = backend.decoder(&sample).document(input.document, &mut out);
});
