//! Token counts that are not JSON integers, and answers with counted tokens but no text.

use servemark_backends::{
    AisbenchClass, AisbenchSpec, Backend, BackendSpec, CommonSpec, Decoder, EvalscopeApi,
    EvalscopeSpec, Route, VllmDialect, VllmSpec,
};
use servemark_core::{ErrorKind, Prompt, Sample, Usage};

use crate::reading::{Reading, decoder};

/// Returns a decoder for an answer of sixteen tokens.
fn reader(spec: &BackendSpec) -> Box<dyn Decoder> {
    spec.build().decoder(&Sample::new("hi", 1, 16))
}

fn aisbench(class: &str) -> Box<dyn Decoder> {
    let class = AisbenchClass::ALL.into_iter().find(|it| it.as_str() == class).unwrap();
    reader(&BackendSpec::Aisbench(AisbenchSpec::new(class, CommonSpec::new("m"))))
}

fn evalscope(api: &str) -> Box<dyn Decoder> {
    reader(&BackendSpec::Evalscope(EvalscopeSpec::new(EvalscopeApi::of(api).unwrap(), "m")))
}

fn vllm(dialect: &str) -> Box<dyn Decoder> {
    let dialect = VllmDialect::of(dialect).unwrap();
    reader(&BackendSpec::Vllm(VllmSpec::new(dialect, CommonSpec::new("m"))))
}

/// Checks a document in which `#` stands for the two counts, or for the only one.
#[track_caller]
fn check(decoder: impl Fn() -> Box<dyn Decoder>, document: &str, prompts: bool) {
    let read = |[one, other]: [&str; 2]| {
        let body = document.replacen('#', one, 1).replacen('#', other, 1);
        let reading = Reading::of_document(decoder(), body.as_bytes());
        assert_eq!(reading.outcome, Ok(()), "{body}");
        (reading.usage.unwrap_or_default(), reading.odd_counts.len())
    };
    let known = |prompt, output| {
        if prompts {
            Usage::new(Some(prompt), Some(output))
        } else {
            Usage::new(None, Some(prompt))
        }
    };
    let both = 1 + usize::from(prompts);
    assert_eq!(read(["8", "3"]), (known(8, 3), 0));
    assert_eq!(read(["8.0", "\"3\""]), (known(8, 3), both));
    let (usage, odd) = read(["-8", "2.5"]);
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, odd), (None, None, both));
    let (usage, odd) = read(["{}", "[1]"]);
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, odd), (None, None, both));
    let (usage, odd) = read(["null", "null"]);
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, odd), (None, None, 0));
}

#[test]
fn odd_counts_fail_no_answer_of_openais_routes() {
    let usage = r#""usage":{"prompt_tokens":#,"completion_tokens":#}"#;
    let text = format!(r#"{{"choices":[{{"text":"a","finish_reason":"stop"}}],{usage}}}"#);
    check(|| decoder(Route::COMPLETIONS), &text, true);
    let chat = r#""choices":[{"message":{"content":"a"},"finish_reason":"stop"}]"#;
    check(|| decoder(Route::CHAT), &format!("{{{chat},{usage}}}"), true);
    check(|| vllm("openai"), &text, true);
}

#[test]
fn odd_counts_fail_no_answer_of_sglangs_route() {
    let meta = r#""prompt_tokens":#,"completion_tokens":#,"finish_reason":{"type":"stop"}"#;
    check(|| decoder(Route::GENERATE), &format!(r#"{{"text":"a","meta_info":{{{meta}}}}}"#), true);
}

#[test]
fn odd_counts_fail_no_answer_of_the_other_dialects() {
    let responses = r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":#,"output_tokens":#}}"#;
    check(|| evalscope("openai_responses"), responses, true);
    let dashscope = r#"{"output":{"text":"a","finish_reason":"stop"},"usage":{"input_tokens":#,"output_tokens":#}}"#;
    check(|| evalscope("dashscope"), dashscope, true);
    let tgi = r#"{"generated_text":"a","details":{"generated_tokens":#,"finish_reason":"length"}}"#;
    check(|| aisbench("TGICustomAPI"), tgi, false);
    let ollama =
        r#"{"response":"a","done":true,"done_reason":"stop","prompt_eval_count":#,"eval_count":#}"#;
    check(|| decoder(Route::OLLAMA_GENERATE), ollama, true);
}

#[test]
fn odd_counts_fail_no_embedding() {
    let decoder = || super::reading::backend(Route::EMBEDDINGS).decoder(&Sample::new("hi", 1, 0));
    for (count, known, odd) in [("5.0", Some(5), 1), ("\"5\"", Some(5), 1), ("-1", None, 1)] {
        let body = format!(
            r#"{{"data":[{{"embedding":[0.5],"index":0}}],"usage":{{"prompt_tokens":{count}}}}}"#
        );
        let reading = Reading::of_document(decoder(), body.as_bytes());
        assert_eq!(reading.outcome, Ok(()), "{body}");
        assert_eq!(reading.usage.and_then(|usage| usage.prompt_tokens), known, "{body}");
        assert_eq!(reading.odd_counts.len(), odd, "{body}");
    }
}

#[test]
fn odd_counts_in_a_stream_are_told_with_their_field() {
    let stream = concat!(
        "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":\"4\",\"completion_tokens\":7.5,\
         \"prompt_tokens_details\":{\"cached_tokens\":2.0}}}\n\n",
        "data: [DONE]\n\n",
    );
    let reading = Reading::of_stream(decoder(Route::COMPLETIONS), [stream.as_bytes()]);
    assert_eq!(reading.outcome, Ok(()));
    let actual = ["prompt_tokens: \"4\"", "completion_tokens: 7.5", "cached_tokens: 2.0"];
    assert_eq!(reading.odd_counts, actual);
    assert_eq!(reading.usage, Some(Usage::new(Some(4), None).with_cached(Some(2))));
}

#[test]
fn counted_tokens_without_a_text_are_an_answer_where_it_came_to_its_end() {
    let usage =
        |tokens: u32| format!(r#""usage":{{"prompt_tokens":3,"completion_tokens":{tokens}}}"#);
    let body = |reason: &str, tokens| {
        let choices = format!(r#""choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]"#);
        format!("data: {{{choices},{}}}\n\n", usage(tokens))
    };
    let read = |body: String| Reading::of_stream(decoder(Route::CHAT), [body.as_bytes()]);
    let counted = read(body("\"length\"", 32) + "data: [DONE]\n\n");
    assert_eq!((counted.outcome, counted.pieces.len()), (Ok(()), 0));
    assert_eq!(counted.usage.unwrap().completion_tokens, Some(32));
    for failed in [body("\"length\"", 0) + "data: [DONE]\n\n", "data: [DONE]\n\n".to_owned()] {
        assert_eq!(read(failed).outcome.unwrap_err().kind, ErrorKind::Empty);
    }
    let document = format!(
        r#"{{"choices":[{{"message":{{"content":null}},"finish_reason":"length"}}],{}}}"#,
        usage(32)
    );
    let whole = Reading::of_document(decoder(Route::CHAT), document.as_bytes());
    assert_eq!((whole.outcome, whole.pieces.len()), (Ok(()), 0));
}

#[test]
fn a_text_of_many_parts_is_no_prompt_of_ollamas() {
    let backend = super::reading::backend(Route::OLLAMA_GENERATE);
    let error = backend.encode(&Sample::new(Prompt::TokenIds(vec![1]), 1, 1)).unwrap_err();
    assert!(error.message.contains("/api/generate takes no token ids"), "{error}");
}
