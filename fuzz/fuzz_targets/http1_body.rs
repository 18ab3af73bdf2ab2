//! However an answer is cut into reads, its head and its body are the same, and nothing panics.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use servemark_http1::{Body, Framing, Head, Malformed, Piece};

/// An answer, and how long its reads are.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    answer: &'a [u8],
    read: u8,
    chunked: bool,
}

fuzz_target!(|input: Input<'_>| {
    let (framing, bytes) = match Head::parse(input.answer) {
        Ok(Some((head, length))) => match head.framing() {
            Ok(framing) => (framing, &input.answer[length..]),
            Err(_) => return,
        },
        _ if input.chunked => (Framing::Chunked, input.answer),
        _ => return,
    };
    let whole = read(framing, [bytes].into_iter());
    assert_eq!(read(framing, bytes.chunks(1)), whole);
    assert_eq!(read(framing, bytes.chunks(usize::from(input.read).max(1))), whole);
});

/// What came before the end or the first fault, and which of them there was.
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
