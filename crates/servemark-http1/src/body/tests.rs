use proptest::prelude::*;
use servemark_testkit::captures::Capture;

use super::*;
use crate::Head;

/// Reads a body in the given reads; returns its joined pieces, and whether the end was reached.
fn read<'a>(
    framing: Framing,
    reads: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<u8>, bool), Malformed> {
    let (mut body, mut whole) = (Body::new(framing), Vec::new());
    for mut input in reads {
        loop {
            match body.next(&mut input)? {
                Piece::Data(data) => whole.extend_from_slice(data),
                Piece::More => break,
                Piece::End => return Ok((whole, true)),
            }
        }
    }
    Ok((whole, body.is_over()))
}

#[track_caller]
fn chunked(text: &str, body: &str) {
    let once = read(Framing::Chunked, [text.as_bytes()]).unwrap();
    assert_eq!(once, (body.as_bytes().to_vec(), true));
    assert_eq!(read(Framing::Chunked, text.as_bytes().chunks(1)).unwrap(), once);
}

#[track_caller]
fn refused(text: &str, reason: &str) {
    let error = read(Framing::Chunked, text.as_bytes().chunks(1)).unwrap_err();
    assert_eq!(error.to_string(), reason);
}

#[test]
fn chunks_are_joined() {
    chunked("5\r\nhello\r\nB\r\n, you there\r\n0\r\n\r\n", "hello, you there");
    chunked("000a\r\n0123456789\r\n00\r\n\r\n", "0123456789");
    chunked("0\r\n\r\n", "");
}

#[test]
fn what_stands_around_them_is_passed_over() {
    chunked("1 \t\r\na\r\n0\r\n\r\n", "a");
    chunked("1;name=\"value\"\r\na\r\n0;last\r\n\r\n", "a");
    chunked("1\r\na\r\n0\r\nx-checksum: 7\r\nx: y\r\n\r\n", "a");
}

#[test]
fn chunks_that_are_none() {
    let length = "a chunk has no valid length";
    refused("\r\n", length);
    refused("-1\r\n", length);
    refused("1 2\r\n", length);
    refused("1\n", length);
    refused("fffffffffffffffff\r\n", length);
    let end = "a chunk does not end where its length says";
    refused("1\r\nab", end);
    refused("1\r\na\n", end);
    refused("1\ra", end);
    refused("1;a\n", end);
    refused("0\r\n\ra", end);
    refused(&format!("1;{}", "x".repeat(1 << 14)), "an extension of a chunk does not end");
    refused(&format!("0\r\n{}", "x".repeat(1 << 14)), "the trailers do not end");
}

#[test]
fn a_length_is_kept_to() {
    let mut input = &b"abcdef"[..];
    let mut body = Body::new(Framing::Length(4));
    assert_eq!(body.next(&mut input), Ok(Piece::Data(b"abcd")));
    assert!(body.is_over() && body.may_end_here());
    assert_eq!((body.next(&mut input), input), (Ok(Piece::End), &b"ef"[..]));
}

#[test]
fn a_connection_may_end_where_the_body_may() {
    let may_end = |framing, mut input: &[u8]| {
        let mut body = Body::new(framing);
        while let Ok(Piece::Data(_)) = body.next(&mut input) {}
        body.may_end_here()
    };
    assert!(may_end(Framing::UntilClose, b"abc"));
    assert!(may_end(Framing::Length(3), b"abc"));
    assert!(!may_end(Framing::Length(3), b"ab"));
    assert!(!may_end(Framing::Chunked, b"1\r\na\r\n0\r\n"));
    assert!(may_end(Framing::Chunked, b"1\r\na\r\n0\r\n\r\n"));
}

/// Every recording, in one read and split at different sizes, gives the body that the recording's
/// own reader finds.
#[test]
fn recordings() {
    for capture in Capture::all() {
        let (head, length) = Head::parse(&capture.raw).unwrap().unwrap();
        assert_eq!(head.summary.status, capture.status, "{}", capture.name());
        let (framing, rest) = (head.summary.framing().unwrap(), &capture.raw[length..]);
        for size in [1, 7, 64, usize::MAX] {
            let (body, _) = read(framing, rest.chunks(size)).unwrap();
            assert_eq!(body, capture.body, "{}", capture.name());
        }
    }
}

fn encoded(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut wire = Vec::new();
    for chunk in chunks {
        wire.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        wire.extend_from_slice(chunk);
        wire.extend(b"\r\n");
    }
    wire.extend(b"0\r\n\r\n");
    wire
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
        size in 1_usize..50,
    ) {
        let wire = encoded(&chunks);
        let (body, over) = read(Framing::Chunked, wire.chunks(size)).unwrap();
        prop_assert_eq!((body, over), (chunks.concat(), true));
    }

    #[test]
    fn noise_is_read_alike_however_it_is_cut(
        noise in prop::collection::vec(prop::sample::select(&b"0123fF;a \r\n"[..]), 0..60),
        size in 1_usize..20,
    ) {
        let whole = read(Framing::Chunked, [&noise[..]]);
        prop_assert_eq!(read(Framing::Chunked, noise.chunks(size)), whole);
    }
}
