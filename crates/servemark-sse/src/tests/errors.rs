//! Errors of the caller, and the limit.

use super::feed_all;
use crate::{FeedError, Parser};

#[track_caller]
fn check_limit(limit: usize, stream: &str, fits: bool) {
    let whole = feed_all(&mut Parser::with_limit(limit), [stream.as_bytes()]);
    assert_eq!(whole.is_ok(), fits, "{stream:?}");
    let in_bytes = feed_all(&mut Parser::with_limit(limit), stream.as_bytes().chunks(1));
    assert_eq!(in_bytes, whole);
}

#[test]
fn an_error_of_the_handler_stops_the_read() {
    let mut events = 0;
    let outcome = Parser::new().feed(b"data: a\n\ndata: b\n\n", |_| {
        events += 1;
        Err("no more")
    });
    assert_eq!((outcome, events), (Err(FeedError::Event("no more")), 1));
}

#[test]
fn lines_up_to_the_limit_fit() {
    check_limit(7, "data: a\n\n: 45678", true);
    check_limit(6, "data: a\n\n", false);
    check_limit(6, "data: a", false);
    check_limit(6, ": 45678", false);
}

#[test]
fn data_of_many_lines_counts_together() {
    check_limit(9, "data:1234\ndata:6789\n\n", true);
    check_limit(9, "data:1234\ndata:6789\ndata:\n\n", false);
}

#[test]
fn the_byte_order_mark_counts() {
    check_limit(9, "\u{feff}data:1\n\n", true);
    check_limit(8, "\u{feff}data:1\n\n", false);
}

#[test]
fn events_before_the_limit_are_handed_out() {
    let mut events = 0;
    let outcome = Parser::with_limit(8).feed(b"data: a\n\ndata: too long\n\n", |_| {
        events += 1;
        Ok::<(), std::fmt::Error>(())
    });
    assert_eq!((outcome, events), (Err(FeedError::TooLong { limit: 8 }), 1));
}

#[test]
fn messages() {
    let too_long = FeedError::<std::fmt::Error>::TooLong { limit: 8 };
    assert_eq!(too_long.to_string(), "an event or a line is longer than the limit of 8 bytes");
    let event = FeedError::Event(std::fmt::Error);
    assert_eq!(event.to_string(), std::fmt::Error.to_string());
}
