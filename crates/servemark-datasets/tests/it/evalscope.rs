//! Tests all cases in `fixtures/evalscope/bodies`, recorded from the real client.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use servemark_backends::{Backend, WireBackend};
use servemark_core::{JsonObject, Prompt, Sample, Session};
use servemark_datasets::{DatasetSpec, Draw, EvalscopeData, EvalscopeName, EvalscopeSpec};
use servemark_rng::RandomState;

use crate::evalscope_flags::Flags;
use crate::vllm::{After, read_all};
use crate::{draw, fixture, tokenizer};

#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    #[serde(default)]
    requests: Vec<Request>,
    after: Option<After>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Request {
    body: Value,
    turn: Option<usize>,
    pause: Option<f64>,
    begins: Option<f64>,
    #[serde(default)]
    headers: JsonObject,
}

fn draw_flags(flags: &Flags, random: &mut RandomState) -> Result<Draw, String> {
    let spec = flags.dataset().map_err(|error| error.to_string())?;
    // A data set without a tokenizer makes no use of this default.
    let tokenizer = tokenizer(flags.tokenizer().unwrap_or("gpt2"));
    draw(&spec, flags.count(), tokenizer, random).map_err(|error| error.to_string())
}

#[test]
fn every_recorded_request_is_reproduced() {
    let (mut made, mut refused) = (0, 0);
    for (name, case) in read_all::<Case>("evalscope/bodies") {
        let flags = Flags::new(case.argv);
        let mut random = RandomState::seeded(flags.seed());
        let found = draw_flags(&flags, &mut random);
        if case.error.is_some() {
            refused += usize::from(found.is_err());
            continue;
        }
        let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&name, &found.sessions, &case.requests, &flags.wire().build());
        if let Some(after) = case.after {
            assert_eq!(After::of(random), after, "{name}");
        }
        made += 1;
    }
    // Unknown keys, and keys that lack a required other one, are refused by the command line.
    assert_eq!((made, refused), (78, 6), "a case was added or lost");
}

fn check(name: &str, sessions: &[Session], expected: &[Request], backend: &WireBackend) {
    let mut expected = expected.iter();
    for session in sessions {
        let mut history = Vec::new();
        let pauses = session.follow_ups.iter().map(|turn| turn.pause);
        let pauses = [Duration::ZERO].into_iter().chain(pauses);
        for ((turn, sample), pause) in session.samples().enumerate().zip(pauses) {
            let request = expected.next().unwrap_or_else(|| panic!("{name}: too many requests"));
            assert_eq!(request.turn.unwrap_or(0), turn, "{name}");
            assert_eq!(Duration::from_secs_f64(request.pause.unwrap_or(0.0)), pause, "{name}");
            assert_eq!(request.begins, session.begins.map(|begins| begins.as_secs_f64()), "{name}");
            let headers =
                sample.headers.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
            assert_eq!(request.headers, headers.collect(), "{name}");
            let drafts = in_turn(sample, &mut history, session.turns() > 1);
            let body =
                backend.encode(&drafts).unwrap_or_else(|error| panic!("{name}: {error}")).body;
            same(name, serde_json::from_slice(&body).unwrap(), request.body.clone());
        }
    }
    assert_eq!(expected.count(), 0, "{name}: too few requests");
}

/// Returns a turn's request with the history that the runner puts before it.
fn in_turn(sample: &Sample, history: &mut Vec<JsonObject>, converses: bool) -> Sample {
    let mut drafts = sample.clone();
    if let Prompt::Messages(messages) = &sample.prompt
        && converses
    {
        history.extend(messages.iter().cloned());
        drafts.prompt = Prompt::Messages(history.clone());
        history.push(Flags::answer());
    }
    drafts
}

/// Checks that two bodies have the same keys in the same order, and equal images.
fn same(name: &str, mut ours: Value, mut expected: Value) {
    let rendered = [pictures(&mut ours), pictures(&mut expected)];
    // Comparing texts includes the order of keys, which matters on the wire but not for `Value`.
    assert_eq!(ours.to_string(), expected.to_string(), "{name}");
    assert_eq!(rendered[0].len(), rendered[1].len(), "{name}");
    for (ours, expected) in rendered[0].iter().zip(&rendered[1]) {
        alike(name, ours, expected);
    }
}

