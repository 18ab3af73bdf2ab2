use servemark_core::ErrorKind;

use super::*;
use crate::recording_sink::{RecordingSink, decode_counting};
use crate::{Backend, EvalscopeApi};

#[track_caller]
fn reads(frames: &[&str]) -> (RecordingSink, Vec<Result<Flow, RequestError>>) {
    let decoder = DashscopeDecoder::new(&Sample::new("Hi", 1, 8));
    let (heard, outcomes, _) = decode_counting(decoder, frames, |_, _| false);
    (heard, outcomes)
}

fn chosen(fields: &str, reason: &str) -> String {
    format!(
        r#"{{"output":{{"choices":[{{"message":{{{fields}}},"finish_reason":"{reason}"}}]}},"usage":{{"input_tokens":3,"output_tokens":2}}}}"#
    )
}

#[test]
fn texts_that_grow_and_pieces_give_the_same() {
    let growing = [chosen(r#""content":"Hel""#, "null"), chosen(r#""content":"Hello""#, "stop")];
    let pieces = [chosen(r#""content":"Hel""#, "null"), chosen(r#""content":"lo""#, "stop")];
    let (grown, outcomes) = reads(&growing.each_ref().map(String::as_str));
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(grown, reads(&pieces.each_ref().map(String::as_str)).0);
}

#[test]
fn reasoning_is_told_apart() {
    let frame = chosen(r#""reasoning_content":"Hm","content":"""#, "stop");
    let (heard, outcomes) = reads(&[&frame]);
    assert!(format!("{heard:?}").contains("Reasoning"), "{heard:?}");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

#[test]
fn a_text_without_choices_is_read() {
    let (_, outcomes) = reads(&[r#"{"output":{"text":"Hi","finish_reason":"stop"}}"#]);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

#[test]
fn an_answer_without_an_output_is_an_error() {
    let (_, outcomes) = reads(&[r#"{"code":"InvalidParameter","message":"too long"}"#]);
    let error = outcomes[0].clone().unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::InStream, "too long"));
}

#[test]
fn a_prompt_is_under_input_and_knobs_are_under_parameters() {
    let mut spec = EvalscopeSpec::new(EvalscopeApi::Dashscope, "qwen");
    let template = r#"{"input":{"messages":[],"a":1},"parameters":{"b":2},"c":3}"#;
    spec.query_template = Some(serde_json::from_str(template).unwrap());
    let request = spec.encode(&Sample::new("Hi", 1, 8)).unwrap();
    assert_eq!(request.headers["x-dashscope-sse"], "enable");
    assert_eq!(
        std::str::from_utf8(&request.body).unwrap(),
        r#"{"input":{"messages":[],"a":1,"prompt":"Hi"},"model":"qwen","parameters":{"b":2,"max_tokens":8,"temperature":0.0},"c":3}"#
    );
}
