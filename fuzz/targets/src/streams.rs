//! Targets for streams and answers that are split into reads at any place.

use std::convert::Infallible;

use arbitrary::{Arbitrary, Unstructured};
use servemark::backends::{Backend, BackendName, BackendSpec, CommonSpec, Decoder};
use servemark::core::{Phase, Recorder, Sample, Stamp};
use servemark::sse::{Event, FeedError, Parser};
use servemark_http1::{Body, Framing, Head, Malformed, Piece};

/// A stream, the lengths of its reads, and the maximum length of a line.
#[derive(Arbitrary, Debug)]
struct Cut<'a> {
    limit: Option<u8>,
    read_lengths: [u8; 8],
    stream: &'a [u8],
}

/// Data, event type, id and retry of one event.
type Owned = (Vec<u8>, Vec<u8>, Vec<u8>, Option<u64>);

type Outcome = Result<Option<(Option<Owned>, Vec<u8>)>, FeedError<Infallible>>;

/// Splits a stream into reads in two ways: the parser returns equal events and an equal rest.
pub fn sse_split(bytes: &[u8]) {
    let Ok(input) = Cut::arbitrary_take_rest(Unstructured::new(bytes)) else { return };
    let limit = input.limit.map_or(usize::MAX, usize::from);
    let whole = parse(limit, [input.stream].into_iter());
    assert_eq!(parse(limit, split(input.stream, &input.read_lengths)), whole);
    assert_eq!(parse(limit, input.stream.chunks(1)), whole);
}

fn parse<'s>(limit: usize, reads: impl Iterator<Item = &'s [u8]>) -> (Vec<Owned>, Outcome) {
    let (mut parser, mut events) = (Parser::with_limit(limit), Vec::new());
    for read in reads {
        let outcome = parser.feed(read, |event| {
            events.push(owned(event));
            Ok(())
        });
        if let Err(error) = outcome {
            return (events, Err(error));
        }
    }
    let left = parser.finish().map(|left| (left.event().map(owned), left.open_line().to_vec()));
    (events, Ok(left))
}

fn owned(event: Event<'_>) -> Owned {
    (event.data().to_vec(), event.event().to_vec(), event.id().to_vec(), event.retry())
}

/// Splits a stream into reads of the given lengths; the last read is the remainder.
fn split<'s>(mut stream: &'s [u8], lengths: &[u8]) -> impl Iterator<Item = &'s [u8]> {
    let lengths = lengths.iter().map(|length| usize::from(*length)).chain([usize::MAX]);
    lengths.map(move |length| {
        let (read, rest) = stream.split_at(length.min(stream.len()));
        stream = rest;
        read
    })
}

/// Splits an answer into reads in two ways: its head and its body are equal.
pub fn http1_body(bytes: &[u8]) {
    let [read_length, kind, answer @ ..] = bytes else { return };
    let (framing, bytes) = match Head::parse(answer) {
        Ok(Some((head, length))) => match head.summary.framing() {
            Ok(framing) => (framing, &answer[length..]),
            Err(_) => return,
        },
        _ if kind % 2 == 1 => (Framing::Chunked, answer),
        _ => return,
    };
    let whole = read(framing, [bytes].into_iter());
    assert_eq!(read(framing, bytes.chunks(1)), whole);
    assert_eq!(read(framing, bytes.chunks(usize::from(*read_length).max(1))), whole);
}

/// Returns the body up to its end or the first fault, and which of the two ended it.
fn read<'a>(
    framing: Framing,
    reads: impl Iterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<bool, Malformed>) {
    let (mut body, mut whole) = (Body::new(framing), Vec::new());
    for mut input in reads {
        loop {
            match body.next(&mut input) {
                Ok(Piece::Data(data)) => whole.extend_from_slice(data),
                Ok(Piece::More) => break,
                Ok(Piece::End) => return (whole, Ok(true)),
                Err(malformed) => return (whole, Err(malformed)),
            }
        }
    }
    let over = body.is_over();
    (whole, Ok(over))
}

/// Decodes any bytes, each line as an event and all of them as a document: no decoder panics. The
/// first byte chooses the dialect.
pub fn decoders(bytes: &[u8]) {
    let Some((backend, rest)) = super::scratch::choice(bytes, BackendName::ALL.len()) else {
        return;
    };
    let backend = BackendSpec::new(BackendName::ALL[backend], CommonSpec::new("m")).build();
    let sample = Sample::new("x", 1, 16);
    let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
    let mut out = recorder.at(Stamp::ZERO);
    let mut decoder = backend.decoder(&sample);
    for data in rest.split(|byte| *byte == b'\n') {
        if decoder.event(Event::from_data(data), &mut out).is_err() {
            break;
        }
    }
    let _ = decoder.end();
    let _ = backend.decoder(&sample).document(rest, &mut out);
}
