//! One line per rule of the grammar.

use super::{Owned, parse};

/// Checks the data of the events of a stream.
#[track_caller]
fn check(stream: &str, expected: &[&str]) {
    check_events(stream, &expected.iter().map(|data| message(data)).collect::<Vec<_>>());
}

#[track_caller]
fn check_events(stream: &str, expected: &[Owned]) {
    assert_eq!(parse([stream.as_bytes()]).events, expected, "{stream:?}");
}

fn message(data: &str) -> Owned {
    Owned { data: data.into(), ..Owned::default() }
}

fn named_event(event: &str, data: &str) -> Owned {
    Owned { event: event.into(), ..message(data) }
}

fn with_id(id: &str, data: &str) -> Owned {
    Owned { id: id.into(), ..message(data) }
}

fn with_retry(retry: u64, data: &str) -> Owned {
    Owned { retry: Some(retry), ..message(data) }
}

#[test]
fn lines_end_in_line_feeds() {
    check("data: a\n\ndata: b\n\n", &["a", "b"]);
}

#[test]
fn lines_end_in_carriage_returns() {
    check("data: a\r\rdata: b\r\r", &["a", "b"]);
}

#[test]
fn lines_end_in_both() {
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
}

#[test]
fn line_ends_mix() {
    check("data: a\n\rdata: b\r\n\ndata: c\r\n\r", &["a", "b", "c"]);
}

#[test]
fn one_leading_byte_order_mark_is_dropped() {
    check("\u{feff}data: a\n\n", &["a"]);
    check("\u{feff}\ndata: a\n\n", &["a"]);
}

#[test]
fn only_one_and_only_leading() {
    check("\u{feff}\u{feff}data: a\n\n", &[]);
    check("\n\u{feff}data: a\n\n", &[]);
}

#[test]
fn comments_are_ignored() {
    check(": hello\n:\ndata: a\n: in between\n\n", &["a"]);
    check(":data: a\n\n", &[]);
}

#[test]
fn one_space_after_the_colon_is_optional() {
    check("data:a\n\n", &["a"]);
    check("data:  a \n\n", &[" a "]);
    check("data:\ta\n\n", &["\ta"]);
}

#[test]
fn the_first_colon_splits() {
    check("data: {\"a\": 1}\n\n", &["{\"a\": 1}"]);
    check("data::a\n\n", &[":a"]);
}

#[test]
fn a_line_without_colon_is_a_field_without_value() {
    check("data\n\n", &[""]);
    check("data\ndata\n\n", &["\n"]);
}

#[test]
fn data_lines_are_joined() {
    check("data: a\ndata: b\ndata:\ndata: c\n\n", &["a\nb\n\nc"]);
}

#[test]
fn an_empty_data_line_is_an_event() {
    check("data:\n\n", &[""]);
}

#[test]
fn no_data_line_is_no_event() {
    check("\n\n\nevent: ping\n\nid: 1\n\n", &[]);
}

#[test]
fn unknown_fields_are_ignored() {
    check("dat: a\ndata : b\n data: c\nDATA: d\ndata: e\n\n", &["e"]);
}

#[test]
fn the_event_type_lasts_one_event() {
    check_events("event: e\ndata: a\n\ndata: b\n\n", &[named_event("e", "a"), message("b")]);
    check_events("event: e\n\ndata: a\n\n", &[message("a")]);
}

#[test]
fn the_last_event_type_wins() {
    check_events("event: e\ndata: a\nevent: f\n\n", &[named_event("f", "a")]);
    check_events("event: e\ndata: a\nevent\n\n", &[message("a")]);
}

#[test]
fn the_id_persists() {
    check_events("id: 1\ndata: a\n\ndata: b\n\n", &[with_id("1", "a"), with_id("1", "b")]);
    check_events("id: 1\n\ndata: a\n\n", &[with_id("1", "a")]);
}

#[test]
fn an_empty_id_resets_it() {
    check_events("id: 1\ndata: a\n\nid\ndata: b\n\n", &[with_id("1", "a"), message("b")]);
}

#[test]
fn an_id_with_nul_is_ignored() {
    check_events("id: 1\nid: 2\0\ndata: a\n\n", &[with_id("1", "a")]);
}

#[test]
fn retry_is_digits_only() {
    check_events("retry: 3000\ndata: a\n\n", &[with_retry(3000, "a")]);
    check_events("retry: 3s\nretry: -1\nretry:\nretry:  1\ndata: a\n\n", &[message("a")]);
}

#[test]
fn retry_saturates() {
    check_events("retry: 99999999999999999999\ndata: a\n\n", &[with_retry(u64::MAX, "a")]);
}

#[test]
fn retry_is_of_its_own_event() {
    check_events("retry: 1\n\ndata: a\n\n", &[message("a")]);
}

#[test]
fn an_event_without_blank_line_is_not_dispatched() {
    check("data: a\n\ndata: b\n", &["a"]);
    check("data: a", &[]);
}

#[test]
fn bytes_need_not_be_text() {
    let events = parse([&b"data: \xFF\0\xC3\n\n"[..]]).events;
    assert_eq!(events, [Owned { data: b"\xFF\0\xC3".to_vec(), ..Owned::default() }]);
}
