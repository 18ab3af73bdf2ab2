//! The body of every route, read as clients read it.

use std::io::Write;
use std::num::NonZeroU32;

use serde_json::{Value, json};
use servemark_mock::ImitatedEngine;

use crate::client::{Response, call, connect, get, post, request, server, start};

/// The first eight tokens of every answer.
const TEXT: &str = " time year work life hand part case week";

#[test]
fn generate_streams_its_text_cumulatively() {
    let body = r#"{"text": "a b c", "sampling_params": {"max_new_tokens": 8}, "stream": true}"#;
    let response =
        post(&start(|spec| spec.tokens_per_chunk = NonZeroU32::new(3).unwrap()), "/generate", body);
    assert!(response.head.contains("content-type: text/event-stream"), "{}", response.head);
    let events = response.stream();
    let counts: Vec<_> =
        events.iter().map(|event| &event["meta_info"]["completion_tokens"]).collect();
    assert_eq!(counts, [3, 6, 8]);
    assert_eq!(events[0]["text"], " time year work");
    assert_eq!(events[0]["meta_info"]["finish_reason"], Value::Null);
    assert_eq!(events[2]["text"], TEXT);
    assert_eq!(events[2]["meta_info"]["prompt_tokens"], 3);
    assert_eq!(events[2]["meta_info"]["finish_reason"], json!({"type": "length", "length": 8}));
}

#[test]
fn generate_answers_in_one_piece() {
    let body = r#"{"input_ids": [1, 2, 3, 4], "sampling_params": {"max_new_tokens": 8}}"#;
    let answer = post(&server(&[]), "/generate", body).json();
    assert_eq!(answer["text"], TEXT);
    assert_eq!(answer["meta_info"]["completion_tokens"], 8);
    assert_eq!(answer["meta_info"]["prompt_tokens"], 4);
    assert_eq!(answer["meta_info"]["finish_reason"]["type"], "length");
}

const BATCH: &str = r#"{"input_ids": [[1, 2], [3], [4, 5, 6]],
    "sampling_params": {"max_new_tokens": 8}, "stream": true}"#;

#[test]
fn generate_streams_a_batch_prompt_by_prompt() {
    let server = server(&[]);
    let events = post(&server, "/generate", BATCH).stream();
    assert_eq!(events.len(), 3 * 8);
    let indices: Vec<_> = events.iter().map(|event| event["index"].as_u64().unwrap()).collect();
    assert_eq!(indices[..6], [0, 1, 2, 0, 1, 2]);
    for (index, prompt_tokens) in [(0, 2), (1, 1), (2, 3)] {
        let last = &events[3 * 7 + index];
        assert_eq!((&last["text"], &last["index"]), (&json!(TEXT), &json!(index)));
        assert_eq!(last["meta_info"]["prompt_tokens"], prompt_tokens);
        assert_eq!(last["meta_info"]["finish_reason"]["type"], "length");
    }
    let truth = server.truth();
    assert_eq!(
        truth.iter().map(|row| (row.index, row.sent_ns.len())).collect::<Vec<_>>(),
        [(0, 8), (1, 8), (2, 8)]
    );
}

#[test]
fn a_batch_in_one_piece_is_a_list() {
    let whole = BATCH.replace("true", "false");
    let answer = post(&server(&[]), "/generate", &whole).json();
    let prompts: Vec<_> = answer
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["meta_info"]["prompt_tokens"].as_u64().unwrap())
        .collect();
    assert_eq!(prompts, [2, 1, 3]);
}

#[test]
fn completions_answer_a_batch_choice_by_choice() {
    let body = r#"{"model": "m", "prompt": [[1], [2]], "max_tokens": 8, "stream": true}"#;
    let events = post(&server(&[]), "/v1/completions", body).stream();
    let of = |index: u64| events.iter().filter(move |e| e["choices"][0]["index"] == index).count();
    assert_eq!((of(0), of(1)), (8, 8));
    let whole = post(&server(&[]), "/v1/completions", &body.replace("true", "false")).json();
    assert_eq!(whole["choices"][1]["index"], 1);
    assert_eq!(whole["usage"]["completion_tokens"], 16);
}

