//! The times that real servers reported, read from their recorded answers.

use std::fs;
use std::path::Path;

use servemark_backends::{Decoder, GenerateDecoder, OpenAiDecoder, ResponsesDecoder};
use servemark_core::{Delta, Sample, ServerTimes, Sink, Usage};
use servemark_sse::Event;

#[derive(Default)]
struct Times(Option<ServerTimes>);

impl Sink for Times {
    fn delta(&mut self, _delta: Delta<'_>) {}
    fn usage(&mut self, _usage: Usage) {}
    fn finish_reason(&mut self, _reason: &str) {}
    fn server_times(&mut self, times: ServerTimes) {
        self.0 = Some(times);
    }
}

/// Returns the times in a recorded answer, whose body is written as it reads without its framing.
fn times(case: &str, mut decoder: impl Decoder) -> ServerTimes {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/server_times");
    let text = fs::read_to_string(folder.join(format!("{case}.http"))).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let mut times = Times::default();
    if body.starts_with('{') {
        decoder.document(body.as_bytes(), &mut times).unwrap();
    } else {
        let datas = body.lines().filter_map(|line| line.strip_prefix("data: "));
        for data in datas {
            decoder.event(Event::from_data(data.as_bytes()), &mut times).unwrap();
        }
    }
    times.0.unwrap()
}

fn openai() -> OpenAiDecoder {
    OpenAiDecoder::new(&Sample::new("hi", 1, 6))
}

#[track_caller]
fn close(actual: Option<f64>, expected: f64) {
    assert!((actual.unwrap() - expected).abs() < 0.01, "{actual:?} is not {expected}");
}

#[test]
fn vllm_reports_durations_beside_its_counts() {
    let actual = times("vllm-0.32.0.chat.stream.usage.include_metrics", openai());
    close(actual.queue_ms, 0.04);
    close(actual.ttft_ms, 13.74);
    close(actual.decode_ms, 41.63);
    close(times("vllm-0.32.0.chat.include_metrics", openai()).decode_ms, 58.16);
    assert!(times("vllm-0.32.0.comp.include_metrics", openai()).ttft_ms.is_some());
    let responses = ResponsesDecoder::new(&Sample::new("hi", 1, 6));
    assert!(times("vllm-0.32.0.responses.stream", responses).queue_ms.is_some());
}

#[test]
fn sglang_reports_instants_in_its_last_event() {
    let decoder = || GenerateDecoder::new(&Sample::new("hi", 1, 6));
    let actual = times("sglang-0.5.23.generate.stream", decoder());
    close(actual.prefill_ms, 16.484);
    close(actual.frontend_ms, 1.52);
    assert!(actual.received_unix_ns < actual.first_sent_unix_ns);
    let document = times("sglang-0.5.23.generate.plain", decoder());
    close(document.total_ms, 99.039);
    let chat = times("sglang-0.5.23.chat.plain.return_meta_info", openai());
    close(chat.queue_ms, 0.507);
    assert!(chat.received_unix_ns.is_some());
}

#[test]
fn llama_cpp_reports_durations_in_its_last_chunk() {
    let actual = times("llamacpp-xllamacpp-2026.10.11549.chat.stream", openai());
    close(actual.prefill_ms, 2.831);
    close(actual.decode_ms, 14.026);
    assert_eq!((actual.queue_ms, actual.ttft_ms), (None, None), "its clock starts at its slot");
    assert!(times("llamacpp-xllamacpp-2026.10.11549.comp.plain", openai()).prefill_ms.is_some());
    let responses = ResponsesDecoder::new(&Sample::new("hi", 1, 6));
    let actual = times("llamacpp-xllamacpp-2026.10.11549.responses.stream", responses);
    close(actual.prefill_ms, 3.054);
}
