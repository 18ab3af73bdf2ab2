//! Tests AISBench's data sets against `fixtures/aisbench/rows.json`, which AISBench made from the
//! same files and seeds, and further cases without a recording.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use servemark_core::{DatasetError, JsonObject, Prompt, Sample, Session};
use servemark_datasets::{
    AisbenchConversations, AisbenchCustomSpec, AisbenchData, AisbenchIdsSpec, AisbenchLengths,
    AisbenchMediaSpec, AisbenchMessage, AisbenchSpec, AisbenchTemplate, AisbenchTextSpec,
    AisbenchTraceSpec, AisbenchTurns, ChatRole, DatasetSpec, MediaForm, ShownLayout,
};
use servemark_rng::RandomState;

use crate::{draw, fixture, text, tokenizer};

#[derive(Deserialize)]
struct Recorded {
    rows: Vec<RecordedRow>,
    after: (f64, f64),
}

#[derive(Deserialize)]
struct RecordedRow {
    messages: Value,
    max_out_len: Option<u32>,
    timestamp: Option<f64>,
}

fn recorded(name: &str) -> Recorded {
    let text = fs::read_to_string(fixture("aisbench/rows.json")).unwrap();
    let mut all: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(all[name].take()).unwrap()
}

fn input(name: &str) -> std::path::PathBuf {
    fixture("aisbench/inputs").join(name)
}

fn draw_sessions(
    spec: &AisbenchSpec,
    random: &mut RandomState,
) -> Result<Vec<Session>, DatasetError> {
    let spec = DatasetSpec::Aisbench(spec.clone());
    Ok(draw(&spec, 0, tokenizer("gpt2"), random)?.sessions)
}

fn sessions(spec: &AisbenchSpec) -> Vec<Session> {
    draw_sessions(spec, &mut RandomState::seeded(7)).unwrap()
}

/// Returns a prompt as messages; a text becomes a user message.
fn messages(prompt: &Prompt) -> Value {
    match prompt {
        Prompt::Messages(messages) => json!(messages),
        prompt => json!([{"role": "user", "content": text(prompt)}]),
    }
}

const DEFAULT_LENGTH: u32 = 77;

/// Checks that sessions equal the recorded rows, and that the generators end in AISBench's state.
#[track_caller]
fn check(name: &str, mut spec: AisbenchSpec) {
    let expected = recorded(name);
    (spec.own_lengths, spec.timed) = (true, true);
    let mut random = RandomState::seeded(7);
    let sessions = draw_sessions(&spec, &mut random).unwrap();
    assert_eq!(sessions.len(), expected.rows.len());
    // AISBench lists the times that rows have, and sends by that list.
    let times: Vec<f64> = expected.rows.iter().filter_map(|row| row.timestamp).collect();
    for (index, (session, row)) in sessions.iter().zip(&expected.rows).enumerate() {
        let said: Vec<Value> = session.samples().map(|sample| messages(&sample.prompt)).collect();
        let said = if session.turns() > 1 || row.messages[0].is_array() {
            json!(said)
        } else {
            said[0].clone()
        };
        let said =
            said.to_string().replace(&*fixture("aisbench/inputs").to_string_lossy(), "$HERE");
        assert_eq!(said, row.messages.to_string(), "{name}");
        let length = row.max_out_len.unwrap_or(DEFAULT_LENGTH);
        assert!(session.samples().all(|sample| sample.output_tokens == length), "{name}");
        let begins = session.begins.map(|begins| begins.as_nanos() as f64 / 1e6);
        assert_eq!(begins, times.get(index).or(times.last()).copied(), "{name}");
    }
    let after = (random.python.random(), random.numpy.random_sample());
    assert_eq!(after, expected.after, "{name}");
}

fn spec(data: AisbenchData) -> AisbenchSpec {
    AisbenchSpec::new(data, DEFAULT_LENGTH)
}

fn conversations(turns: AisbenchTurns) -> AisbenchSpec {
    let data = AisbenchConversations::sharegpt(Some(input("sharegpt.json")), turns);
    spec(AisbenchData::Conversations(data))
}

