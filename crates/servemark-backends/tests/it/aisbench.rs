//! Bodies recorded with AISBench's own models, compared with this crate's
//! (`fixtures/aisbench/bodies.json`), and answers of text-generation-inference, `MindIE` and
//! Triton.

use serde::Deserialize;
use serde_json::{Value, json};
use servemark_backends::{AisbenchClass, AisbenchSpec, Backend, BackendSpec, CommonSpec, Decoder};
use servemark_core::{ErrorKind, JsonObject, Prompt, Sample, Usage};

use crate::reading::Reading;

#[derive(Deserialize)]
struct RecordedRequest {
    class: String,
    stream: bool,
    url: String,
    body: String,
}

fn recorded() -> Vec<RecordedRequest> {
    let path = format!("{}/../../fixtures/aisbench/bodies.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn class(name: &str) -> AisbenchClass {
    AisbenchClass::ALL.into_iter().find(|class| class.as_str() == name).unwrap()
}

fn spec(class: AisbenchClass, stream: bool) -> BackendSpec {
    let mut common = CommonSpec::new("m");
    common.stream = stream;
    BackendSpec::Aisbench(AisbenchSpec::new(class, common))
}

/// Returns the generation settings of the recordings.
fn settings() -> JsonObject {
    let settings = json!({"temperature": 0.01, "ignore_eos": false, "stop": ["\n"], "seed": null,
                          "max_tokens": 3, "é": "ü"});
    serde_json::from_value(settings).unwrap()
}

/// Returns the prompt of a recorded body.
fn prompt(body: &Value) -> Prompt {
    match &body["messages"] {
        Value::Null => {
            let keys = ["prompt", "inputs", "text_input"];
            keys.iter().find_map(|key| body[key].as_str()).unwrap().into()
        }
        // The message of a text has the key `role` first; messages of a conversation have it last.
        messages if messages[0].as_object().unwrap().keys().next().unwrap() == "role" => {
            messages[0]["content"].as_str().unwrap().into()
        }
        messages => Prompt::Messages(serde_json::from_value(messages.clone()).unwrap()),
    }
}

#[test]
fn bodies_are_the_peers_to_the_byte() {
    let recorded = recorded();
    assert_eq!(recorded.len(), 27);
    for RecordedRequest { class: name, stream, url, body } in recorded {
        let mut spec = spec(class(&name), stream);
        spec.common_mut().extra_body = settings();
        let mut sample = Sample::new(prompt(&serde_json::from_str(&body).unwrap()), 1, 12);
        if body.starts_with("{\"id\"") {
            sample.extra_body.insert("id".to_owned(), "$ID".into());
        }
        let request = spec.build().encode(&sample).unwrap();
        assert_eq!(String::from_utf8(request.body.to_vec()).unwrap(), body);
        assert_eq!(format!("http://gateway/v9{}", request.path), url);
        assert_eq!(spec.path(), request.path);
    }
}

#[test]
fn a_text_is_what_a_user_says() {
    let request = spec(AisbenchClass::VllmChat, false).build().encode(&Sample::new("Hi", 1, 3));
    let expected = r#"{"stream": false, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3, "model": "m"}"#;
    assert_eq!(request.unwrap().body, expected);
}

#[test]
fn adapters_are_asked_for_where_each_class_has_them() {
    let mut sample = Sample::new("Hi", 1, 3);
    sample.adapter = Some("a".to_owned());
    let body = |class| {
        let request = spec(class, true).build().encode(&sample).unwrap();
        serde_json::from_slice::<Value>(&request.body).unwrap()
    };
    assert_eq!(body(AisbenchClass::Vllm)["model"], "a");
    assert_eq!(body(AisbenchClass::Tgi)["parameters"]["adapter_id"], "a");
    assert_eq!(body(AisbenchClass::Triton)["parameters"], json!({"max_new_tokens": 3}));
}

fn decoder(class: AisbenchClass) -> Box<dyn Decoder> {
    spec(class, true).build().decoder(&Sample::new("Hi", 1, 3))
}

#[track_caller]
fn reads(class: AisbenchClass, stream: &str) -> Reading {
    Reading::of_stream(decoder(class), [stream.as_bytes()])
}

#[test]
fn tokens_of_text_generation_inference_are_pieces() {
    let stream = "data:{\"index\":1,\"token\":{\"id\":5,\"text\":\" ha\",\"special\":false},\"generated_text\":null,\"details\":null}\n\n\
                  data:{\"index\":2,\"token\":{\"id\":5,\"text\":\" ha\",\"special\":false},\"generated_text\":\" ha ha\",\"details\":{\"finish_reason\":\"length\",\"generated_tokens\":2,\"seed\":null}}\n\n";
    let reading = reads(AisbenchClass::Tgi, stream);
    assert_eq!((reading.text().as_str(), reading.tokens()), (" ha ha", Some(2)));
    assert_eq!(reading.usage, Some(Usage::new(None, Some(2))));
    assert_eq!((reading.finish_reason.as_deref(), reading.outcome), (Some("length"), Ok(())));
}

#[test]
fn tokens_of_mindie_may_be_several_at_once() {
    let stream = "data: {\"prefill_time\":45.5,\"decode_time\":null,\"token\":{\"id\":[626,5],\"text\":\"am\"}}\n\n\
                  data: {\"prefill_time\":null,\"decode_time\":12.0,\"generated_text\":\"am\",\"details\":{\"finish_reason\":\"length\",\"generated_tokens\":3,\"seed\":1},\"token\":{\"id\":[2],\"text\":null}}\n\n";
    let reading = reads(AisbenchClass::MindieStream, stream);
    assert_eq!((reading.text().as_str(), reading.tokens()), ("am", Some(3)));
    assert_eq!(reading.outcome, Ok(()));
}

#[test]
fn a_text_that_comes_at_the_end_alone_is_the_answer() {
    let reading = reads(AisbenchClass::Tgi, "data: {\"generated_text\":\"all of it\"}\n\n");
    assert_eq!((reading.text().as_str(), reading.outcome), ("all of it", Ok(())));
}

#[test]
fn pieces_of_triton_that_are_alike_are_two() {
    let stream = "data: {\"text_output\":\"ha\"}\n\ndata: {\"text_output\":\"ha\"}\n\ndata: {\"text_output\":\"\"}\n\n";
    let reading = reads(AisbenchClass::Triton, stream);
    assert_eq!((reading.text().as_str(), reading.pieces.len()), ("haha", 3));
    assert_eq!(reading.outcome, Ok(()));
}

#[test]
fn an_event_that_repeats_the_text_is_an_event_and_no_text() {
    let stream = "data: {\"generated_text\":\"am\"}\n\ndata: {\"generated_text\":\"am I\"}\n\n\
                  data: {\"generated_text\":\"am I\"}\n\ndata: {\"details\":{\"finish_reason\":\"length\"}}\n\n";
    for class in [AisbenchClass::MindieStream, AisbenchClass::Tgi] {
        let reading = reads(class, stream);
        assert_eq!((reading.text().as_str(), reading.pieces.len()), ("am I", 4), "{class}");
        assert_eq!(reading.outcome, Ok(()));
        let nothing = reads(class, "data: {\"generated_text\":\"\"}\n\n").outcome;
        assert_eq!(nothing.unwrap_err().kind, ErrorKind::Empty);
    }
}

#[test]
fn a_token_that_only_ends_is_no_word_of_the_text() {
    let stream = "data:{\"token\":{\"id\":5,\"text\":\"ha\",\"special\":false}}\n\n\
                  data:{\"token\":{\"id\":2,\"text\":\"</s>\",\"special\":true},\"generated_text\":\"ha\"}\n\n";
    let reading = reads(AisbenchClass::Tgi, stream);
    assert_eq!((reading.text().as_str(), reading.tokens()), ("ha", Some(2)));
}

#[test]
fn an_error_inside_an_answer_is_a_failure() {
    for class in [AisbenchClass::Tgi, AisbenchClass::MindieStream, AisbenchClass::Triton] {
        let stream = "data: {\"error\":\"overloaded\",\"error_type\":\"overloaded\"}\n\n";
        let error = reads(class, stream).outcome.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::InStream, "overloaded"));
    }
}

#[test]
fn an_answer_that_breaks_off_is_no_whole_one() {
    let stream = "data: {\"token\":{\"id\":5,\"text\":\"ha\"},\"generated_text\":null}\n\n";
    assert_eq!(reads(AisbenchClass::Tgi, stream).outcome.unwrap_err().kind, ErrorKind::Truncated);
    assert_eq!(reads(AisbenchClass::Triton, "").outcome.unwrap_err().kind, ErrorKind::Empty);
}

#[test]
fn documents_are_read_as_well() {
    let document = |class, body: &str| Reading::of_document(decoder(class), body.as_bytes());
    let reading = document(AisbenchClass::Tgi, r#"[{"generated_text":"all"}]"#);
    assert_eq!((reading.text().as_str(), reading.outcome), ("all", Ok(())));
    let reading = document(AisbenchClass::Triton, r#"{"text_output":"all"}"#);
    assert_eq!((reading.text().as_str(), reading.outcome), ("all", Ok(())));
}