/// Removes the images from a body and returns them.
fn pictures(value: &mut Value) -> Vec<String> {
    match value {
        Value::String(text) if text.starts_with("data:image/") => {
            let (kind, _) = text.split_once(',').unwrap();
            let kind = kind.to_owned();
            vec![std::mem::replace(text, kind)]
        }
        Value::Array(items) => items.iter_mut().flat_map(pictures).collect(),
        Value::Object(parts) => parts.values_mut().flat_map(pictures).collect(),
        _ => Vec::new(),
    }
}

/// Checks that two images are alike. JPEG files must be equal, as both encoders are alike; in PNG
/// files a few pixels of an edge may differ.
fn alike(name: &str, ours: &str, expected: &str) {
    if ours.starts_with("data:image/jpeg") {
        assert_eq!(ours, expected, "{name}");
        return;
    }
    let [ours, expected] = [ours, expected].map(file);
    assert_eq!(colour_type(&ours), colour_type(&expected), "{name}");
    let [ours, expected] = [ours, expected].map(|file| pixels(&file));
    assert_eq!(ours.dimensions(), expected.dimensions(), "{name}");
    let differ = ours.pixels().zip(expected.pixels()).filter(|(ours, expected)| ours != expected);
    let (differ, all) = (differ.count(), ours.pixels().len());
    assert!(differ * 20 < all, "{name}: {differ} of {all} pixels differ");
}

fn file(uri: &str) -> Vec<u8> {
    let (_, file) = uri.split_once(',').unwrap();
    STANDARD.decode(file).unwrap()
}

/// Returns the colour type in a PNG header.
fn colour_type(png: &[u8]) -> u8 {
    png[25]
}

fn pixels(png: &[u8]) -> image::RgbaImage {
    image::load_from_memory(png).unwrap().into_rgba8()
}

#[test]
fn recorded_requests_keep_their_names() {
    let mut data = EvalscopeData::from_name(EvalscopeName::WorkloadTrace);
    let EvalscopeData::Workload(spec) = &mut data else { panic!("{data:?}") };
    spec.path = Some(fixture("evalscope/inputs/workload.jsonl"));
    let spec = DatasetSpec::Evalscope(EvalscopeSpec::new(data));
    let drawn = draw(&spec, 0, tokenizer("gpt2"), &mut RandomState::seeded(0)).unwrap();
    let named = drawn.sessions.iter().filter_map(|session| session.first.request_id.as_deref());
    assert_eq!(named.collect::<Vec<_>>(), ["a"]);
}

/// evalscope does not find its keys `__evalscope_…` in a request that became a part of another
/// body.
#[test]
fn recorded_requests_within_other_bodies_keep_evalscopes_notes() {
    let mut data = EvalscopeData::from_name(EvalscopeName::WorkloadTrace);
    let EvalscopeData::Workload(spec) = &mut data else { panic!("{data:?}") };
    spec.path = Some(fixture("evalscope/inputs/workload.jsonl"));
    spec.marked_warm_ups = Some(1);
    let spec = DatasetSpec::Evalscope(EvalscopeSpec::new(data));
    let drawn = draw(&spec, 3, tokenizer("gpt2"), &mut RandomState::seeded(0)).unwrap();
    let notes = drawn.sessions.iter().map(|session| {
        assert_eq!((session.first.request_id.as_deref(), session.first.headers.len()), (None, 0));
        let Prompt::Body(body) = &session.first.prompt else { panic!("no body") };
        let mut notes = body.clone();
        notes.retain(|key, _| key.starts_with("__evalscope"));
        serde_json::to_string(&notes).unwrap()
    });
    let expected = [
        r#"{"__evalscope_arrival_offset":0.0,"__evalscope_is_warmup":true,"__evalscope_headers":{"X-Tenant":"blue","Host":"old","Authorization":"Bearer old"}}"#,
        r#"{"__evalscope_arrival_offset":1.25}"#,
        r#"{"__evalscope_arrival_offset":2.5,"__evalscope_request_id":"a"}"#,
    ];
    assert_eq!(notes.collect::<Vec<_>>(), expected);
}