#[test]
fn conversations_with_their_own_answers_are_the_peers() {
    let mut data = AisbenchConversations::sharegpt(
        Some(input("sharegpt.json")),
        AisbenchTurns::EveryWithAnswers,
    );
    data.shuffled = true;
    check("sharegpt", spec(AisbenchData::Conversations(data)));
    let data = AisbenchConversations::mt_bench(
        Some(input("question.jsonl")),
        AisbenchTurns::EveryWithAnswers,
    );
    check("mtbench", spec(AisbenchData::Conversations(data)));
}

#[test]
fn turns_may_follow_the_models_own_answers() {
    let sessions = sessions(&conversations(AisbenchTurns::Every));
    let long = &sessions[1];
    let said: Vec<Value> = long.samples().map(|sample| messages(&sample.prompt)).collect();
    let user = |text: &str| json!([{"content": text, "role": "user"}]);
    assert_eq!(said, [user("Name a unit of time — and \"why\"."), user("And another?")]);
    assert_eq!(long.first.output_tokens, DEFAULT_LENGTH);
}

#[test]
fn the_last_turn_may_be_asked_alone() {
    let sessions = sessions(&conversations(AisbenchTurns::Last));
    let expected = &recorded("sharegpt").rows[2].messages[1];
    assert_eq!(sessions[1].turns(), 1);
    assert_eq!(&messages(&sessions[1].first.prompt), expected);
}

fn part(text: &str) -> AisbenchTemplate {
    let url = |kind: &str| {
        let place = format!("file://{{{kind}}}");
        json!({"type": format!("{kind}_url"), format!("{kind}_url"): {"url": place}})
    };
    let parts = json!({"text": {"type": "text", "text": text}, "image": url("image"),
                       "video": url("video"), "audio": url("audio")});
    AisbenchTemplate::Parts(serde_json::from_value(parts).unwrap())
}

fn media_spec(file: &str, layout: ShownLayout, form: MediaForm, text: &str) -> AisbenchSpec {
    let data = AisbenchMediaSpec::new(Some(input(file)), layout, form);
    let mut spec = spec(AisbenchData::Shown(data));
    spec.template = part(text);
    spec
}

#[test]
fn what_is_shown_by_its_path_is_the_peers() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("MMStar.tsv");
    fs::copy(input("MMStar.tsv"), &table).unwrap();
    let mut spec =
        media_spec("MMStar.tsv", ShownLayout::Mmstar, MediaForm::Path, "Question: {question}\n");
    let AisbenchData::Shown(data) = &mut spec.data else { unreachable!() };
    data.path = Some(table);
    let sessions = sessions(&spec);
    let here = folder.path().to_string_lossy();
    for (session, row) in sessions.iter().zip(&recorded("mmstar").rows) {
        let said = messages(&session.first.prompt).to_string().replace(&*here, "$HERE");
        assert_eq!(said, row.messages.to_string());
    }
    let pictures = ["q0", "q1"]
        .map(|name| fs::read(folder.path().join(format!("MMStar_images/{name}.jpg"))).unwrap());
    assert_eq!(pictures[0], pictures[1], "the second row shows the first one's picture");
    assert!(pictures[0].starts_with(b"\x89PNG"));
    check("mm_custom", media_spec("mm.jsonl", ShownLayout::Custom, MediaForm::Path, "{question}"));
}

#[test]
fn what_is_shown_as_it_is_is_read_when_it_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("a.png");
    fs::write(&picture, "picture").unwrap();
    let line = json!({"type": "image", "path": [picture], "question": "Q?"}).to_string();
    fs::write(folder.path().join("mm.jsonl"), line).unwrap();
    let data = AisbenchMediaSpec::new(
        Some(folder.path().join("mm.jsonl")),
        ShownLayout::Custom,
        MediaForm::Base64,
    );
    let mut spec = spec(AisbenchData::Shown(data));
    let AisbenchTemplate::Parts(mut parts) = part("{question}") else { unreachable!() };
    parts["image"]["image_url"]["url"] = "data:image/png;base64,{image}".into();
    spec.template = AisbenchTemplate::Parts(parts);
    let sample = &sessions(&spec)[0].first;
    assert_eq!(
        messages(&sample.prompt)[0]["content"][0],
        json!({"type": "image_url", "image_url": {}})
    );
    assert_eq!(sample.media[0].uri().unwrap(), "data:image/png;base64,cGljdHVyZQ==");
}

