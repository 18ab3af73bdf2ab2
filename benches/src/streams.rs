//! Streamed answers in the form in which servers write them, as inputs of parsers and decoders.

use servemark::backends::{BackendName, BackendSpec, CommonSpec, Route, WireBackend};

/// Returns the codec of a route, as a run would build it.
pub fn backend(route: Route) -> WireBackend {
    let name = match route {
        Route::GENERATE => BackendName::Sglang,
        Route::COMPLETIONS => BackendName::Vllm,
        Route::EMBEDDINGS => BackendName::VllmEmbedding,
        _ => BackendName::VllmChat,
    };
    BackendSpec::new(name, CommonSpec::new(MODEL)).build()
}

/// Words like those of most tokens.
pub const PLAIN: [&str; 8] = [" time", " year", ".", " of", " life", " hand", " the", " home"];

/// Tokens that JSON has to escape.
pub const ESCAPED: [&str; 2] = [r"\n", r#" \"a"#];

/// Returns the payloads of `tokens` tokens of output, which repeat `words`, without the events that
/// open and close the stream.
pub fn payloads(route: Route, words: &[&str], tokens: usize) -> Vec<String> {
    (0..tokens).map(|token| payload(route, words, token)).collect()
}

/// Returns a chat stream on the wire, event by event.
pub fn chat_events(tokens: usize) -> Vec<Vec<u8>> {
    let event = |payload: String| format!("data: {payload}\n\n").into_bytes();
    payloads(Route::CHAT, &PLAIN, tokens).into_iter().map(event).collect()
}

/// Returns one payload in the form of vLLM 0.32 or SGLang 0.5.23.
fn payload(route: Route, words: &[&str], token: usize) -> String {
    let word = words[token % words.len()];
    match route {
        // SGLang repeats all text and all ids with every token.
        Route::GENERATE => format!(
            r#"{{"text":"{text}","output_ids":{ids:?},"meta_info":{{"id":"{ID}","finish_reason":null,"prompt_tokens":1024,"weight_version":"default","num_retractions":0,"reasoning_tokens":0,"completion_tokens":{count},"cached_tokens":0}}}}"#,
            text = text(words, token + 1),
            ids = vec![44_007; token + 1],
            count = token + 1,
        ),
        Route::COMPLETIONS => format!(
            r#"{{"id":"cmpl-{ID}","object":"text_completion","created":1763730000,"model":"{MODEL}","choices":[{{"index":0,"text":"{word}","logprobs":null,"finish_reason":null,"stop_reason":null}}],"usage":null}}"#
        ),
        _ => format!(
            r#"{{"id":"chatcmpl-{ID}","object":"chat.completion.chunk","created":1763730000,"model":"{MODEL}","choices":[{{"index":0,"delta":{{"content":"{word}"}},"logprobs":null,"finish_reason":null,"token_ids":null}}]}}"#
        ),
    }
}

fn text(words: &[&str], tokens: usize) -> String {
    words.iter().copied().cycle().take(tokens).collect()
}

const MODEL: &str = "meta-llama/Llama-3.1-8B-Instruct";
const ID: &str = "7f3c9a1e5b2d4c8f9e0a6b1d3c5f7a9b";

#[cfg(test)]
mod tests {
    use servemark::backends::{Backend, Decoder};
    use servemark::core::{Finish, Phase, Recorder, Sample, Stamp};
    use servemark::sse::Event;

    use super::*;

    #[track_caller]
    fn is_read(route: Route, words: &[&str]) {
        let sample = Sample::new("hi", 1, 10);
        let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
        let mut decoder = backend(route).decoder(&sample);
        for payload in payloads(route, words, 10) {
            let event = Event::from_data(payload.as_bytes());
            decoder.event(event, &mut recorder.at(Stamp::ZERO)).unwrap();
        }
        assert_eq!(recorder.pieces(), 10);
        let record = recorder.finish(Ok(Finish::default()), Stamp::ZERO);
        let expected: String = serde_json::from_str(&format!("\"{}\"", text(words, 10))).unwrap();
        assert_eq!(record.text, expected);
    }

    #[test]
    fn every_route_is_read_by_its_decoder() {
        for route in [Route::GENERATE, Route::COMPLETIONS, Route::CHAT] {
            is_read(route, &PLAIN);
            is_read(route, &ESCAPED);
        }
    }
}
