//! Tests all cases in `fixtures/vllm/media`, recorded from the real client: requests with media,
//! and those of the hub's data sets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use servemark_backends::{Backend, BackendSpec, CommonSpec, VllmDialect, VllmSpec};
use servemark_core::{Sample, Session};
use servemark_datasets::{DatasetSpec, ImageFormat, VllmData};
use servemark_rng::RandomState;

use crate::vllm::{After, read_all};
use crate::vllm_flags::Flags;
use crate::{draw, fixture, tokenizer};

#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    tokenizer: String,
    #[serde(default)]
    rows: Vec<Row>,
    after: Option<After>,
}

#[derive(Deserialize)]
struct Row {
    /// The prompt, if it is a text without media.
    prompt: Option<String>,
    /// The messages that the client sends to a chat route.
    messages: Option<Value>,
    prompt_len: u32,
    output_len: u32,
    id: Option<String>,
    audio: Option<Recording>,
    overrides: Option<Value>,
}

/// Audio as it is sent.
#[derive(Debug, Deserialize, PartialEq)]
struct Recording {
    name: String,
    length: usize,
    crc32: u32,
}

/// Checksums of a rendered image.
#[derive(Debug, Deserialize)]
struct Picture {
    /// Checksum of the pixels before any lossy encoding.
    crc32: u32,
    /// Checksum of the file.
    file: u32,
}

/// A video, described by the frames that were passed to the encoder.
#[derive(Debug, Deserialize)]
struct Video {
    frames: usize,
    size: (u32, u32),
}

impl Case {
    fn spec(&self, flags: &Flags) -> DatasetSpec {
        flags.spec().unwrap_or_else(|error| panic!("{:?}: {error}", self.argv))
    }

    fn samples(&self, spec: &DatasetSpec) -> (Vec<Session>, RandomState) {
        let flags = Flags::new(self.argv.clone());
        let mut random = RandomState::seeded(flags.seed());
        let drawn = draw(spec, flags.count(), tokenizer(&self.tokenizer), &mut random);
        (drawn.unwrap_or_else(|error| panic!("{:?}: {error}", self.argv)).sessions, random)
    }
}

#[test]
fn every_recorded_case_is_reproduced() {
    let (mut drawn, mut refused) = (0, 0);
    for (name, case) in read_all::<Case>("vllm/media") {
        let flags = Flags::new(case.argv.clone());
        let Some(after) = &case.after else {
            refused += usize::from(is_refused(&flags, &case.tokenizer));
            continue;
        };
        let spec = case.spec(&flags);
        let (sessions, random) = case.samples(&spec);
        assert_eq!(sessions.len(), case.rows.len(), "{name}");
        for (index, (session, expected)) in sessions.iter().zip(&case.rows).enumerate() {
            check(&session.first, expected, &format!("{name}, row {index}"));
        }
        assert_eq!(&After::of(random), after, "{name}");
        drawn += 1;
    }
    // Backends that cannot send the media are refused by the command line.
    assert_eq!((drawn, refused), (41, 8), "a case was added or lost");
}

fn is_refused(flags: &Flags, folder: &str) -> bool {
    let Ok(spec) = flags.spec() else { return true };
    let mut random = RandomState::seeded(flags.seed());
    draw(&spec, flags.count(), tokenizer(folder), &mut random).is_err()
}

#[track_caller]
fn check(sample: &Sample, expected: &Row, place: &str) {
    let lengths = (sample.prompt_tokens, sample.output_tokens);
    assert_eq!(lengths, (expected.prompt_len, expected.output_len), "{place}");
    let ids = sample.headers.iter().find(|(name, _)| name == "x-request-id").map(|(_, id)| id);
    assert_eq!(ids, expected.id.as_ref(), "{place}");
    if expected.messages.is_none() {
        assert_eq!(recording(sample), expected.audio, "{place}");
    }
    let overrides = (!sample.extra_body.is_empty()).then(|| json!(sample.extra_body));
    let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
    assert_eq!(text(&overrides), text(&expected.overrides), "{place}");
    match (&expected.messages, &expected.prompt) {
        (Some(messages), _) => same(&sent_messages(sample), messages, place),
        (None, prompt) => assert_eq!(&sample.prompt.text().map(String::from), prompt, "{place}"),
    }
}

/// Returns the audio, if it is not part of the messages.
fn recording(sample: &Sample) -> Option<Recording> {
    let file = sample.audio.as_ref()?.file().unwrap();
    let crc32 = crc32fast::hash(&file.bytes);
    Some(Recording { name: file.name, length: file.bytes.len(), crc32 })
}