#[test]
fn videos_are_not_taken_apart() {
    let spec = media_spec("mm.jsonl", ShownLayout::Custom, MediaForm::Base64, "{question}");
    let error = draw_sessions(&spec, &mut RandomState::seeded(7)).unwrap_err().to_string();
    assert!(error.contains("mm.jsonl:2: videos cannot be sent as base64"), "{error}");
}

fn custom(file: &str, meta: Option<&str>) -> AisbenchSpec {
    let data = AisbenchCustomSpec::new(Some(input(file)), meta.map(input));
    let mut spec = spec(AisbenchData::Custom(data));
    spec.template = AisbenchTemplate::Text("Question: {question}\nAnswer: {answer}".to_owned());
    spec.answer = Some("answer".to_owned());
    spec
}

#[test]
fn questions_of_ones_own_are_the_peers() {
    check("custom", custom("custom.jsonl", None));
    for name in ["first", "many", "random", "shuffle", "uniform", "shares"] {
        let meta = format!("{name}.meta.json");
        check(&format!("custom_{name}"), custom("custom_plain.jsonl", Some(&meta)));
    }
    let mut choices = custom("choices.csv", None);
    let text = "Question: {question}\nA. {A}\nB. {B}\nAnswer: {answer}";
    choices.template = AisbenchTemplate::Text(text.to_owned());
    check("custom_choices", choices);
}

