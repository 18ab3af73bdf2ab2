//! Requests and answers recorded with vLLM's own client, compared with this crate's:
//! `fixtures/vllm/bodies.json` and `streams.json`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use servemark_backends::{
    Backend, BackendSpec, CommonSpec, Decoder, VllmDialect, VllmSpec, WireBackend, WireRequest,
};
use servemark_core::{
    Audio, AudioSource, DeltaKind, ErrorKind, JsonObject, Medium, Prompt, RequestError, Sample,
    SoundFile,
};

use crate::reading::Reading;

fn read<T: DeserializeOwned>(file: &str) -> T {
    let path = format!("{}/../../fixtures/vllm/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A request as vLLM's client sent it, and the input of the function that sent it.
#[derive(Deserialize)]
struct RecordedRequest {
    backend: String,
    input: JsonObject,
    line: String,
    headers: Vec<(String, String)>,
    body: Option<String>,
    form: Option<String>,
}

impl RecordedRequest {
    fn dialect(&self) -> VllmDialect {
        VllmDialect::of(&self.backend).unwrap()
    }

    fn spec(&self, dialect: VllmDialect) -> VllmSpec {
        let text = |key: &str| self.input.get(key).and_then(Value::as_str);
        let mut common = CommonSpec::new(text("model_name").or(text("model")).unwrap());
        common.ignore_eos = self.input.contains_key("ignore_eos");
        if let Some(Value::Object(extra)) = self.input.get("extra_body") {
            common.extra_body.clone_from(extra);
        }
        let mut spec = VllmSpec::new(dialect, common);
        spec.logprobs = self.input.get("logprobs").map(|count| count.as_i64().unwrap());
        spec
    }

    fn sample(&self) -> Sample {
        let number = |key: &str| self.input[key].as_u64().unwrap() as u32;
        let prompt = match self.input.get("chat_messages") {
            Some(messages) => Prompt::Messages(serde_json::from_value(messages.clone()).unwrap()),
            None => prompt(&self.input["prompt"]),
        };
        let mut sample = Sample::new(prompt, number("prompt_len"), number("output_len"));
        if let Some(content) = self.input.get("multi_modal_content") {
            (sample.media, sample.audio) = (media(content), audio(content));
        }
        if let Some(id) = self.input.get("request_id") {
            let id = id.as_str().unwrap().to_owned();
            sample.headers.push(("x-request-id".to_owned(), id));
        }
        sample
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

fn prompt(value: &Value) -> Prompt {
    let Value::Array(items) = value else { return value.as_str().unwrap().into() };
    match &items[0] {
        Value::String(_) => Prompt::Texts(serde_json::from_value(value.clone()).unwrap()),
        // A mixed list of texts and pictures is one message of the user.
        Value::Object(item) if item.contains_key("type") => {
            let message = json!([{"role": "user", "content": value}]);
            serde_json::from_value(message).unwrap()
        }
        _ => serde_json::from_value(value.clone()).unwrap(),
    }
}

/// Returns the pictures and videos of a request.
fn media(content: &Value) -> Vec<Medium> {
    let all = content.as_array().cloned().unwrap_or_else(|| vec![content.clone()]);
    let medium = |part: &Value| {
        let url = |kind: &str| part.get(kind)?["url"].as_str().map(str::to_owned);
        let image = url("image_url").map(Medium::image);
        image.or_else(|| url("video_url").map(Medium::video))
    };
    all.iter().filter_map(medium).collect()
}

/// Returns the audio of a request: a file of the fixtures, or a WAV file that the client wrote.
fn audio(content: &Value) -> Option<Audio> {
    if let Some(name) = content.get("audio_path") {
        let name = name.as_str().unwrap();
        let path = format!("{}/../../fixtures/vllm/inputs/{name}", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path).unwrap();
        return Some(Audio::new(Observed(SoundFile::new(name, "audio/x-wav", bytes))));
    }
    let data = content.get("input_audio")?["data"].as_str()?;
    let bytes = STANDARD.decode(data).unwrap();
    Some(Audio::new(Observed(SoundFile::new("audio.wav", "audio/wav", bytes))))
}

#[derive(Debug)]
struct Observed(SoundFile);

impl AudioSource for Observed {
    fn file(&self) -> Result<SoundFile, RequestError> {
        Ok(self.0.clone())
    }

    fn duration(&self) -> Duration {
        Duration::ZERO
    }
}

/// vLLM's client replaces the text of requests to CLIP and `VLM2Vec` models, also beside audio.
#[test]
fn models_that_embed_pictures_get_no_text_beside_audio() {
    let sound = SoundFile::new("audio.wav", "audio/wav", vec![7]);
    let sample = Sample::new("a question", 2, 1).with_audio(Audio::new(Observed(sound)));
    for (dialect, text, position) in [
        (VllmDialect::OpenaiEmbeddingsClip, "", 0),
        (VllmDialect::OpenaiEmbeddingsVlm2vec, "Represent the given image.", 1),
    ] {
        let spec = VllmSpec::new(dialect, CommonSpec::new("m"));
        let backend: WireBackend = BackendSpec::Vllm(spec).build();
        let body = backend.encode(&sample).unwrap();
        let body: Value = serde_json::from_slice(&body.body).unwrap();
        assert_eq!(body["messages"][0]["content"][position]["text"], text, "{body}");
    }
}

#[test]
fn we_send_what_vllms_client_sends() {
    let mut compared = 0;
    for sent in read::<Vec<RecordedRequest>>("bodies.json") {
        let backend = BackendSpec::Vllm(sent.spec(sent.dialect())).build();
        let request = backend.encode(&sent.sample()).unwrap();
        let place = format!("{} {:?}", sent.backend, sent.input);
        if let Some(form) = &sent.form {
            assert_eq!(&form_of(&request), form, "{place}");
        } else {
            let expected: Value = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
            let ours: Value = serde_json::from_slice(&request.body).unwrap();
            // Equality of objects ignores the order of keys, which matters on the wire.
            assert_eq!(ours.to_string(), expected.to_string(), "{place}");
        }
        assert_eq!(sent.line, format!("POST {} HTTP/1.1", request.path));
        let id = request.headers.get("x-request-id").map(|id| id.to_str().unwrap());
        assert_eq!(id, sent.header("x-request-id").filter(|id| *id != "mine"));
        compared += 1;
    }
    assert_eq!(compared, 51, "a case was added or lost");
}

/// Returns a form in the recorded form: with a placeholder for its boundary, in base64.
fn form_of(request: &WireRequest) -> String {
    let kind = request.headers["content-type"].to_str().unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap().as_bytes();
    let (mut named, mut rest) = (Vec::new(), &request.body[..]);
    while let Some(at) = rest.windows(boundary.len()).position(|part| part == boundary) {
        named.extend([&rest[..at], b"$BOUNDARY"].concat());
        rest = &rest[at + boundary.len()..];
    }
    STANDARD.encode([&named[..], rest].concat())
}

/// An answer, and its interpretation by vLLM's client.
#[derive(Deserialize)]
struct Answered {
    name: String,
    backend: String,
    answer: String,
    status: u16,
    success: bool,
    text: String,
    output_tokens: u32,
    prompt_tokens: u32,
    gaps: usize,
}

impl Answered {
    fn reading(&self, dialect: VllmDialect) -> Reading {
        let sample = match dialect {
            VllmDialect::VllmRerank => {
                Sample::new(Prompt::Texts(vec!["q".into(), "d".into()]), 3, 0)
            }
            _ => Sample::new("hi", 7, 5),
        };
        let decoder = decoder(dialect, &sample);
        if self.answer.contains("data: ") {
            Reading::of_stream(decoder, [self.answer.as_bytes()])
        } else {
            Reading::of_document(decoder, self.answer.as_bytes())
        }
    }
}

fn decoder(dialect: VllmDialect, sample: &Sample) -> Box<dyn Decoder> {
    let backend: WireBackend =
        BackendSpec::Vllm(VllmSpec::new(dialect, CommonSpec::new("m"))).build();
    backend.decoder(sample)
}

#[test]
fn we_read_what_vllms_client_reads_but_for_its_defects() {
    let mut compared = 0;
    for answered in read::<Vec<Answered>>("streams.json") {
        let built = VllmDialect::of(&answered.backend);
        let Some(dialect) = built.filter(|_| answered.status == 200) else { continue };
        let reading = answered.reading(dialect);
        if let Some((_, ours)) = MENDED.iter().find(|(name, _)| *name == answered.name) {
            assert_eq!(pieces_and_tokens(&reading), *ours, "{}", answered.name);
            continue;
        }
        assert_eq!(reading.outcome.is_ok(), answered.success, "{}: {reading:?}", answered.name);
        if !answered.success {
            continue;
        }
        let content = reading.pieces.iter().filter(|piece| piece.kind == DeltaKind::Content);
        let content: String = content.map(|piece| piece.text.as_str()).collect();
        assert_eq!(content, answered.text, "{}", answered.name);
        assert_eq!(reading.pieces.len().saturating_sub(1), answered.gaps, "{}", answered.name);
        let tokens = reading.usage.and_then(|usage| usage.completion_tokens).unwrap_or_default();
        assert_eq!(tokens, answered.output_tokens, "{}", answered.name);
        let prompt = reading.usage.and_then(|usage| usage.prompt_tokens);
        assert_eq!(prompt.unwrap_or(7), answered.prompt_tokens, "{}", answered.name);
        compared += 1;
    }
    assert_eq!(compared, 13, "a case was added or lost");
}

/// The number of pieces and the number of tokens that the server counted.
type PiecesAndTokens = Result<(usize, Option<u32>), ErrorKind>;

fn pieces_and_tokens(reading: &Reading) -> PiecesAndTokens {
    let tokens = reading.usage.and_then(|usage| usage.completion_tokens);
    match &reading.outcome {
        Ok(()) => Ok((reading.pieces.len(), tokens)),
        Err(error) => Err(error.kind),
    }
}

/// The answers that this crate decodes differently from vLLM's client: line ends that the standard
/// allows, counts beside choices, reasoning under its other name, errors in a stream, and truncated
/// answers; also, events without text are not pieces here.
const MENDED: [(&str, PiecesAndTokens); 10] = [
    ("audio", Ok((1, Some(3)))),
    ("chat_empty_content", Ok((1, Some(2)))),
    ("chat_reasoning_content", Ok((2, Some(2)))),
    ("chat_tools", Ok((1, Some(2)))),
    ("crlf", Ok((2, Some(2)))),
    ("embeddings_no_usage", Ok((0, None))),
    ("empty_text", Ok((1, Some(3)))),
    ("error_in_stream", Err(ErrorKind::InStream)),
    ("no_done", Err(ErrorKind::Truncated)),
    ("usage_beside_choices", Ok((2, Some(2)))),
];

#[test]
fn a_response_that_is_completed_may_be_cut_short() {
    let ended = |response: &str| {
        let event = r#"{"type":"response.output_text.delta","delta":"x"}"#;
        let last = format!(r#"{{"response":{response},"type":"response.completed"}}"#);
        let answer = format!("data: {event}\n\ndata: {last}\n\n");
        let decoder = decoder(VllmDialect::OpenaiResponses, &Sample::new("hi", 1, 4));
        let reading = Reading::of_stream(decoder, [answer.as_bytes()]);
        reading.outcome.unwrap();
        reading.finish_reason.unwrap()
    };
    let cut = r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#;
    assert_eq!(ended(cut), "max_output_tokens", "as vLLM's server says it");
    assert_eq!(ended(r#"{"status":"completed","incomplete_details":null}"#), "completed");
}
