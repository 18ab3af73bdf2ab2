//! The fast path for growing frames gives the same result as parsing them.

use proptest::prelude::*;
use serde_json::json;
use servemark_testkit::captures::Capture;

use super::*;
use crate::recording_sink::{self, RecordingSink};

/// Decodes frames and counts those that were not parsed. A decoder that forgets parses all.
fn decode_counting(
    frames: &[impl AsRef<[u8]>],
    forgets: bool,
) -> (RecordingSink, Vec<Result<Flow, RequestError>>, usize) {
    recording_sink::decode_counting(
        GenerateDecoder::new(&Sample::new("hi", 1, 4)),
        frames,
        |decoder, frame| {
            if forgets {
                decoder.last.growing.forget();
            }
            decoder.last.growing.clone().read(frame).is_some()
        },
    )
}

/// Returns the number of frames that were not parsed, after checking that the results are the same.
#[track_caller]
fn same(frames: &[impl AsRef<[u8]>]) -> usize {
    let ((read, outcomes, unparsed), (parsed, expected, none)) =
        (decode_counting(frames, false), decode_counting(frames, true));
    assert_eq!((read, outcomes, none), (parsed, expected, 0));
    unparsed
}

fn frame(text: &str, ids: Option<usize>, tokens: u32) -> String {
    let meta = json!({"id": "x", "finish_reason": null, "prompt_tokens": 3,
        "completion_tokens": tokens, "cached_tokens": 1});
    match ids {
        Some(ids) => json!({"text": text, "output_ids": vec![44_007; ids], "meta_info": meta}),
        None => json!({"text": text, "meta_info": meta}),
    }
    .to_string()
}

/// Returns the frames of an answer of these pieces, each with all text so far.
fn whole(pieces: &[&str], with_ids: bool) -> Vec<String> {
    let grown = (1..=pieces.len()).map(|count| (pieces[..count].concat(), count));
    grown.map(|(text, count)| frame(&text, with_ids.then_some(count), count as u32)).collect()
}

#[test]
fn what_has_only_grown_is_not_parsed() {
    for with_ids in [true, false] {
        assert_eq!(same(&whole(&["a", "b", "c", "d"], with_ids)), 3);
        assert_eq!(same(&whole(&["é", "\n", "", "\"\\", "\u{1F600}"], with_ids)), 4);
    }
}

#[test]
fn what_differs_in_anything_else_is_parsed() {
    let (first, second) = (frame("a", Some(1), 1), frame("ab", Some(2), 2));
    let finished = second.replace("null", r#"{"type":"length","length":2}"#);
    assert_eq!(same(&[&first, &finished]), 0);
    assert_eq!(same(&[&first, &second.replace("\"x\"", "\"y\"")]), 0);
    assert_eq!(
        same(&[&first, &second.replace("\"completion_tokens\":2", "\"completion_tokens\":02")]),
        0
    );
    assert_eq!(same(&[&first, &second.replace("}}", "}")]), 0);
    assert_eq!(same(&[&first, &second.replace("ab", "a\u{1}")]), 0);
    assert_eq!(same(&[&first, &second.replace("ab", r"a\ud800")]), 0);
}

/// The frames of a server that was started for incremental streaming.
#[test]
fn frames_that_hold_pieces_are_parsed() {
    assert_eq!(same(&[frame("a", Some(1), 1), frame("a", Some(1), 2), frame("ab", Some(2), 4)]), 0);
    assert_eq!(same(&[frame("a", None, 1), frame("b", None, 2), frame("bc", None, 3)]), 0);
}

#[test]
fn a_text_that_was_taken_back_is_parsed() {
    let texts = ["ab", "abc", "ab", "abd", "abde"];
    let frames = texts.iter().zip(1..).map(|(text, count)| frame(text, None, count));
    assert_eq!(same(&frames.collect::<Vec<_>>()), 2);
}

#[test]
fn a_server_whose_frames_always_differ_is_left_alone() {
    let frames = whole(&["a"; 40], true).into_iter().enumerate();
    let frames: Vec<_> =
        frames.map(|(count, frame)| frame.replace("\"x\"", &format!("\"{count}\""))).collect();
    assert_eq!(same(&frames), 0);
    let mut decoder = GenerateDecoder::new(&Sample::new("hi", 1, 4));
    for frame in &frames {
        decoder.event(Event::from_data(frame.as_bytes()), &mut RecordingSink::default()).unwrap();
    }
    assert!(decoder.last.growing.read(frames.last().unwrap().as_bytes()).is_none());
}

/// The first frame of SGLang has a field that the others lack, and the last has its finish reason.
#[test]
fn a_recorded_answer_is_parsed_at_its_ends_only() {
    let capture = Capture::load("sglang-0.5.23", "generate");
    let (mut parser, mut frames) = (servemark_sse::Parser::new(), Vec::new());
    let fed = parser.feed(&capture.body, |event| {
        frames.push(event.data().to_vec());
        Ok::<_, std::convert::Infallible>(())
    });
    fed.unwrap();
    assert_eq!(frames.len(), 7);
    assert_eq!(same(&frames), 3);
}

proptest! {
    #[test]
    fn any_texts_are_read_as_they_are_parsed(
        pieces in prop::collection::vec(".{0,3}", 1..12),
        with_ids in any::<bool>(),
        odd in any::<prop::sample::Index>(),
        damage in prop::sample::select(vec!["", "}", ",", "0", "\\", "\"", "null"]),
    ) {
        let pieces: Vec<_> = pieces.iter().map(String::as_str).collect();
        let mut frames = whole(&pieces, with_ids);
        same(&frames);
        let odd = odd.index(frames.len());
        let middle = (0..=frames[odd].len() / 2).rev().find(|at| frames[odd].is_char_boundary(*at));
        frames[odd].insert_str(middle.unwrap(), damage);
        same(&frames);
    }
}
