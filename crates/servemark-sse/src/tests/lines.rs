//! Lines: their ends, their maximum length, and that splits do not matter.

use std::convert::Infallible;

use proptest::prelude::*;

use crate::{FeedError, LineParser};

type Lines = Result<(Vec<Vec<u8>>, Option<Vec<u8>>), FeedError<Infallible>>;

fn lines<'r>(limit: usize, reads: impl IntoIterator<Item = &'r [u8]>) -> Lines {
    let (mut parser, mut lines) = (LineParser::with_limit(limit), Vec::new());
    for read in reads {
        parser.feed(read, |line| {
            lines.push(line.to_vec());
            Ok(())
        })?;
    }
    Ok((lines, parser.finish().map(<[u8]>::to_vec)))
}

#[track_caller]
fn check(body: &str, expected: &[&str], last: Option<&str>) {
    let (events, left) = lines(usize::MAX, [body.as_bytes()]).unwrap();
    let expected: Vec<_> = expected.iter().map(|line| line.as_bytes().to_vec()).collect();
    assert_eq!((events, left), (expected, last.map(|line| line.as_bytes().to_vec())));
}

#[test]
fn a_line_ends_with_a_line_feed_and_a_carriage_return_may_precede_it() {
    check("a\nb\r\nc\rd\n", &["a", "b", "c\rd"], None);
}

#[test]
fn a_last_line_without_its_end_is_left() {
    check("a\nb", &["a"], Some("b"));
    check("a\nb\r", &["a"], Some("b"));
    check("", &[], None);
}

#[test]
fn blank_lines_are_left_out() {
    check("\n\r\n \t\na\n\n  ", &["a"], None);
}

#[test]
fn lines_up_to_the_limit_fit() {
    let fits = |body: &str| lines(3, [body.as_bytes()]).is_ok();
    assert!(fits("abc\nabc"));
    assert!(!fits("abcd\n") && !fits("a\nabcd"));
}

#[test]
fn what_is_held_is_the_open_line() {
    let mut parser = LineParser::new();
    for (read, held) in [("ab", 2), ("c", 3), ("d\nef", 2), ("\n", 0)] {
        parser.feed(read.as_bytes(), |_| Ok::<(), Infallible>(())).unwrap();
        assert_eq!(parser.held_bytes(), held, "{read:?}");
    }
}

proptest! {
    #[test]
    fn every_cut_gives_the_same_lines(
        body in "[ab \r\n]{0,40}",
        cuts in proptest::collection::vec(0_usize..6, 0..20),
        limit in 0_usize..12,
    ) {
        let whole = lines(limit, [body.as_bytes()]);
        prop_assert_eq!(lines(limit, body.as_bytes().chunks(1)), whole.clone());
        let (mut rest, mut reads) = (body.as_bytes(), Vec::new());
        for cut in cuts {
            let (read, after) = rest.split_at(cut.min(rest.len()));
            reads.push(read);
            rest = after;
        }
        reads.push(rest);
        prop_assert_eq!(lines(limit, reads), whole);
    }
}
