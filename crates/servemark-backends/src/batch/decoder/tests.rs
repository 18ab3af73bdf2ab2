//! Assignment of events to prompts, and batches that are answered incompletely.

use servemark_core::Usage;

use super::*;
use crate::batch::BatchSpec;
use crate::{Backend, CommonSpec};

/// Records the output of a decoder with the index of each value's prompt.
#[derive(Debug, Default)]
struct RecordingSink {
    place: usize,
    reported: Vec<(usize, String)>,
}

impl Sink for RecordingSink {
    fn prompt(&mut self, place: usize) {
        self.place = place;
    }

    fn delta(&mut self, delta: Delta<'_>) {
        let tokens = delta.tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
        self.reported.push((self.place, format!("{}{tokens}", delta.text)));
    }

    fn usage(&mut self, _usage: Usage) {}

    fn finish_reason(&mut self, reason: &str) {
        self.reported.push((self.place, reason.to_owned()));
    }
}

fn decoder(server: BatchServer) -> BatchDecoder {
    let sample = Sample::new(servemark_core::Prompt::Batch(vec![vec![1]; 3]), 3, 2);
    BatchSpec::new(CommonSpec::new("m"), server).decoder(&sample)
}

fn read(server: BatchServer, events: &[&str]) -> (Vec<(usize, String)>, Result<(), RequestError>) {
    let (mut decoder, mut sink) = (decoder(server), RecordingSink::default());
    let mut events = events.iter();
    let read = events.try_for_each(|event| {
        decoder.event(Event::from_data(event.as_bytes()), &mut sink).map(drop)
    });
    let outcome = read.and_then(|()| decoder.end());
    (sink.reported, outcome)
}

fn frame(index: usize, text: &str, tokens: u32, finish: &str) -> String {
    format!(
        r#"{{"text":"{text}","meta_info":{{"finish_reason":{finish},"completion_tokens":{tokens}}},"index":{index}}}"#
    )
}

const LENGTH: &str = r#"{"type":"length","length":2}"#;

#[track_caller]
fn fails(server: BatchServer, events: &[&str], kind: ErrorKind, story: &str) {
    let error = read(server, events).1.unwrap_err();
    assert!(error.kind == kind && error.message.contains(story), "{error:?}");
}

#[test]
fn every_event_goes_to_its_prompt() {
    let events = [
        frame(2, "a", 1, "null"),
        frame(0, "b", 1, "null"),
        frame(2, "ac", 2, LENGTH),
        frame(1, "\\\"index\\\":0}", 2, LENGTH),
        frame(0, "bd", 2, LENGTH),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).chain(["[DONE]"]).collect();
    let (reported, outcome) = read(BatchServer::Sglang, &events);
    let reported: Vec<(usize, &str)> =
        reported.iter().map(|(place, what)| (*place, &**what)).collect();
    let expected = [
        (2, "a1"),
        (0, "b1"),
        (2, "c1"),
        (2, "length"),
        (1, "\"index\":0}2"),
        (1, "length"),
        (0, "d1"),
        (0, "length"),
    ];
    assert_eq!((reported, outcome), (expected.to_vec(), Ok(())));
}

#[test]
fn an_index_may_stand_anywhere() {
    assert_eq!(index_of(br#"{"index": 7, "text": "\"index\":3}"}"#), Ok(Some(7)));
    assert_eq!(index_of(br#"{"meta_info": {}, "index": 12 }"#), Ok(Some(12)));
    assert_eq!(index_of(br#"{"meta_info":{"a":{},"index":5}}"#), Ok(None));
    assert_eq!(index_of(br#"{"error": {"message": "no"}}"#), Ok(None));
}

#[test]
fn a_batch_that_is_not_answered_fails() {
    let one = frame(0, "a", 1, "null");
    let sglang = BatchServer::Sglang;
    fails(
        sglang,
        &[&one, r#"{"error": {"message": "no memory"}}"#],
        ErrorKind::InStream,
        "no memory",
    );
    fails(sglang, &[&frame(3, "a", 1, "null")], ErrorKind::Decode, "a prompt 3 of a batch of 3");
    fails(sglang, &[&one], ErrorKind::Truncated, "while 3 of its prompts were open");
    let nan = frame(0, "a", 1, r#"{"type":"stop","matched":"NaN happened"}"#);
    fails(sglang, &[&nan], ErrorKind::InStream, "NaN happened");
    let stranger = r#"{"choices":[{"index":9,"text":"a"}]}"#;
    fails(BatchServer::Vllm, &[stranger], ErrorKind::Decode, "a prompt 9");
}

#[test]
fn choices_of_completions_are_prompts() {
    let (reported, outcome) = read(
        BatchServer::Vllm,
        &[
            r#"{"choices":[{"index":1,"text":"a","finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"text":"b","finish_reason":"length"}]}"#,
            r#"{"choices":[{"index":1,"text":"","finish_reason":"length"}]}"#,
        ],
    );
    let what = |(place, what): &(usize, String)| format!("{place}{what}");
    let reported: Vec<String> = reported.iter().map(what).collect();
    assert_eq!(reported, ["1a?", "0b?", "0length", "1?", "1length"]);
    assert_eq!(outcome.unwrap_err().kind, ErrorKind::Truncated, "one of three has no answer");
}

#[test]
fn a_document_is_a_list() {
    let (mut decoder, mut sink) = (decoder(BatchServer::Sglang), RecordingSink::default());
    let list = format!("[{},{}]", frame(0, "a", 1, LENGTH), frame(1, "b", 1, LENGTH));
    decoder.document(list.as_bytes(), &mut sink).unwrap();
    assert_eq!(sink.reported.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert_eq!(decoder.document(b"{}", &mut sink).unwrap_err().kind, ErrorKind::InStream);
}
