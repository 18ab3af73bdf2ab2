//! Bodies by Ollama's public API, and lines as its documentation shows them.

use serde_json::{Value, json};
use servemark_core::{Delta, ErrorKind, OddCount, RequestError, Sample, ServerTimes, Sink, Usage};
use servemark_sse::Event;

use super::{OllamaApi, OllamaSpec};
use crate::{Backend, CommonSpec, Decoder, Flow, Framing};

fn body(api: OllamaApi, change: impl FnOnce(&mut OllamaSpec), sample: &Sample) -> Value {
    let mut spec = OllamaSpec::new(api, CommonSpec::new("llama3.2"));
    change(&mut spec);
    let request = spec.encode(sample).unwrap();
    serde_json::from_slice(&request.body).unwrap()
}

/// The result of decoding an answer.
#[derive(Debug, Default, PartialEq)]
struct Read {
    pieces: Vec<String>,
    usage: Option<Usage>,
    times: Option<ServerTimes>,
    reason: Option<String>,
}

impl Sink for Read {
    fn delta(&mut self, delta: Delta<'_>) {
        self.pieces.push(format!("{:?} {}", delta.kind, delta.text));
    }

    fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    fn finish_reason(&mut self, reason: &str) {
        self.reason = Some(reason.to_owned());
    }

    fn server_times(&mut self, times: ServerTimes) {
        self.times = Some(times);
    }

    fn odd_count(&mut self, count: OddCount) {
        self.pieces.push(format!("odd {count}"));
    }
}

fn read(api: OllamaApi, lines: &[&str]) -> (Read, Vec<Result<Flow, RequestError>>) {
    let backend = OllamaSpec::new(api, CommonSpec::new("m"));
    let mut decoder = backend.decoder(&Sample::new("hi", 1, 8));
    let mut read = Read::default();
    let each = |line: &&str| decoder.event(Event::from_data(line.as_bytes()), &mut read);
    let mut outcomes: Vec<_> = lines.iter().map(each).collect();
    outcomes.push(decoder.end().map(|()| Flow::Done));
    (read, outcomes)
}

#[test]
fn a_chat_is_asked_for_with_messages_and_options() {
    let body = body(OllamaApi::Chat, |_| {}, &Sample::new("why?", 2, 16));
    assert_eq!(
        body.to_string(),
        r#"{"model":"llama3.2","messages":[{"role":"user","content":"why?"}],"stream":true,"options":{"num_predict":16,"temperature":0.0}}"#
    );
}

#[test]
fn a_text_is_asked_for_without_a_template() {
    let change = |spec: &mut OllamaSpec| {
        spec.temperature = 0.5;
        spec.common.stream = false;
        let extra = json!({"options": {"seed": 7, "temperature": 1.5}, "keep_alive": "1h"});
        spec.common.extra_body = serde_json::from_value(extra).unwrap();
    };
    let body = body(OllamaApi::Generate, change, &Sample::new("why?", 2, 16));
    assert_eq!(
        body.to_string(),
        r#"{"model":"llama3.2","prompt":"why?","raw":true,"stream":false,"options":{"num_predict":16,"temperature":1.5,"seed":7},"keep_alive":"1h"}"#
    );
}

#[test]
fn parts_of_a_message_become_one_text() {
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": "a"},
        {"type": "text", "text": "b"}]}]);
    let prompt = servemark_core::Prompt::Messages(serde_json::from_value(messages).unwrap());
    let body = body(OllamaApi::Chat, |_| {}, &Sample::new(prompt, 2, 16));
    assert_eq!(body["messages"], json!([{"role": "user", "content": "ab"}]));
}

#[test]
fn a_stream_is_of_lines_and_anything_else_a_document() {
    let framing = |stream| {
        let mut spec = OllamaSpec::default();
        spec.common.stream = stream;
        spec.framing()
    };
    assert_eq!((framing(true), framing(false)), (Framing::Lines, Framing::Document));
}

#[test]
fn a_chat_is_read_line_by_line() {
    let (read, outcomes) = read(
        OllamaApi::Chat,
        &[
            r#"{"model":"m","created_at":"2025-01-01T00:00:00.1Z","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#,
            r#"{"model":"m","created_at":"2025-01-01T00:00:00.2Z","message":{"role":"assistant","content":"Be"},"done":false}"#,
            r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}"#,
            r#"{"model":"m","created_at":"2025-01-01T00:00:00.3Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":4883583458,"load_duration":1334875,"prompt_eval_count":26,"prompt_eval_duration":342546000,"eval_count":282,"eval_duration":4535599000}"#,
        ],
    );
    assert_eq!(read.pieces, ["Reasoning Hm", "Content Be", "ToolCall f{\"a\":1}"]);
    assert_eq!(read.usage, Some(Usage::new(Some(26), Some(282))));
    let times = ServerTimes::new(Some(1.334_875), Some(342.546));
    let times = times.with_decode(Some(4_535.599)).with_total(Some(4_883.583_458));
    assert_eq!(read.times, Some(times));
    assert_eq!(read.reason.as_deref(), Some("stop"));
    let go_on = || Ok(Flow::Continue);
    assert_eq!(outcomes, [go_on(), go_on(), go_on(), Ok(Flow::Done), Ok(Flow::Done)]);
}

#[test]
fn a_text_is_read_line_by_line() {
    let (read, outcomes) = read(
        OllamaApi::Generate,
        &[
            r#"{"model":"m","response":"The","done":false}"#,
            r#"{"model":"m","response":"","done":true,"context":[1,2,3],"prompt_eval_count":5.0,"eval_count":"1"}"#,
        ],
    );
    let odd = ["odd prompt_eval_count: 5.0", "odd eval_count: \"1\""];
    assert_eq!(read.pieces, ["Content The", odd[0], odd[1]]);
    assert_eq!(read.usage, Some(Usage::new(Some(5), Some(1))));
    assert_eq!(outcomes[2], Ok(Flow::Done));
}

#[test]
fn an_error_line_is_a_failure_inside_the_stream() {
    let (_, outcomes) = read(
        OllamaApi::Generate,
        &[
            r#"{"model":"m","response":"The","done":false}"#,
            r#"{"error":"model runner has unexpectedly stopped"}"#,
        ],
    );
    let error = outcomes[1].as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::InStream);
    assert!(error.message.contains("model runner has unexpectedly stopped"), "{error}");
}

#[test]
fn a_stream_without_its_last_line_is_cut() {
    let (_, outcomes) = read(OllamaApi::Chat, &[r#"{"message":{"content":"a"},"done":false}"#]);
    assert_eq!(outcomes[1].as_ref().unwrap_err().kind, ErrorKind::Truncated);
}
