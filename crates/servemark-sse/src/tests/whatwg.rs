//! The example streams of the standard, section "Interpreting an event stream".

use super::{Owned, parse};

#[track_caller]
fn check(stream: &str, expected: &[(&str, &str)]) {
    let events = parse([stream.as_bytes()]).events;
    let consumed: Vec<_> =
        events.iter().map(|event| (text(&event.data), text(&event.id))).collect();
    assert_eq!(consumed, expected);
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the examples are text")
}

#[test]
fn stock_ticker() {
    check("data: YHOO\ndata: +2\ndata: 10\n\n", &[("YHOO\n+2\n10", "")]);
}

/// The second block resets the id; the third keeps one of the two spaces; the last has no end.
#[test]
fn four_blocks() {
    let stream =
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event";
    check(stream, &[("first event", "1"), ("second event", "")]);
    let ended = format!("{stream}\n\n");
    check(&ended, &[("first event", "1"), ("second event", ""), (" third event", "")]);
}

/// Empty data, one line feed, and a block without an end.
#[test]
fn data_without_values() {
    check("data\n\ndata\ndata\n\ndata:", &[("", ""), ("\n", "")]);
}

#[test]
fn the_space_after_the_colon() {
    check("data:test\n\ndata: test\n\n", &[("test", ""), ("test", "")]);
}

#[test]
fn event_types_of_the_introduction() {
    let stream =
        "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n";
    let expected = [("add", "73857293"), ("remove", "2153"), ("add", "113411")];
    let expected = expected.map(|(event, data)| Owned {
        data: data.into(),
        event: event.into(),
        ..Owned::default()
    });
    assert_eq!(parse([stream.as_bytes()]).events, expected);
}
