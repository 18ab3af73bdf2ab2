//! Bodies by Anthropic's public API, and events as its documentation shows them.

use serde_json::{Value, json};
use servemark_core::{Delta, ErrorKind, Prompt, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use super::AnthropicSpec;
use crate::{Backend, CommonSpec, Decoder, Flow, WireRequest};

fn request(change: impl FnOnce(&mut AnthropicSpec), sample: &Sample) -> WireRequest {
    let mut spec = AnthropicSpec::new(CommonSpec::new("m"));
    change(&mut spec);
    spec.encode(sample).unwrap()
}

fn text(request: &WireRequest) -> &str {
    str::from_utf8(&request.body).unwrap()
}

fn prompt(messages: Value) -> Prompt {
    Prompt::Messages(serde_json::from_value(messages).unwrap())
}

/// The result of decoding an answer.
#[derive(Debug, Default, PartialEq)]
struct Read {
    pieces: Vec<String>,
    silent: usize,
    usage: Option<Usage>,
    reason: Option<String>,
}

impl Sink for Read {
    fn delta(&mut self, delta: Delta<'_>) {
        self.pieces.push(format!("{:?} {}", delta.kind, delta.text));
    }

    fn silent_event(&mut self) {
        self.silent += 1;
    }

    fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    fn finish_reason(&mut self, reason: &str) {
        self.reason = Some(reason.to_owned());
    }
}

fn read(events: &[&str]) -> (Read, Vec<Result<Flow, RequestError>>) {
    let backend = AnthropicSpec::new(CommonSpec::new("m"));
    let mut decoder = backend.decoder(&Sample::new("hi", 1, 8));
    let mut read = Read::default();
    let each = |event: &&str| decoder.event(Event::from_data(event.as_bytes()), &mut read);
    let mut outcomes: Vec<_> = events.iter().map(each).collect();
    outcomes.push(decoder.end().map(|()| Flow::Done));
    (read, outcomes)
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"cache_read_input_tokens":5,"output_tokens":1}}}"#;

#[test]
fn a_text_is_a_message_of_the_user() {
    let request = request(|_| {}, &Sample::new("why?", 2, 16));
    assert_eq!(
        text(&request),
        r#"{"model":"m","max_tokens":16,"messages":[{"role":"user","content":"why?"}],"stream":true,"temperature":0.0}"#
    );
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(request.headers["anthropic-version"], "2023-06-01");
}

#[test]
fn system_messages_are_a_text_of_their_own() {
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c", "reasoning_content": "hm"},
        {"role": "system", "content": "In verse."},
    ]);
    let change = |spec: &mut AnthropicSpec| {
        spec.top_p = 0.5;
        spec.common.extra_body = serde_json::from_value(json!({"top_k": 3})).unwrap();
    };
    let request = request(change, &Sample::new(prompt(messages), 2, 16));
    assert_eq!(
        text(&request),
        r#"{"model":"m","max_tokens":16,"system":"Be brief.\nIn verse.","messages":[{"role":"user","content":"ab"},{"role":"assistant","content":"c"}],"stream":true,"temperature":0.0,"top_p":0.5,"top_k":3}"#
    );
}

#[test]
fn parts_that_are_no_text_are_refused() {
    let messages = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]);
    let backend = AnthropicSpec::default();
    let error = backend.encode(&Sample::new(prompt(messages), 2, 16)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Encode);
}

#[test]
fn a_stream_is_read_event_by_event() {
    let (read, outcomes) = read(&[
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":15}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let pieces = ["Reasoning Hm", "Content Hello", "ToolCall f", "ToolCall {\"a\":1}"];
    assert_eq!((read.pieces.as_slice(), read.silent), (&pieces.map(str::to_owned)[..], 8));
    let mut usage = Usage::new(Some(25), Some(15));
    usage.cached_tokens = Some(5);
    assert_eq!((read.usage, read.reason.as_deref()), (Some(usage), Some("max_tokens")));
    assert!(outcomes[..12].iter().all(|outcome| *outcome == Ok(Flow::Continue)));
    assert_eq!(outcomes[12..], [Ok(Flow::Done), Ok(Flow::Done)]);
}

#[test]
fn an_error_event_is_a_failure_inside_the_stream() {
    let (_, outcomes) = read(&[
        START,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    ]);
    let error = outcomes[1].as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::InStream);
    assert!(error.message.contains("Overloaded"), "{error}");
}

#[test]
fn a_stream_without_its_end_is_cut() {
    let piece =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
    let (_, outcomes) = read(&[START, piece]);
    assert_eq!(outcomes[2].as_ref().unwrap_err().kind, ErrorKind::Truncated);
}

#[test]
fn a_whole_message_is_read_at_once() {
    let backend = AnthropicSpec::default();
    let mut decoder = backend.decoder(&Sample::new("hi", 1, 8));
    let mut read = Read::default();
    let body = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi!"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}"#;
    decoder.document(body.as_bytes(), &mut read).unwrap();
    decoder.end().unwrap();
    assert_eq!(read.pieces, ["Content Hi!"]);
    assert_eq!(read.usage, Some(Usage::new(Some(10), Some(2))));
    let mut decoder = backend.decoder(&Sample::new("hi", 1, 8));
    let refusal = br#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#;
    let error = decoder.document(refusal, &mut read).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InStream);
}