/// Returns the messages that our backend sends to a chat route.
fn sent_messages(sample: &Sample) -> Value {
    let spec = VllmSpec::new(VllmDialect::OpenaiChat, CommonSpec::new("m"));
    let request = BackendSpec::Vllm(spec).build().encode(sample).unwrap();
    serde_json::from_slice::<Value>(&request.body).unwrap()["messages"].take()
}

/// Checks that two values have equal keys in equal order, and equal content.
#[track_caller]
fn same(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            assert!(ours.keys().eq(theirs.keys()), "{place}: {ours:?} {theirs:?}");
            ours.iter()
                .zip(theirs.values())
                .for_each(|((_, ours), theirs)| same(ours, theirs, place));
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{place}");
            ours.iter().zip(theirs).for_each(|(ours, theirs)| same(ours, theirs, place));
        }
        (Value::String(ours), Value::String(theirs)) => same_text(ours, theirs, place),
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}

#[track_caller]
fn same_text(ours: &str, theirs: &str, place: &str) {
    let told = |kind: &str| theirs.strip_prefix(kind);
    if let Some(told) = told("$JPEG ") {
        let told: Picture = serde_json::from_str(told).unwrap();
        same_picture(ours.strip_prefix("data:image/jpeg;base64,").unwrap(), &told, place);
    } else if let Some(told) = told("$PNG ") {
        let told: Picture = serde_json::from_str(told).unwrap();
        let file = STANDARD.decode(ours.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        let pixels = image::load_from_memory(&file).unwrap().into_rgb8();
        assert_eq!(crc32fast::hash(&pixels), told.crc32, "{place}");
    } else if let Some(told) = told("$VIDEO ") {
        let told: Video = serde_json::from_str(told).unwrap();
        same_video(ours.strip_prefix("data:video/mp4;base64,").unwrap(), &told, place);
    } else {
        let here = fixture("vllm/hub").to_string_lossy().into_owned();
        assert_eq!(ours.replace(&here, "$HERE"), theirs, "{place}");
    }
}

/// Checks that an image file has the checksum of the recorded one.
#[track_caller]
fn same_picture(file: &str, told: &Picture, place: &str) {
    let file = STANDARD.decode(file).unwrap();
    assert_eq!(crc32fast::hash(&file), told.file, "{place}: {told:?}");
}

/// Checks the frames of a video, each of which is an image file here.
#[track_caller]
fn same_video(file: &str, told: &Video, place: &str) {
    let file = STANDARD.decode(file).unwrap();
    let starts = file.windows(3).filter(|bytes| *bytes == [0xff, 0xd8, 0xff]).count();
    assert_eq!(starts, told.frames, "{place}");
    let first = file.windows(3).position(|bytes| bytes == [0xff, 0xd8, 0xff]).unwrap();
    let jpeg = image::ImageFormat::Jpeg;
    let frame = image::load_from_memory_with_format(&file[first..], jpeg).unwrap();
    assert_eq!((frame.width(), frame.height()), told.size, "{place}");
}

/// Checks the pixels that were passed to the client's encoder, by making the draws with a lossless
/// format.
#[test]
fn drawn_pixels_are_the_peers() {
    let mut compared = 0;
    for (name, case) in read_all::<Case>("vllm/media") {
        let mut spec = match Flags::new(case.argv.clone()).spec() {
            Ok(spec) if case.after.is_some() => spec,
            _ => continue,
        };
        let DatasetSpec::Vllm(vllm) = &mut spec else { continue };
        let VllmData::RandomMm(random) = &mut vllm.data else { continue };
        random.media.format = ImageFormat::Png;
        let (sessions, _) = case.samples(&spec);
        for (session, row) in sessions.iter().zip(&case.rows) {
            let peers = row.messages.iter().flat_map(links).filter_map(|told| picture(&told));
            for (ours, theirs) in
                links(&sent_messages(&session.first)).filter(|link| is_png(link)).zip(peers)
            {
                same_text(&ours, &theirs, &name);
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
}

/// Returns the URLs of images and videos in messages.
fn links(messages: &Value) -> impl Iterator<Item = String> + use<> {
    let parts = messages[0]["content"].as_array().cloned().unwrap_or_default();
    let link = |part: Value| {
        let kind = part["type"].as_str()?.to_owned();
        Some(part[&kind]["url"].as_str()?.to_owned())
    };
    parts.into_iter().filter_map(link)
}

fn is_png(link: &str) -> bool {
    link.starts_with("data:image/png")
}

fn picture(told: &str) -> Option<String> {
    Some(format!("$PNG {}", told.strip_prefix("$JPEG ")?))
}