/// Joins the texts that `piece` finds in the events.
fn joined(events: &[Value], piece: impl Fn(&Value) -> &Value) -> String {
    events.iter().filter_map(|event| piece(event).as_str()).collect()
}

#[test]
fn completions_stream_deltas() {
    let body = r#"{"model": "m", "prompt": [1, 2], "max_tokens": 8, "stream": true}"#;
    let events = post(&server(&[]), "/v1/completions", body).stream();
    assert_eq!(events.len(), 8);
    assert_eq!(joined(&events, |event| &event["choices"][0]["text"]), TEXT);
    assert_eq!(events[6]["choices"][0]["finish_reason"], Value::Null);
    assert_eq!(events[7]["choices"][0]["finish_reason"], "length");
    assert_eq!(
        (&events[0]["object"], &events[0]["model"]),
        (&json!("text_completion"), &json!("mock"))
    );
    assert!(events.iter().all(|event| event.get("usage").is_none()));
}

#[test]
fn completions_tell_their_usage_last() {
    let body = r#"{"prompt": [1, 2], "max_tokens": 3, "stream": true,
                   "stream_options": {"include_usage": true}}"#;
    let events = post(&server(&[]), "/v1/completions", body).stream();
    assert_eq!(events.len(), 4);
    assert_eq!(events[3]["choices"], json!([]));
    let usage = json!({"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5});
    assert_eq!(events[3]["usage"], usage);
    assert_eq!(events[2].get("usage"), None);
}

#[test]
fn completions_answer_in_one_piece() {
    let answer =
        post(&server(&[]), "/v1/completions", r#"{"prompt": "a", "max_tokens": 8}"#).json();
    assert_eq!(answer["choices"][0]["text"], TEXT);
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(
        answer["usage"],
        json!({"prompt_tokens": 1, "completion_tokens": 8, "total_tokens": 9})
    );
}

const CHAT: &str = r#""messages": [{"role": "user", "content": "how are you"}]"#;

#[test]
fn chat_streams_a_role_then_deltas_then_the_finish() {
    let body = format!(r#"{{{CHAT}, "max_completion_tokens": 8, "stream": true}}"#);
    let events = post(&server(&[]), "/v1/chat/completions", &body).stream();
    assert_eq!(events.len(), 10);
    assert_eq!(events[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert_eq!(joined(&events, |event| &event["choices"][0]["delta"]["content"]), TEXT);
    assert_eq!(events[8]["choices"][0]["finish_reason"], Value::Null);
    assert_eq!(events[9]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[9]["choices"][0]["delta"], json!({}));
    assert_eq!(events[9]["object"], "chat.completion.chunk");
}

#[test]
fn chat_tells_its_usage_with_every_event_if_asked() {
    let options = r#""stream_options": {"include_usage": true, "continuous_usage_stats": true}"#;
    let body = format!(r#"{{{CHAT}, "max_tokens": 2, "stream": true, {options}}}"#);
    let events = post(&server(&[]), "/v1/chat/completions", &body).stream();
    let counts: Vec<_> = events.iter().map(|event| &event["usage"]["completion_tokens"]).collect();
    assert_eq!(counts, [0, 1, 2, 2, 2]);
    let totals: Vec<_> = events.iter().map(|event| &event["usage"]["total_tokens"]).collect();
    assert_eq!(totals, [3, 4, 5, 5, 5]);
    assert_eq!(events[4]["choices"], json!([]));
}

#[test]
fn chat_answers_in_one_piece() {
    let body = format!(r#"{{{CHAT}, "max_tokens": 8, "stream": false}}"#);
    let answer = post(&server(&[]), "/v1/chat/completions", &body).json();
    assert_eq!(answer["choices"][0]["message"], json!({"role": "assistant", "content": TEXT}));
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["usage"]["total_tokens"], 11);
}

#[test]
fn each_choice_of_sglangs_chats_has_meta_info_on_request() {
    let imitating = |engine| start(move |spec| spec.engine = Some(engine));
    let ask = |engine, more: &str| {
        let body = format!(r#"{{{CHAT}, "max_tokens": 8, "n": 2, "stream": false{more}}}"#);
        post(&imitating(engine), "/v1/chat/completions", &body).json()["choices"].take()
    };
    let wanted = r#", "return_meta_info": true"#;
    let choices = ask(ImitatedEngine::Sglang, wanted);
    for choice in choices.as_array().unwrap() {
        let meta = &choice["meta_info"];
        assert_eq!(meta["finish_reason"], json!({"type": "length", "length": 8}));
        assert_eq!((&meta["prompt_tokens"], &meta["completion_tokens"]), (&json!(3), &json!(8)));
        assert!(meta["request_received_ts"].is_f64() && meta["queue_time"].is_f64(), "{meta}");
    }
    assert_eq!(choices.as_array().unwrap().len(), 2);
    assert_eq!(ask(ImitatedEngine::Sglang, "")[0].get("meta_info"), None);
    assert_eq!(ask(ImitatedEngine::Vllm, wanted)[0].get("meta_info"), None);
}

#[test]
fn embeddings_are_one_per_input() {
    let answer =
        post(&server(&[]), "/v1/embeddings", r#"{"input": ["a b", "c"], "model": "m"}"#).json();
    assert_eq!(answer["data"].as_array().unwrap().len(), 2);
    assert_eq!(answer["data"][1]["index"], 1);
    assert_eq!(answer["data"][1]["embedding"].as_array().unwrap().len(), 8);
    assert_eq!(answer["usage"], json!({"prompt_tokens": 3, "total_tokens": 3}));
}

#[test]
fn embeddings_are_as_long_and_as_short_as_asked_for() {
    let body = r#"{"input": "a", "dimensions": 3, "encoding_format": "base64"}"#;
    let answer = post(&server(&[]), "/v1/embeddings", body).json();
    // 0.5, -0.25 and 0.125 as little-endian floats.
    assert_eq!(answer["data"][0]["embedding"], "AAAAPwAAgL4AAAA+");
    let body = r#"{"input": "a", "dimensions": 10, "encoding_format": "float"}"#;
    let answer = post(&server(&[]), "/v1/embeddings", body).json();
    assert_eq!(answer["data"][0]["embedding"].as_array().unwrap().len(), 10);
}

#[test]
fn what_is_pooled_is_called_data() {
    let answer = post(&server(&[]), "/pooling", r#"{"input": ["a b", "c"], "model": "m"}"#).json();
    assert_eq!(answer["data"][1]["object"], "pooling");
    assert_eq!(answer["data"][1]["data"].as_array().unwrap().len(), 8);
}

#[test]
fn responses_name_their_events_and_end_with_the_whole() {
    let body = r#"{"model": "m", "input": "a b", "max_output_tokens": 8, "stream": true}"#;
    let response = post(&server(&[]), "/v1/responses", body);
    let named = response.body.matches("event: response.output_text.delta\ndata: ").count();
    assert_eq!((named, response.body.contains("[DONE]")), (8, false), "{}", response.body);
    let last = response.body.trim_end().rsplit("data: ").next().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["type"], "response.completed");
    let usage = json!({
        "input_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 8,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 10,
    });
    assert_eq!(last["response"]["usage"], usage);
    let body = r#"{"model": "m", "input": "a b", "max_output_tokens": 8}"#;
    let answer = post(&server(&[]), "/v1/responses", body).json();
    assert_eq!(answer["output"][0]["content"][0]["text"], TEXT);
    assert_eq!(answer["usage"], usage);
}

#[test]
fn documents_are_ranked() {
    let body = r#"{"query": "a b", "documents": ["c", "d e", "f"], "top_n": 2}"#;
    let answer = post(&server(&[]), "/v1/rerank", body).json();
    assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    assert_eq!(answer["results"][1], json!({"index": 1, "relevance_score": 0.5}));
    assert_eq!(answer["usage"]["prompt_tokens"], 3 * 2 + 4);
}

#[test]
fn questions_are_decided() {
    let limit = |question: &str| {
        let body = format!(r#"{{"state": "a b c", "questions": {{"answer": {question}}}}}"#);
        post(&server(&[]), "/v1/systemone", &body).json()
    };
    let chosen = limit(r#"{"type": "choice", "criteria": {"x": "1", "y": "2"}}"#);
    let answer = json!({"type": "choice", "probabilities": {"x": 0.5, "y": 0.5}, "choice": "x"});
    assert_eq!(chosen["answers"], json!({ "answer": answer }));
    assert_eq!(chosen["usage"]["input_tokens"], 3);
    assert_eq!(limit(r#"{"type": "noul"}"#)["answers"]["answer"]["noul"], 0.5);
    let scored = limit(r#"{"type": "score", "criteria": ["low", "mid", "high"]}"#);
    assert_eq!(scored["answers"]["answer"]["score"], 1.0);
    assert_eq!(scored["answers"]["answer"]["legend"]["2"], "high");
    let body = r#"{"kind": "choice", "state": "a", "question": "q", "options": ["x", "y"]}"#;
    let ranked = post(&server(&[]), "/v1/decide", body).json();
    assert_eq!((&ranked["choice"], &ranked["choice_index"]), (&json!("x"), &json!(0)));
    assert_eq!(ranked["probabilities"], json!([0.5, 0.5]));
}

#[test]
fn triton_streams_all_the_text_so_far_if_asked_and_marks_no_end() {
    let body =
        r#"{"text_input": "a b", "max_tokens": 8, "stream": true, "accumulate_tokens": true}"#;
    let response = post(&server(&[]), "/v2/models/ensemble/generate_stream", body);
    assert!(!response.body.contains("[DONE]"), "{}", response.body);
    assert_eq!(response.body.matches("data: ").count(), 8);
    assert!(response.body.contains(&format!("\"text_output\":\"{TEXT}\"")), "{}", response.body);
}

#[test]
fn triton_serves_models_of_any_name() {
    let body = r#"{"text_input": "a b", "parameters": {"max_new_tokens": 8}}"#;
    let events = post(&server(&[]), "/v2/models/org/m/generate_stream", body).unmarked();
    assert_eq!(joined(&events, |event| &event["text_output"]), TEXT);
    let answer = post(&server(&[]), "/v2/models/org/m/generate", body).json();
    assert_eq!(answer["text_output"], TEXT);
    assert_eq!(post(&server(&[]), "/v2/models/m/infer", body).status, 404);
}

#[test]
fn tgi_streams_tokens_and_the_whole_text_with_the_last() {
    let body = r#"{"inputs": "a b c", "parameters": {"max_new_tokens": 8}}"#;
    let events = post(&server(&[]), "/generate_stream", body).unmarked();
    assert_eq!(joined(&events, |event| &event["token"]["text"]), TEXT);
    assert_eq!(events[6]["generated_text"], Value::Null);
    assert_eq!(events[7]["generated_text"], TEXT);
    let details = json!({"finish_reason": "length", "generated_tokens": 8, "seed": null});
    assert_eq!(events[7]["details"], details);
    let answer = post(&server(&[]), "/generate", body).json();
    assert_eq!(answer, json!({"generated_text": TEXT, "details": details}));
}

#[test]
fn mindie_streams_the_same() {
    let body = r#"{"inputs": "a b c", "stream": true, "parameters": {"max_new_tokens": 8}}"#;
    let events = post(&server(&[]), "/infer", body).unmarked();
    assert_eq!(joined(&events, |event| &event["token"]["text"]), TEXT);
    assert_eq!(events[7]["details"]["generated_tokens"], 8);
}

const DASHSCOPE: &str = "/api/v1/services/aigc/text-generation/generation";

#[test]
fn dashscope_streams_where_its_header_asks_for_it() {
    let mock = server(&[]);
    let ask = |parameters: &str| {
        let input = r#"{"prompt": "a b"}"#;
        let body =
            format!(r#"{{"input": {input}, "parameters": {{"max_tokens": 8{parameters}}}}}"#);
        let headers = "Connection: close\r\nX-DashScope-SSE: enable\r\n";
        let mut socket = connect(&mock);
        socket.write_all(&request("POST", DASHSCOPE, headers, &body)).unwrap();
        Response::read_all(&mut socket).unmarked()
    };
    let so_far = ask("");
    assert_eq!(so_far[0]["output"], json!({"finish_reason": "null", "text": " time"}));
    assert_eq!(so_far[7]["output"], json!({"finish_reason": "length", "text": TEXT}));
    let usage = json!({"input_tokens": 2, "output_tokens": 8, "total_tokens": 10});
    assert_eq!(so_far[7]["usage"], usage);
    let pieces = ask(r#", "incremental_output": true, "result_format": "message""#);
    let text = joined(&pieces, |event| &event["output"]["choices"][0]["message"]["content"]);
    assert_eq!(text, TEXT);
}

#[test]
fn dashscope_answers_in_one_piece() {
    let input = r#"{"messages": [{"role": "user", "content": "how are you"}]}"#;
    let body = format!(r#"{{"input": {input}, "parameters": {{"max_tokens": 8}}}}"#);
    let answer = post(&server(&[]), DASHSCOPE, &body).json();
    assert_eq!(answer["output"], json!({"finish_reason": "length", "text": TEXT}));
    assert_eq!(answer["usage"]["input_tokens"], 3);
}

#[test]
fn ollama_answers_in_lines_unless_it_is_told_not_to() {
    for (path, prompt, text) in [
        ("/api/chat", CHAT, "/message/content"),
        ("/api/generate", r#""prompt": "a b""#, "/response"),
    ] {
        let body = |more: &str| format!(r#"{{{prompt}, "options": {{"num_predict": 8}}{more}}}"#);
        let response = post(&server(&[]), path, &body(""));
        let content_type = "\r\ncontent-type: application/x-ndjson\r\n";
        assert!(response.head.contains(content_type), "{}", response.head);
        let lines: Vec<Value> =
            response.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 9, "{path}");
        let joined: String =
            lines.iter().map(|line| line.pointer(text).unwrap().as_str().unwrap()).collect();
        assert_eq!(joined, TEXT, "{path}");
        assert!(lines[..8].iter().all(|line| line["done"] == false), "{path}");
        let end = &lines[8];
        assert_eq!((&end["done"], &end["done_reason"]), (&true.into(), &"length".into()));
        assert_eq!(end["eval_count"], 8, "{path}");
        let whole = post(&server(&[]), path, &body(r#", "stream": false"#)).json();
        assert_eq!(whole.pointer(text).unwrap(), TEXT, "{path}");
        assert_eq!((&whole["done"], &whole["eval_count"]), (&true.into(), &8.into()));
    }
}

#[test]
fn truss_answers_as_completions_do() {
    let body = r#"{"model": "m", "prompt": "a", "max_tokens": 8, "stream": true}"#;
    let events = post(&server(&[]), "/v1/models/model:predict", body).stream();
    assert_eq!(joined(&events, |event| &event["choices"][0]["text"]), TEXT);
}

#[test]
fn the_server_decides_the_length_where_it_is_told_to() {
    let server = start(|spec| spec.output_tokens = Some(2));
    let answer = post(&server, "/v1/completions", r#"{"prompt": "a", "max_tokens": 8}"#).json();
    assert_eq!(answer["usage"]["completion_tokens"], 2);
}

#[test]
fn an_answer_of_no_tokens_is_still_an_answer() {
    let body = format!(r#"{{{CHAT}, "max_tokens": 0, "stream": true}}"#);
    assert_eq!(post(&server(&[]), "/v1/chat/completions", &body).stream().len(), 2);
    let body = r#"{"text": "", "sampling_params": {"max_new_tokens": 0}}"#;
    assert_eq!(post(&server(&[]), "/generate", body).json()["text"], "");
}

#[test]
fn the_server_says_what_it_is() {
    let server = start(|spec| {
        spec.model = "a \"quoted\" name".to_owned();
        spec.accept_length = Some(2.5);
    });
    assert_eq!(get(&server, "/v1/models").json()["data"][0]["id"], "a \"quoted\" name");
    for path in ["/model_info", "/get_model_info"] {
        assert_eq!(get(&server, path).json()["model_path"], "a \"quoted\" name");
    }
    for path in ["/server_info", "/get_server_info"] {
        assert_eq!(get(&server, path).json()["internal_states"][0]["avg_spec_accept_length"], 2.5);
    }
    for path in ["/health", "/health_generate"] {
        assert_eq!(get(&server, path).status, 200);
    }
    let plain = get(&self::server(&[]), "/server_info").json();
    assert_eq!(plain["internal_states"][0].get("avg_spec_accept_length"), None);
    assert!(
        plain["internal_states"][0]["effective_max_running_requests_per_dp"].as_u64() > Some(0)
    );
}

#[test]
fn ollama_lists_the_served_model() {
    let server = start(|spec| {
        spec.model = "llama3:8b".to_owned();
        spec.engine = Some(ImitatedEngine::Ollama);
    });
    let models = get(&server, "/api/tags").json()["models"].take();
    assert_eq!(models.as_array().map(Vec::len), Some(1), "{models}");
    assert_eq!(
        (&models[0]["name"], &models[0]["model"]),
        (&json!("llama3:8b"), &json!("llama3:8b"))
    );
    assert_eq!(
        get(&start(|spec| spec.engine = Some(ImitatedEngine::Vllm)), "/api/tags").status,
        404
    );
}

#[test]
fn control_calls_are_remembered_with_their_bodies() {
    let server = server(&[]);
    assert_eq!(post(&server, "/flush_cache?timeout=60.0", "").status, 200);
    assert_eq!(post(&server, "/reset_prefix_cache", "").status, 200);
    assert_eq!(post(&server, "/start_profile", r#"{"num_steps": 5}"#).status, 200);
    assert_eq!(post(&server, "/stop_profile", "{}").status, 200);
    let calls = server.control_calls();
    let paths: Vec<_> = calls.iter().map(|call| call.path.as_str()).collect();
    let expected =
        ["/flush_cache?timeout=60.0", "/reset_prefix_cache", "/start_profile", "/stop_profile"];
    assert_eq!(paths, expected);
    assert_eq!(calls[2].body, r#"{"num_steps": 5}"#);
}

#[test]
fn all_requests_are_kept_unless_the_spec_says_otherwise() {
    for (keep, expected) in [(None, 3), (Some(0), 0)] {
        let server = start(|spec| spec.keep_requests = keep.unwrap_or(spec.keep_requests));
        for path in ["/health", "/v1/models", "/nowhere"] {
            call(&server, "GET", path, "x");
        }
        assert_eq!(server.requests().len(), expected);
    }
}

#[test]
fn only_the_latest_requests_are_kept() {
    let server = start(|spec| spec.keep_requests = 2);
    for path in ["/health", "/v1/models", "/nowhere"] {
        call(&server, "GET", path, "x");
    }
    let kept = server.requests();
    let paths: Vec<_> = kept.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/v1/models", "/nowhere"]);
    assert_eq!((kept[0].method.as_str(), kept[0].header("HOST")), ("GET", Some("mock")));
    assert_eq!((&kept[0].body[..], kept[0].header("cookie")), (&b"x"[..], None));
}

#[test]
fn what_is_not_understood_is_refused_in_words() {
    let server = server(&[]);
    let lost = get(&server, "/nowhere");
    assert_eq!(lost.status, 404);
    assert_eq!(lost.json()["error"]["message"], "there is no route GET /nowhere");
    let broken = post(&server, "/generate", "{");
    assert_eq!((broken.status, &broken.json()["error"]["code"]), (400, &json!(400)));
}
