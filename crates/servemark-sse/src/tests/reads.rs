//! Streams split into reads: what is borrowed, what is copied, and what is left at the end.

use std::convert::Infallible;

use super::parse;
use crate::{Event, Parser};

#[track_caller]
fn check(reads: &[&str], expected: &[&str]) {
    let events = parse(reads.iter().map(|read| read.as_bytes())).events;
    let consumed: Vec<_> = events.iter().map(|event| &event.data[..]).collect();
    assert_eq!(consumed, expected.iter().map(|data| data.as_bytes()).collect::<Vec<_>>());
}

/// Checks what is left: the data of the event, if any, and the line without an end.
#[track_caller]
fn check_left(stream: &str, expected: Option<(Option<&str>, &str)>) {
    let mut parser = parser_after(&[stream.as_bytes()]);
    let left = parser.finish();
    let left = left.map(|left| (left.event().map(|event| event.data()), left.open_line()));
    let expected = expected.map(|(data, line)| (data.map(str::as_bytes), line.as_bytes()));
    assert_eq!(left, expected, "{stream:?}");
}

fn parser_after(reads: &[&[u8]]) -> Parser {
    let mut parser = Parser::new();
    for read in reads {
        parser.feed(read, |_| Ok::<(), Infallible>(())).expect("nothing can fail");
    }
    parser
}

#[test]
fn a_line_end_of_two_bytes_may_be_cut() {
    check(&["data: a\r", "\n\r", "\ndata: b\r", "\n\r\n"], &["a", "b"]);
    check(&["data: a\r", "", "\n", "\n"], &["a"]);
}

#[test]
fn a_carriage_return_ends_its_line_at_once() {
    check(&["data: a\r\n\r"], &["a"]);
}

#[test]
fn a_byte_order_mark_may_be_cut() {
    let stream = "\u{feff}data: a\n\n".as_bytes();
    assert_eq!(parse(stream.chunks(1)), parse([stream]));
    assert_eq!(parse([stream]).events.len(), 1);
}

#[test]
fn fields_may_be_cut_anywhere() {
    check(&["da", "ta: {\"a", "\":1}", "\n", "\n"], &["{\"a\":1}"]);
    check(&["data: a\n", "data: b\n", "\n"], &["a\nb"]);
    check(&["data:", " a\ndata: b\n", "data: c\n\n"], &["a\nb\nc"]);
}

#[test]
fn fields_of_earlier_reads_stay() {
    let events = parse([&b"event: e\nid: 7\n"[..], b"retry: 5\ndata: a\n", b"\n"]).events;
    assert_eq!((&events[0].event[..], &events[0].id[..]), (&b"e"[..], &b"7"[..]));
    assert_eq!(events[0].retry, Some(5));
}

#[test]
fn fields_of_earlier_events_do_not() {
    let reads = ["event: e\n", "retry: 5\ndata: a\n\n", "data: b\n", "\n"];
    let events = parse(reads.map(str::as_bytes)).events;
    assert_eq!((&events[1].data[..], &events[1].event[..]), (&b"b"[..], &b""[..]));
    assert_eq!(events[1].retry, None);
}

#[test]
fn an_event_in_one_read_is_borrowed_from_it() {
    let read = b"event: e\ndata: {\"token\": 1}\n\n: ping\n\ndata: two\r\n\r\n";
    let (bounds, mut events) = (read.as_ptr_range(), 0);
    let mut parser = Parser::new();
    let borrowed =
        |bytes: &[u8]| bounds.contains(&bytes.as_ptr()) && bytes.as_ptr_range().end <= bounds.end;
    let outcome = parser.feed(read, |event| {
        assert!(borrowed(event.data()));
        events += 1;
        Ok::<(), Infallible>(())
    });
    assert_eq!((outcome, events), (Ok(()), 2));
    assert_eq!(capacities(&parser), [0, 0]);
}

#[test]
fn buffers_are_reused() {
    let split: [&[u8]; 2] = [b"data: one\nda", b"ta: two\n\n"];
    let mut parser = parser_after(&split);
    let first = capacities(&parser);
    for read in split.iter().cycle().take(20) {
        parser.feed(read, |_| Ok::<(), Infallible>(())).expect("nothing can fail");
    }
    assert!(first.iter().all(|capacity| *capacity > 0));
    assert_eq!(capacities(&parser), first);
}

fn capacities(parser: &Parser) -> [usize; 2] {
    [parser.open_line.capacity(), parser.kept.data.capacity()]
}

#[test]
fn nothing_is_left_of_a_clean_end() {
    check_left("", None);
    check_left("data: a\n\n", None);
    check_left("data: a\n\n: ping\nevent: e\n", None);
}

#[test]
fn an_event_without_blank_line_is_left() {
    check_left("data: a\n\ndata: b\ndata: c\n", Some((Some("b\nc"), "")));
}

#[test]
fn an_event_without_line_end_is_left() {
    check_left("data: a\n\ndata: [DONE]", Some((Some("[DONE]"), "data: [DONE]")));
    check_left("data: b\ndata: c", Some((Some("b\nc"), "data: c")));
    check_left("\u{feff}data: a", Some((Some("a"), "data: a")));
}

#[test]
fn a_line_cut_before_its_data_is_left_without_event() {
    check_left("data: a\n\nda", Some((None, "da")));
    check_left(": pi", Some((None, ": pi")));
}

#[test]
fn what_is_left_has_the_fields_before_it() {
    let mut parser = parser_after(&[b"id: 7\nevent: e\ndata: a"]);
    let event = parser.finish().and_then(|left| left.event());
    let events = event.map(|event| (event.event(), event.id()));
    assert_eq!(events, Some((&b"e"[..], &b"7"[..])));
}

#[test]
fn the_stream_is_summed_up() {
    let parser = parser_after(&[b": ping\n\nid: 7\nretry: 5\n\n:\n"]);
    assert_eq!(parser.comments(), 2);
    assert_eq!(parser.last_event_id(), b"7");
    assert_eq!(parser.retry(), Some(5));
}

#[test]
fn views_are_shown_as_text() {
    let event = Event::from_data(b"{\"a\": \xFF}\n");
    let debug = r#"Event { data: "{\"a\": \xff}\n", event: "", id: "", retry: None }"#;
    assert_eq!(format!("{event:?}"), debug);
    let parser = parser_after(&[b"data: a\nda"]);
    assert_eq!(format!("{parser:?}"), r#"Parser { open_line: "da", data: "a\n", .. }"#);
}
