//! However a stream is cut into reads, the parser gives the same events and leaves the same rest.

#![no_main]

use std::convert::Infallible;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use servemark_sse::{Event, FeedError, Parser};

/// A stream, where to cut it, and how long its lines may be.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    stream: &'a [u8],
    read_lengths: Vec<u8>,
    limit: Option<u8>,
}

/// Data, event type, id and retry of one event.
type Owned = (Vec<u8>, Vec<u8>, Vec<u8>, Option<u64>);

type Outcome = Result<Option<(Option<Owned>, Vec<u8>)>, FeedError<Infallible>>;

fuzz_target!(|input: Input<'_>| {
    let limit = input.limit.map_or(usize::MAX, usize::from);
    let whole = parse(limit, [input.stream].into_iter());
    assert_eq!(parse(limit, split(input.stream, &input.read_lengths)), whole);
    assert_eq!(parse(limit, input.stream.chunks(1)), whole);
});

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

/// Cuts reads of the given lengths off the stream; the last read is what remains.
fn split<'s>(mut stream: &'s [u8], lengths: &[u8]) -> impl Iterator<Item = &'s [u8]> {
    let lengths = lengths.iter().map(|length| usize::from(*length)).chain([usize::MAX]);
    lengths.map(move |length| {
        let (read, rest) = stream.split_at(length.min(stream.len()));
        stream = rest;
        read
    })
}
