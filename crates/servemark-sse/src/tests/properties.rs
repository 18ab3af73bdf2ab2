//! Properties of every stream and every way to split it into reads.

use proptest::prelude::*;
use proptest::sample::select;

use super::{feed_all, naive, parse};
use crate::Parser;

proptest! {
    #[test]
    fn the_naive_twin_agrees(stream in stream()) {
        prop_assert_eq!(parse([&stream[..]]), naive::parse(&stream));
    }

    #[test]
    fn every_split_gives_the_same_events(stream in stream(), cuts in cuts()) {
        prop_assert_eq!(parse(split(&stream, &cuts)), parse([&stream[..]]));
        prop_assert_eq!(parse(stream.chunks(1)), parse([&stream[..]]));
    }

    #[test]
    fn every_split_is_refused_alike(stream in stream(), cuts in cuts(), limit in 0_usize..12) {
        let refused = |reads: Vec<&[u8]>| feed_all(&mut Parser::with_limit(limit), reads);
        prop_assert_eq!(refused(split(&stream, &cuts)), refused(vec![&stream]));
    }

    #[test]
    fn a_limited_parser_holds_no_more_than_its_limit(stream in stream(), limit in 0_usize..12) {
        let mut parser = Parser::with_limit(limit);
        if feed_all(&mut parser, stream.chunks(1)).is_ok() {
            prop_assert!(parser.open_line.len() <= limit);
            prop_assert!(parser.kept.data.len() <= limit + 1);
        }
    }
}

/// Streams of words that the grammar knows, and of bytes that it does not.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(select(WORDS), 0..40).prop_map(|words| words.concat())
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..8)
}

fn split<'s>(stream: &'s [u8], cuts: &[prop::sample::Index]) -> Vec<&'s [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
    places.extend([0, stream.len()]);
    places.sort_unstable();
    places.windows(2).map(|ends| &stream[ends[0]..ends[1]]).collect()
}

const WORDS: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\r\r",
    b":",
    b" ",
    b"data",
    b"data: ",
    b"data:",
    b"event: ",
    b"event: e\n",
    b"data: a\n",
    b"data: b\n\n",
    b"id: ",
    b"id",
    b"retry: ",
    b"7",
    b"x",
    b"\0",
    b"\xEF\xBB\xBF",
    b"\xEF",
    b"\xBB",
    b"{\"a\":1}",
];
