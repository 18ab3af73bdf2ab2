//! Decoding by the template of an earlier frame gives the same result as parsing the frame.

use proptest::prelude::*;
use servemark_core::ServerTimes;
use servemark_testkit::captures::Capture;

use super::*;
use crate::recording_sink::{self, RecordingSink};

/// Decodes frames and counts those that were not parsed. Without templates, all are parsed.
fn decode_counting(
    frames: &[impl AsRef<[u8]>],
    forget: bool,
) -> (RecordingSink, Vec<Result<Flow, RequestError>>, usize) {
    recording_sink::decode_counting(
        OpenAiDecoder::new(&Sample::new("hi", 1, 4)),
        frames,
        |decoder, frame| {
            if forget {
                decoder.template = Template::default();
            }
            decoder.template.read(frame).is_some()
        },
    )
}

/// Returns the number of frames that were not parsed, after checking that the results are the same.
#[track_caller]
fn same(frames: &[impl AsRef<[u8]>]) -> usize {
    let ((taught, outcomes, unparsed), (parsed, expected, none)) =
        (decode_counting(frames, false), decode_counting(frames, true));
    assert_eq!((taught, outcomes, none), (parsed, expected, 0));
    unparsed
}

fn data_of(capture: &Capture) -> Vec<Vec<u8>> {
    let (mut parser, mut frames) = (servemark_sse::Parser::new(), Vec::new());
    let fed = parser.feed(&capture.body, |event| {
        frames.push(event.data().to_vec());
        Ok::<_, std::convert::Infallible>(())
    });
    fed.unwrap();
    frames
}

#[test]
fn recordings_are_read_alike() {
    let (mut frames, mut unparsed) = (0, 0);
    for capture in Capture::all().iter().filter(|capture| capture.is_stream()) {
        let data = data_of(capture);
        frames += data.len();
        unparsed += same(&data);
    }
    assert!(unparsed * 3 > frames, "{unparsed} of {frames} frames were not parsed");
}

#[test]
fn most_of_a_stream_is_not_parsed() {
    let frame = |text: &str| {
        format!(r#"{{"id":"x","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
    };
    let frames = [" a", " b", r"\n", " c", "", " d"].map(frame);
    assert_eq!(same(&frames), 3);
}

proptest! {
    #[test]
    fn generated_frames_are_read_alike(frames in prop::collection::vec(frame(), 1..12)) {
        same(&frames);
    }
}

/// A frame of one of a few shapes, so that equal shapes sometimes follow each other, with any text
/// and sometimes damaged.
fn frame() -> impl Strategy<Value = String> {
    let shape = prop::sample::select(SHAPES.to_vec());
    let text = prop::sample::select(TEXTS.to_vec());
    (shape, text).prop_map(|(shape, text)| shape.replace("TEXT", text))
}

const SHAPES: [&str; 10] = [
    r#"{"choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}]}"#,
    r#"{"choices":[{"delta":{"content":"TEXT"},"index":1}],"usage":null}"#,
    r#"{"choices":[{"delta":{"reasoning_content":"TEXT","content":null}}],"id":"TEXT"}"#,
    r#"{"choices":[{"delta":{"reasoning":"TEXT","reasoning_content":"TEXT"}}]}"#,
    r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"arguments":"TEXT"}}]}}]}"#,
    r#"{"choices":[{"index":0,"text":"TEXT"},{"index":1,"text":""}]}"#,
    r#"{"choices":[{"index":0,"text":"TEXT","logprobs":{"tokens":["TEXT",{"text":"b"}]}}]}"#,
    r#"{"choices":[{"index":0,"text":"TEXT"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
    r#"{"choices":[{"text":"TEXT","finish_reason":"TEXT"}]}"#,
    r#"{"object":"TEXT","choices":[{"text":"a"}]}"#,
];

const TEXTS: [&str; 11] = [
    " a",
    "text",
    "é",
    "",
    r"\n",
    r#"\""#,
    r"\u00e9",
    "\n",
    r#"","index":7,"x":""#,
    r#"""#,
    "error",
];

#[test]
fn a_servers_own_times_are_read_where_they_are_numbers() {
    #[derive(Default)]
    struct Times(Vec<ServerTimes>);
    impl Sink for Times {
        fn delta(&mut self, _delta: Delta<'_>) {}
        fn usage(&mut self, _usage: Usage) {}
        fn finish_reason(&mut self, _reason: &str) {}
        fn server_times(&mut self, times: ServerTimes) {
            self.0.push(times);
        }
    }
    let mut times = Times::default();
    let mut decoder = OpenAiDecoder::new(&Sample::new("hi", 1, 4));
    for metrics in [
        r#"{"queue_time_ms": 1.5, "time_to_first_token_ms": 20, "tokens_per_second": 3}"#,
        r#"{"queue_time_ms": true, "time_to_first_token_ms": 7.25}"#,
        r#"{"queue_time_ms": "late"}"#,
        "[1, 2]",
        "null",
    ] {
        let frame = format!(r#"{{"choices": [], "metrics": {metrics}}}"#);
        decoder.event(Event::from_data(frame.as_bytes()), &mut times).unwrap();
    }
    let expected = [(Some(1.5), Some(20.0)), (None, Some(7.25))];
    assert_eq!(times.0, expected.map(|(queue, ttft)| ServerTimes::new(queue, ttft)));
}
