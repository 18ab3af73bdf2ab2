//! Streams that the peers misread, and the right way to read them.
//!
//! The first part is the table of unusual streams on which SGLang 0.5.23's client was measured; the
//! comment of each test describes what the client did. One call of `check` tests one stream on one
//! route or on all.

use servemark_backends::Route;
use servemark_core::{CachedDetails, DeltaKind, ErrorKind, Usage};

use crate::reading::{Piece, Reading, decoder};

/// The expected result of a stream: the texts of the pieces, and how it ends.
type Expected<'a> = (&'a [&'a str], Result<(), ErrorKind>);

#[track_caller]
fn check(route: Route, body: &str, (texts, outcome): Expected<'_>) -> Reading {
    let reading = Reading::of_stream(decoder(route), [body.as_bytes()]);
    let found: Vec<_> = reading.pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(found, texts, "{route:?}: {body}");
    assert_eq!(kind(&reading), outcome, "{route:?}: {body}");
    reading
}

/// Checks a stream on every route. `{1:a}` and `{2:b}` stand for the route's own frames of the
/// first and second token, and `{end}` for its last frame.
#[track_caller]
fn check_all(template: &str, expected: Expected<'_>) -> [Reading; 3] {
    [Route::GENERATE, Route::COMPLETIONS, Route::CHAT].map(|route| {
        let [one, two, end] = frames(route);
        let body = template.replace("{1:a}", one).replace("{2:b}", two).replace("{end}", end);
        check(route, &body, expected)
    })
}

#[track_caller]
fn check_document(route: Route, body: &str, (texts, outcome): Expected<'_>) -> Reading {
    let reading = Reading::of_document(decoder(route), body.as_bytes());
    let found: Vec<_> = reading.pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(found, texts, "{route:?}: {body}");
    assert_eq!(kind(&reading), outcome, "{route:?}: {body}");
    reading
}

fn kind(reading: &Reading) -> Result<(), ErrorKind> {
    reading.outcome.clone().map_err(|error| error.kind)
}

/// Returns the frames of the first token, the second token, and the finish reason.
fn frames(route: Route) -> [&'static str; 3] {
    match route {
        Route::GENERATE => [
            r#"{"text":"a","meta_info":{"prompt_tokens":1,"completion_tokens":1}}"#,
            r#"{"text":"ab","meta_info":{"prompt_tokens":1,"completion_tokens":2}}"#,
            r#"{"text":"ab","meta_info":{"prompt_tokens":1,"completion_tokens":2,"finish_reason":{"type":"length","length":2}}}"#,
        ],
        Route::COMPLETIONS => [
            r#"{"choices":[{"index":0,"text":"a","finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"text":"b","finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"text":"","finish_reason":"length"}]}"#,
        ],
        _ => [
            r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
        ],
    }
}

const WHOLE: Expected<'static> = (&["a", "b"], Ok(()));

#[test]
fn a_plain_stream() {
    check_all("data: {1:a}\n\ndata: {2:b}\n\ndata: {end}\n\ndata: [DONE]\n\n", WHOLE);
}

/// SGLang's client crashes when it computes the latency.
#[test]
fn an_empty_body_is_empty() {
    check_all("", (&[], Err(ErrorKind::Empty)));
}

/// SGLang's client reports a success of the requested length.
#[test]
fn an_end_mark_alone_is_empty() {
    check_all("data: [DONE]\n\n", (&[], Err(ErrorKind::Empty)));
}

/// SGLang's client fails on this stream.
#[test]
fn the_space_after_the_colon_is_optional() {
    check_all("data:{1:a}\n\ndata:{2:b}\n\ndata:[DONE]\n\n", WHOLE);
}

/// SGLang's client fails on this stream.
#[test]
fn a_comment_is_no_event() {
    check_all(": ping\n\ndata: {1:a}\n\n: ping\n\ndata: {2:b}\n\ndata: [DONE]\n\n", WHOLE);
}

/// SGLang's client fails on this stream.
#[test]
fn events_may_be_named() {
    check_all("event: message\ndata: {1:a}\n\ndata: {2:b}\n\nevent: done\ndata: [DONE]\n\n", WHOLE);
}

#[test]
fn lines_may_end_as_in_http() {
    check_all("data: {1:a}\r\n\r\ndata: {2:b}\r\n\r\ndata: [DONE]\r\n\r\n", WHOLE);
}

/// SGLang's client reports a success, on the chat route of the requested length.
#[test]
fn an_error_after_a_token_fails_and_keeps_the_token() {
    let frames = "data: {1:a}\n\ndata: {\"error\":{\"message\":\"out of memory\"}}\n\n";
    for reading in check_all(frames, (&["a"], Err(ErrorKind::InStream))) {
        assert_eq!(reading.outcome.unwrap_err().message, "out of memory");
    }
}

/// SGLang's client reports a success of the requested length.
#[test]
fn an_error_alone_fails() {
    check_all("data: {\"error\":\"no such model\"}\n\n", (&[], Err(ErrorKind::InStream)));
}

/// SGLang's client fails on completions.
#[test]
fn counts_may_come_without_choices() {
    let last = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":9}}"#;
    let body = format!("data: {{1:a}}\n\ndata: {{2:b}}\n\ndata: {last}\n\ndata: [DONE]\n\n");
    let [_, completions, chat] = check_all(&body, WHOLE);
    assert_eq!(completions.usage, Some(Usage::new(Some(1), Some(9))));
    assert_eq!(chat.usage, completions.usage);
}

/// SGLang's client ignores the counts on completions.
#[test]
fn counts_may_come_with_an_empty_text() {
    let last = r#"{"choices":[{"index":0,"text":"","delta":{"content":""}}],"text":"ab","meta_info":{"completion_tokens":2},"usage":{"completion_tokens":9}}"#;
    let body = format!("data: {{1:a}}\n\ndata: {{2:b}}\n\ndata: {last}\n\ndata: [DONE]\n\n");
    let [generate, completions, chat] = check_all(&body, WHOLE);
    assert_eq!(generate.usage, Some(Usage::new(None, Some(2))));
    assert_eq!(completions.usage, Some(Usage::new(None, Some(9))));
    assert_eq!(chat.usage, completions.usage);
}

/// The transport reports that the connection broke; in any case the data is not a whole answer.
#[test]
fn a_stream_that_is_cut_is_truncated() {
    check_all(
        "data: {1:a}\n\ndata: {2:b}\n\ndata: {\"cho",
        (&["a", "b"], Err(ErrorKind::Truncated)),
    );
}

/// SGLang's client counts pieces on the OpenAI routes and tokens on its own route.
#[test]
fn frames_in_one_read_are_pieces_of_their_own() {
    let [generate, completions, _] =
        check_all("data: {1:a}\n\ndata: {2:b}\n\ndata: {end}\n\n", WHOLE);
    assert_eq!(generate.tokens(), Some(2));
    assert_eq!(completions.tokens(), None);
}

/// SGLang's client fails from 20 MiB on.
#[test]
fn a_line_may_be_long() {
    let long = "x".repeat(25 << 20);
    let body = format!("data: {{\"choices\":[{{\"text\":\"{long}\"}}]}}\n\ndata: [DONE]\n\n");
    check(Route::COMPLETIONS, &body, (&[long.as_str()], Ok(())));
}

/// SGLang's client reports both streams as successes.
#[test]
fn without_an_end_mark_a_finish_reason_is_asked_for() {
    check_all("data: {1:a}\n\ndata: {2:b}\n\ndata: {end}\n\n", WHOLE);
    check_all("data: {1:a}\n\ndata: {2:b}\n\n", (&["a", "b"], Err(ErrorKind::Truncated)));
}

#[test]
fn errors_come_in_many_shapes() {
    let failed = (&["a"][..], Err(ErrorKind::InStream));
    check_all("data: {1:a}\n\ndata: {\"error\":\"gone\"}\n\n", failed);
    check_all("data: {1:a}\n\ndata: {\"object\":\"error\",\"message\":\"gone\"}\n\n", failed);
    check_all("data: {1:a}\n\ndata: upstream gone\n\n", failed);
    check_all("data: {1:a}\n\nevent: error\ndata: {\"message\":\"gone\"}\n\n", failed);
}

#[test]
fn no_error_is_none() {
    check_all("data: {1:a}\n\ndata: {2:b}\n\ndata: {\"error\":null}\n\ndata: {end}\n\n", WHOLE);
}

#[test]
fn broken_json_is_undecodable() {
    check_all("data: {1:a}\n\ndata: {\"choices\":[{\n\n", (&["a"], Err(ErrorKind::Decode)));
}

#[test]
fn nothing_after_the_end_mark_is_ours() {
    check_all("data: {1:a}\n\ndata: {2:b}\n\ndata: [DONE]\n\ndata: {broken\n\n", WHOLE);
}

#[test]
fn a_null_and_an_empty_event_say_nothing() {
    check_all("data: null\n\ndata:\n\ndata: {1:a}\n\ndata: {2:b}\n\ndata: {end}\n\n", WHOLE);
}

#[test]
fn a_request_that_the_server_gave_up_is_no_success() {
    let end = r#"{"choices":[{"text":"","finish_reason":"abort"}]}"#;
    let body = format!("data: {end}\n\ndata: [DONE]\n\n");
    check(Route::COMPLETIONS, &body, (&[], Err(ErrorKind::InStream)));
    let end =
        r#"{"text":"","meta_info":{"finish_reason":{"type":"abort","message":"queue full"}}}"#;
    let reading =
        check(Route::GENERATE, &format!("data: {end}\n\n"), (&[], Err(ErrorKind::InStream)));
    assert_eq!(reading.outcome.unwrap_err().message, "abort: queue full");
}

#[test]
fn no_output_is_right_where_none_was_asked_for() {
    use servemark_backends::{Backend, Decoder};
    let sample = servemark_core::Sample::new("hi", 1, 0);
    let mut decoder = crate::reading::backend(Route::CHAT).decoder(&sample);
    assert_eq!(decoder.end(), Ok(()));
}

#[track_caller]
fn check_chat(deltas: &[&str], pieces: &[(DeltaKind, &str)]) {
    let frame =
        |delta: &&str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
    let body: String = deltas.iter().map(frame).chain(["data: [DONE]\n\n".to_owned()]).collect();
    let found = Reading::of_stream(decoder(Route::CHAT), [body.as_bytes()]).pieces;
    let expected = pieces.iter().map(|(kind, text)| (*kind, (*text).to_owned()));
    assert!(found.iter().map(|piece| (piece.kind, piece.text.clone())).eq(expected), "{found:?}");
}

#[test]
fn a_role_an_empty_text_and_a_null_are_no_pieces() {
    let deltas = [r#"{"role":"assistant","content":""}"#, r#"{"content":null}"#, "{}", "null"];
    check_chat(&deltas, &[]);
}

#[test]
fn reasoning_goes_by_two_names() {
    check_chat(
        &[r#"{"reasoning_content":"a","content":null}"#, r#"{"reasoning":"b"}"#],
        &[(DeltaKind::Reasoning, "a"), (DeltaKind::Reasoning, "b")],
    );
}

#[test]
fn an_empty_first_name_does_not_hide_the_second() {
    let delta = r#"{"reasoning_content":"","reasoning":"b"}"#;
    check_chat(&[delta], &[(DeltaKind::Reasoning, "b")]);
}

#[test]
fn reasoning_and_content_in_one_event_are_one_piece() {
    let delta = r#"{"content":"b","reasoning_content":"a"}"#;
    check_chat(&[delta], &[(DeltaKind::Content, "ab")]);
}

#[test]
fn a_tool_call_is_output() {
    check_chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}"#,
        ],
        &[(DeltaKind::ToolCall, "f"), (DeltaKind::ToolCall, r#"{"x":1}"#)],
    );
}

#[test]
fn an_answer_of_several_choices_is_whole_when_each_is() {
    let frame = |index, reason| {
        let choice = format!(r#"{{"index":{index},"text":"a","finish_reason":{reason}}}"#);
        format!("data: {{\"choices\":[{choice}]}}\n\n")
    };
    let one = frame(0, "null") + &frame(1, "null") + &frame(0, "\"stop\"");
    check(Route::COMPLETIONS, &one, (&["a", "a", "a"], Err(ErrorKind::Truncated)));
    let both = one + &frame(1, "\"stop\"");
    check(Route::COMPLETIONS, &both, (&["a", "a", "a", "a"], Ok(())));
}

#[test]
fn placeholders_are_no_counts() {
    let usage = r#""usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#;
    let body = format!("data: {{\"choices\":[{{\"text\":\"a\"}}],{usage}}}\n\ndata: [DONE]\n\n");
    let reading = check(Route::COMPLETIONS, &body, (&["a"], Ok(())));
    assert_eq!((reading.usage, reading.tokens()), (None, None));
}

#[test]
fn counts_on_the_last_piece_alone_are_not_the_pieces_own() {
    let body = concat!(
        "data: {\"choices\":[{\"text\":\"a\"}]}\n\n",
        "data: {\"choices\":[{\"text\":\"b\"}],\"usage\":{\"completion_tokens\":2}}\n\n",
        "data: [DONE]\n\n",
    );
    let reading = check(Route::COMPLETIONS, body, WHOLE);
    assert_eq!(reading.pieces[1].tokens, None);
}

#[test]
fn sglang_tells_where_cached_tokens_were() {
    let body = r#"{"choices":[{"text":"a"}],"sglext":{"cached_tokens_details":{"device":3,"host":2,"storage_backend":"x"}}}"#;
    let reading = check_document(Route::COMPLETIONS, body, (&["a"], Ok(())));
    let details = CachedDetails::new(Some(3), Some(2), None);
    let usage = Usage::default().with_cached(Some(5)).with_cached_details(Some(details));
    assert_eq!((reading.usage, reading.cache_storage.as_deref()), (Some(usage), Some("x")));
}

#[test]
fn generate_tells_where_cached_tokens_were() {
    let details = r#"{"device":3,"host":0,"storage":4,"storage_backend":"file"}"#;
    let info = format!(
        r#"{{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":7,"cached_tokens_details":{details}}}"#
    );
    let reading =
        check_generate(&[&format!(r#"{{"text":"a","meta_info":{info}}}"#)], &[("a", Some(1))]);
    let details = CachedDetails::new(Some(3), Some(0), Some(4));
    let usage = Usage::new(Some(9), Some(1)).with_cached(Some(7));
    assert_eq!(reading.usage, Some(usage.with_cached_details(Some(details))));
    assert_eq!(reading.cache_storage.as_deref(), Some("file"));
}

#[test]
fn steps_of_speculative_decoding_are_told() {
    let part = r#"{"text":"abc","meta_info":{"prompt_tokens":9,"completion_tokens":3,"spec_verify_ct":2}}"#;
    let usage = Usage::new(Some(9), Some(3)).with_verify_steps(Some(2));
    assert_eq!(check_generate(&[part], &[("abc", Some(3))]).usage, Some(usage));
    for details in [r#"{"spec_verify_ct":5}"#, r#"[{"spec_verify_ct":2},{"spec_verify_ct":3}]"#] {
        let body = format!(
            r#"{{"choices":[{{"text":"a"}}],"sglext":{{"spec_tokens_details":{details}}}}}"#
        );
        let reading = check_document(Route::COMPLETIONS, &body, (&["a"], Ok(())));
        assert_eq!(reading.usage, Some(Usage::default().with_verify_steps(Some(5))));
    }
}

#[test]
fn cached_tokens_are_told_without_details() {
    let body = r#"{"choices":[{"text":"a"}],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}"#;
    let reading = check_document(Route::COMPLETIONS, body, (&["a"], Ok(())));
    assert_eq!(reading.usage, Some(Usage::new(Some(9), None).with_cached(Some(4))));
}

#[track_caller]
fn check_generate(parts: &[&str], pieces: &[(&str, Option<u32>)]) -> Reading {
    let frames = parts.iter().map(|part| format!("data: {part}\n\n"));
    let body: String = frames.chain(["data: [DONE]\n\n".to_owned()]).collect();
    let reading = Reading::of_stream(decoder(Route::GENERATE), [body.as_bytes()]);
    let piece = |(text, tokens): &(&str, _)| Piece {
        kind: DeltaKind::Content,
        text: (*text).to_owned(),
        tokens: *tokens,
    };
    assert_eq!(reading.pieces, pieces.iter().map(piece).collect::<Vec<_>>());
    reading
}

fn part(text: &str, tokens: u32) -> String {
    format!(r#"{{"text":"{text}","meta_info":{{"prompt_tokens":1,"completion_tokens":{tokens}}}}}"#)
}

#[test]
fn several_tokens_in_one_frame_are_counted() {
    check_generate(&[&part("a", 1), &part("abc", 3)], &[("a", Some(1)), ("bc", Some(2))]);
}

#[test]
fn a_token_whose_text_is_held_back_is_a_piece() {
    check_generate(
        &[&part("a", 1), &part("a", 2), &part("ab", 3)],
        &[("a", Some(1)), ("", Some(1)), ("b", Some(1))],
    );
}

#[test]
fn a_frame_that_says_nothing_new_is_none() {
    check_generate(&[&part("a", 1), &part("a", 1)], &[("a", Some(1))]);
}

#[test]
fn a_server_that_sends_pieces_is_understood() {
    check_generate(
        &[&part("a", 1), &part("b", 2), &part("b", 3)],
        &[("a", Some(1)), ("b", Some(1)), ("b", Some(1))],
    );
}

#[test]
fn pieces_that_repeat_are_told_by_their_ids() {
    let part = |tokens| {
        let info = format!(r#"{{"completion_tokens":{tokens}}}"#);
        format!(r#"{{"text":" x","output_ids":[7],"meta_info":{info}}}"#)
    };
    check_generate(&[&part(1), &part(2), &part(3)], &[(" x", Some(1)); 3]);
}

#[test]
fn a_server_without_a_tokenizer_sends_ids_only() {
    let one = r#"{"output_ids":[7],"meta_info":{"completion_tokens":1}}"#;
    let two = r#"{"output_ids":[7,8],"meta_info":{"completion_tokens":2}}"#;
    check_generate(&[one, two], &[("", Some(1)), ("", Some(1))]);
}

#[test]
fn tokens_that_are_taken_back_are_counted_once() {
    check_generate(
        &[&part("a", 1), &part("abc", 3), &part("ab", 2), &part("abcd", 4)],
        &[("a", Some(1)), ("bc", Some(2)), ("d", Some(1))],
    );
}

#[test]
fn choices_of_one_answer_have_texts_of_their_own() {
    let part = |index, text, tokens| {
        let info = format!(r#"{{"prompt_tokens":1,"completion_tokens":{tokens}}}"#);
        format!(r#"{{"index":{index},"text":"{text}","meta_info":{info}}}"#)
    };
    let parts = [part(0, "a", 1), part(1, "x", 1), part(0, "ab", 2), part(1, "xy", 2)];
    let parts = parts.each_ref().map(String::as_str);
    let one = Some(1);
    let reading = check_generate(&parts, &[("a", one), ("x", one), ("b", one), ("y", one)]);
    assert_eq!(reading.usage, Some(Usage::new(Some(1), Some(4))));
}

#[test]
fn a_document_about_several_choices_is_a_list() {
    let item =
        r#"{"text":"ab","meta_info":{"prompt_tokens":1,"completion_tokens":2,"cached_tokens":1}}"#;
    let body = format!("[{item},{item}]");
    let reading = check_document(Route::GENERATE, &body, (&["ab", "ab"], Ok(())));
    let usage = Usage::new(Some(1), Some(4)).with_cached(Some(1));
    assert_eq!((reading.tokens(), reading.usage), (Some(4), Some(usage)));
}

#[test]
fn a_document_is_one_piece() {
    let body = r#"{"choices":[{"message":{"reasoning":"a","content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let reading = check_document(Route::CHAT, body, (&["ab"], Ok(())));
    assert_eq!((reading.tokens(), reading.finish_reason.as_deref()), (Some(2), Some("stop")));
}

#[test]
fn a_document_can_fail_too() {
    check_document(Route::CHAT, "", (&[], Err(ErrorKind::Empty)));
    check_document(Route::CHAT, r#"{"error":"x"}"#, (&[], Err(ErrorKind::InStream)));
    check_document(Route::GENERATE, "Bad Gateway", (&[], Err(ErrorKind::InStream)));
    check_document(Route::GENERATE, r#"{"text":"#, (&[], Err(ErrorKind::Decode)));
}

#[test]
fn triton_accumulates_and_only_what_is_new_is_output() {
    let body = concat!(
        "data:{\"model_name\":\"ensemble\",\"text_output\":\"one\"}\n\n",
        "data: {\"model_name\":\"ensemble\",\"text_output\":\"one two\"}\n\n",
        "data: {\"model_name\":\"ensemble\",\"text_output\":\"one two\"}\n\n",
    );
    check(Route::TRT, body, (&["one", " two"], Ok(())));
}

#[test]
fn triton_that_does_not_accumulate_is_understood() {
    let body = "data: {\"text_output\":\"a\"}\n\ndata: {\"text_output\":\"b\"}\n\n";
    check(Route::TRT, body, (&["a", "b"], Ok(())));
}

#[test]
fn triton_that_repeats_a_piece_loses_none() {
    let event = |text: &&str| ["data: {\"text_output\":\"", *text, "\"}\n\n"].concat();
    let stream = |texts: &[&str]| texts.iter().map(event).collect::<String>();
    // An event that repeats the text is reported as an empty piece at first. Its text is reported
    // with the event that shows that events hold pieces.
    let pieces = stream(&["a", "a", "a", "b", "b"]);
    check(Route::TRT, &pieces, (&["a", "", "", "aab", "b"], Ok(())));
    let whole = stream(&["a", "a", "ab", "ab", "abc"]);
    check(Route::TRT, &whole, (&["a", "", "b", "c"], Ok(())));
    check(Route::TRT, &stream(&["a", "a"]), (&["a", ""], Ok(())));
}

#[test]
fn triton_fails_in_its_own_words() {
    let body = "data: {\"text_output\":\"a\"}\n\ndata: {\"error\":\"out of memory\"}\n\n";
    let reading = check(Route::TRT, body, (&["a"], Err(ErrorKind::InStream)));
    assert_eq!(reading.outcome.unwrap_err().message, "out of memory");
    check(Route::TRT, "data: {\"text_output\":\"\"}\n\n", (&[], Err(ErrorKind::Empty)));
}