#[test]
fn a_plan_holds_every_data_set() {
    for name in EvalscopeName::ALL {
        assert_eq!(name.as_str().parse(), Ok(name));
        let data = EvalscopeData::from_name(name);
        assert_eq!(data.name(), name);
        let spec = DatasetSpec::Evalscope(EvalscopeSpec::new(data));
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<DatasetSpec>(&json).unwrap(), spec, "{json}");
    }
}

/// Returns the error message for a file with this text.
fn file_error(name: EvalscopeName, text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, text).unwrap();
    let mut data = EvalscopeData::from_name(name);
    match &mut data {
        EvalscopeData::Texts(spec) => spec.path = Some(path),
        EvalscopeData::Decisions(spec) => spec.path = Some(path),
        EvalscopeData::Embedding(spec) => spec.path = Some(path),
        EvalscopeData::Rerank(spec) => spec.path = Some(path),
        EvalscopeData::Turns(spec) => spec.path = Some(path),
        EvalscopeData::Trie(spec) => spec.path = Some(path),
        EvalscopeData::SweSmith(spec) => spec.path = Some(path),
        EvalscopeData::Workload(spec) => spec.path = Some(path),
        other => panic!("{other:?} has no file"),
    }
    let mut spec = EvalscopeSpec::new(data);
    (spec.chat, spec.tokenizer) = (false, true);
    let spec = DatasetSpec::Evalscope(spec);
    let drawn = draw(&spec, 9, tokenizer("gpt2"), &mut RandomState::seeded(0));
    drawn.unwrap_err().to_string()
}

#[track_caller]
fn refuses(name: EvalscopeName, text: &str, reason: &str) {
    let reported = file_error(name, text);
    let (_, at) = reported.split_once("rows.jsonl").unwrap_or(("", &reported));
    assert!(at.starts_with(reason), "{reported}");
}

#[test]
fn bad_lines_are_told_with_their_places() {
    use EvalscopeName as Name;
    let short = r#"{"input_prompt_length":1,"num_turns":2,"assistant_response_length":[1],"tool_call_output_length":[1],"tool_call_latency":[1],"final_assistant_response_length":1}"#;
    refuses(Name::LineByLine, "a\n42\n", ":2: this JSON is not a prompt");
    refuses(Name::Openqa, "{\"question\":\"a\"}\n\n{\"q\":1}", ":3: it has no text under");
    refuses(
        Name::OpenDecisions,
        "{\"state\":1,\"question\":{}}\n{\"state\":1}",
        ":2: it has no question",
    );
    refuses(Name::OpenDecisions, "[{\"question\":{}}]", ":1: it has no state");
    refuses(Name::LongAlpaca, "[\n{\"instruction\":1}]", ":2: it has no text under");
    refuses(Name::ShareGptEn, "{\"conversation\":3}", ":1: its \"conversation\" is not an array");
    refuses(Name::CustomMultiTurn, "[]", ":1: expected an array of messages");
    refuses(Name::CustomMultiTurn, "[{\"role\":\"user\"}]", ":1: expected an array of messages");
    refuses(Name::Embedding, "\"a\"\n{\"t\":1}", ":2: expected a text, or an object");
    refuses(Name::Rerank, "{\"query\":\"a\"}", ":1: expected an object with a \"query\"");
    refuses(Name::TrieCodeQa, short, ":1: its lists do not have num_turns (2) items");
    refuses(Name::SweSmith, "{\n\"conversations\": 3}", ":2: ");
}

#[test]
fn all_bad_records_are_told_at_once() {
    let good = r#"{"body":{},"timestamp":1}"#;
    let unknown = r#"{"body":{},"timestamp":1,"extra":2}"#;
    let reported = file_error(
        EvalscopeName::WorkloadTrace,
        &[good, unknown, r#"{"body":3,"timestamp":1}"#, r#"{"body":{},"timestamp":"soon"}"#]
            .join("\n"),
    );
    assert!(reported.contains("rows.jsonl:2: unknown field `extra`"), "{reported}");
    assert!(
        reported
            .contains("; line 3: its body is not a JSON object; line 4: \"soon\" is not a date"),
        "{reported}"
    );
}
