//! Streamed answers as servers write them, for parsers and decoders to read.

use servemark::backends::{BackendName, BackendSpec, CommonSpec, Route, WireBackend};

/// The codec of a route, as a run would build it.
pub fn backend(route: Route) -> WireBackend {
    let name = match route {
        Route::Generate => BackendName::Sglang,
        Route::Completions => BackendName::Vllm,
        _ => BackendName::VllmChat,
    };
    BackendSpec::new(name, CommonSpec::new(MODEL)).build()
}

/// The payloads of so many tokens of output, without what opens and closes the stream.
pub fn payloads(route: Route, tokens: usize) -> Vec<String> {
    (0..tokens).map(|token| payload(route, token)).collect()
}

/// The same as events on the wire.
pub fn events(route: Route, tokens: usize) -> Vec<Vec<u8>> {
    let event = |payload: String| format!("data: {payload}\n\n").into_bytes();
    payloads(route, tokens).into_iter().map(event).collect()
}

/// The shapes are those of vLLM 0.32 and SGLang 0.5.23.
fn payload(route: Route, token: usize) -> String {
    let word = WORDS[token % WORDS.len()];
    match route {
        // SGLang repeats the whole text with every token.
        Route::Generate => format!(
            r#"{{"text":"{text}","output_ids":[{token}],"meta_info":{{"id":"{ID}","finish_reason":null,"prompt_tokens":1024,"weight_version":"default","total_retractions":0,"completion_tokens":{count},"cached_tokens":0}}}}"#,
            text = text(token + 1),
            count = token + 1,
        ),
        Route::Completions => format!(
            r#"{{"id":"cmpl-{ID}","object":"text_completion","created":1763730000,"model":"{MODEL}","choices":[{{"index":0,"text":"{word}","logprobs":null,"finish_reason":null,"stop_reason":null}}],"usage":null}}"#
        ),
        _ => format!(
            r#"{{"id":"chatcmpl-{ID}","object":"chat.completion.chunk","created":1763730000,"model":"{MODEL}","choices":[{{"index":0,"delta":{{"content":"{word}"}},"logprobs":null,"finish_reason":null,"token_ids":null}}]}}"#
        ),
    }
}

fn text(tokens: usize) -> String {
    WORDS.iter().copied().cycle().take(tokens).collect()
}

const MODEL: &str = "meta-llama/Llama-3.1-8B-Instruct";
const ID: &str = "7f3c9a1e5b2d4c8f9e0a6b1d3c5f7a9b";
const WORDS: [&str; 8] =
    [" the", " quick", " model", " answers", ",", " token", " by", " token\\n"];

#[cfg(test)]
mod tests {
    use servemark::backends::{Backend, Decoder};
    use servemark::core::{Phase, Recorder, Sample, Stamp};
    use servemark::sse::Event;

    use super::*;

    #[track_caller]
    fn is_read(route: Route) {
        let sample = Sample::new("hi", 1, 10);
        let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
        let mut decoder = backend(route).decoder(&sample);
        for payload in payloads(route, 10) {
            let event = Event::from_data(payload.as_bytes());
            decoder.event(event, &mut recorder.at(Stamp::ZERO)).unwrap();
        }
        assert_eq!(recorder.pieces(), 10);
    }

    #[test]
    fn every_route_is_read_by_its_decoder() {
        is_read(Route::Generate);
        is_read(Route::Completions);
        is_read(Route::Chat);
    }
}