#[test]
fn numbers_beside_ones_own_questions_may_be_texts() {
    let meta = tempfile::NamedTempFile::new().unwrap();
    let lengths = r#"{"method": "uniform", "params": {"min_value": "4", "max_value": 4}}"#;
    let text = format!(r#"{{"request_count": "3", "output_config": {lengths}}}"#);
    fs::write(meta.path(), text).unwrap();
    let data =
        AisbenchCustomSpec::new(Some(input("custom_plain.jsonl")), Some(meta.path().to_owned()));
    let mut spec = spec(AisbenchData::Custom(data));
    spec.own_lengths = true;
    let asked: Vec<u32> =
        sessions(&spec).iter().map(|session| session.first.output_tokens).collect();
    assert_eq!(asked, [4, 4, 4]);
}

#[test]
fn synthetic_prompts_and_lengths_are_the_peers() {
    let methods = [
        ("uniform", AisbenchLengths::Uniform { min: 3, max: 40 }),
        ("gaussian", AisbenchLengths::Gaussian { mean: 100.0, variance: 200.0, min: 1, max: 100 }),
        ("zipf", AisbenchLengths::Zipf { alpha: 1.7, min: 2, max: 30 }),
    ];
    for (given, input) in methods {
        for (asked, output) in methods {
            let data = AisbenchTextSpec::new(12, input, output);
            let name = format!("synthetic_{given}_{asked}");
            check(&name, spec(AisbenchData::SyntheticText(data)));
        }
    }
}

fn trace() -> AisbenchTraceSpec {
    let mut trace = AisbenchTraceSpec::default();
    (trace.path, trace.corpus) = (Some(input("trace.jsonl")), Some(input("corpus.txt")));
    trace.seed = Some(42);
    trace
}

fn of_trace(trace: AisbenchTraceSpec) -> AisbenchSpec {
    let mut spec = spec(AisbenchData::Trace(trace));
    spec.template = AisbenchTemplate::Text("{prompt}".to_owned());
    spec
}

#[test]
fn prompts_of_a_trace_are_the_peers() {
    check("mooncake", of_trace(trace()));
    let mut part = trace();
    (part.from_first, part.earliest_ms, part.latest_ms) = (true, 1000.0, Some(7000.0));
    check("mooncake_part", of_trace(part.clone()));
    // The limit is exactly the time of the last request, half a millisecond included.
    part.latest_ms = Some(2000.5);
    check("mooncake_part", of_trace(part));
}

#[test]
fn a_trace_without_a_text_has_words_of_the_vocabulary() {
    let mut wordless = trace();
    wordless.corpus = None;
    let mut spec = of_trace(wordless);
    spec.until = Some(2);
    let sessions = sessions(&spec);
    assert_eq!(
        sessions.iter().map(|session| session.first.prompt_tokens).collect::<Vec<_>>(),
        [700, 20]
    );
}

#[test]
fn token_ids_begin_alike_as_far_as_they_are_to() {
    let data = AisbenchIdsSpec::new(3, 20, 8);
    let sessions = sessions(&spec(AisbenchData::SyntheticIds(data)));
    let texts: Vec<String> = sessions.iter().map(|session| text(&session.first.prompt)).collect();
    let alike = texts[0].bytes().zip(texts[1].bytes()).take_while(|(a, b)| a == b).count();
    assert!(alike >= 8 && texts[0] != texts[1], "{texts:?}");
    assert_eq!(sessions[0].first.prompt_tokens, 20);
}

#[test]
fn several_speakers_are_messages_or_one_text() {
    let mut spec = custom("custom_plain.jsonl", None);
    spec.template = AisbenchTemplate::Rounds {
        begin: vec![AisbenchMessage::new(ChatRole::System, "Be brief.")],
        round: vec![
            AisbenchMessage::new(ChatRole::Human, "1 + 1?"),
            AisbenchMessage::new(ChatRole::Bot, "2"),
            AisbenchMessage::new(ChatRole::Human, "{question}"),
            AisbenchMessage::new(ChatRole::Bot, "{answer}"),
        ],
    };
    spec.until = Some(1);
    let expected = json!([
        {"content": "Be brief.", "role": "system"},
        {"content": "1 + 1?", "role": "user"},
        {"content": "2", "role": "assistant"},
        {"content": "number 0", "role": "user"},
    ]);
    assert_eq!(messages(&sessions(&spec)[0].first.prompt), expected);
    spec.messages = false;
    assert_eq!(text(&sessions(&spec)[0].first.prompt), "Be brief.\n1 + 1?\n2\nnumber 0");
}

#[test]
fn a_part_may_be_sent_and_each_row_more_than_once() {
    let mut spec = custom("custom_plain.jsonl", None);
    spec.template = AisbenchTemplate::default();
    (spec.from, spec.until, spec.repeats) = (1, Some(3), 2.try_into().unwrap());
    let adapters = tempfile::NamedTempFile::new().unwrap();
    fs::write(adapters.path(), r#"{"1": "second"}"#).unwrap();
    spec.adapters = Some(adapters.path().to_owned());
    spec.ids = true;
    let sessions = sessions(&spec);
    let samples: Vec<&Sample> = sessions.iter().map(|session| &session.first).collect();
    let texts: Vec<String> = samples.iter().map(|sample| text(&sample.prompt)).collect();
    assert_eq!(texts, ["number 1", "number 1", "number 2", "number 2"]);
    let asked: Vec<Option<&str>> = samples.iter().map(|sample| sample.adapter.as_deref()).collect();
    assert_eq!(asked, [None, None, Some("second"), Some("second")]);
    let ids: Vec<&JsonObject> = samples.iter().map(|sample| &sample.extra_body).collect();
    assert!(ids.windows(2).all(|pair| pair[0]["id"] != pair[1]["id"]));
}

#[track_caller]
fn refuses(spec: &AisbenchSpec, message: &str) {
    let error = draw_sessions(spec, &mut RandomState::seeded(7)).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn what_cannot_be_sent_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let custom =
        |path: &Path| spec(AisbenchData::Custom(AisbenchCustomSpec::new(Some(path.into()), None)));
    refuses(&custom(&folder.path().join("gone.jsonl")), "cannot read ");
    refuses(&custom(&file("a.txt", "x")), "a.txt is neither .jsonl nor .csv");
    let bad = file("bad.jsonl", "{\"question\": \"x\", \"max_tokens\": \"many\"}\n");
    refuses(&custom(&bad), "bad.jsonl:1: \"max_tokens\" is not a token count: \"many\"");
    let good = file("good.jsonl", "{\"question\": \"x\"}\n");
    file("good.jsonl.meta.json", r#"{"request_cuont": 3}"#);
    refuses(&custom(&good), "good.jsonl.meta.json:1: unknown field `request_cuont`");
    file("good.jsonl.meta.json", r#"{"request_count": "few"}"#);
    refuses(&custom(&good), "good.jsonl.meta.json:1: expected a whole number, not \"few\"");
    let mut short = trace();
    short.path = Some(file("t.jsonl", "{\"input_length\": 9, \"hash_ids\": [1, 2]}\n"));
    refuses(&of_trace(short), "9 tokens do not fit 2 blocks of 512, the last shorter");
    refuses(
        &spec(AisbenchData::Custom(AisbenchCustomSpec::default())),
        "the data set custom needs a file",
    );
}
