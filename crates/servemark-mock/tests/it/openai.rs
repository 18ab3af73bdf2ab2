//! The shapes that OpenAI's own clients read: choices, probabilities, responses, errors, models.

use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use servemark_mock::MockServer;

use crate::client::{completion, connect, get, post, request, server, start};

/// The first three tokens of every answer.
const TEXT: &str = " time year work";

const CHAT: &str = r#""messages": [{"role": "user", "content": "how are you"}], "max_tokens": 3"#;

fn chat(rest: &str) -> String {
    format!("{{{CHAT}{rest}}}")
}

/// Returns the choice with this index from each event that has one.
fn choice(events: &[Value], index: u64) -> impl Iterator<Item = &Value> {
    let choices = events.iter().flat_map(|event| event["choices"].as_array().unwrap());
    choices.filter(move |choice| choice["index"] == index)
}

/// Returns the index and the number of pieces of each row of the truth.
fn rows(server: &MockServer) -> Vec<(usize, usize)> {
    server.truth().iter().map(|row| (row.index, row.sent_ns.len())).collect()
}

#[test]
fn a_chat_streams_each_of_its_choices_whole() {
    let server = server(&[]);
    let options = r#", "n": 2, "stream": true, "stream_options": {"include_usage": true}"#;
    let events = post(&server, "/v1/chat/completions", &chat(options)).stream();
    for index in 0..2 {
        let deltas: Vec<&Value> = choice(&events, index).map(|choice| &choice["delta"]).collect();
        assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
        let text: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
        assert_eq!(text, TEXT);
        let finishes: Vec<&Value> =
            choice(&events, index).map(|choice| &choice["finish_reason"]).collect();
        assert_eq!(finishes.iter().filter(|finish| !finish.is_null()).count(), 1);
        assert_eq!(finishes.last().unwrap(), &"length");
    }
    let last = events.last().unwrap();
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 9});
    assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &usage));
    assert_eq!(rows(&server), [(0, 6)], "a piece of each choice at each of three times");
}

#[test]
fn one_choice_is_what_it_was_without_the_word() {
    for path in ["/v1/chat/completions", "/v1/completions"] {
        for stream in [", \"stream\": true", ""] {
            let answer = |rest: &str| {
                let prompt = r#", "prompt": "a b""#;
                let body = chat(&[stream, prompt, rest].concat());
                let text = post(&start(|_| {}), path, &body).body;
                // Every answer holds the second at which the server was started.
                let created = text.split("\"created\":").nth(1).unwrap();
                let created = created.split(',').next().unwrap().to_owned();
                text.replace(&created, "0")
            };
            assert_eq!(answer(""), answer(r#", "n": 1, "logprobs": null"#), "{path}");
        }
    }
}

#[test]
fn a_document_has_all_choices_and_counts_their_tokens() {
    let server = server(&[]);
    let answer = post(&server, "/v1/chat/completions", &chat(r#", "n": 3"#)).json();
    let indices: Vec<_> = (0..3).map(|place| &answer["choices"][place]["index"]).collect();
    assert_eq!(indices, [0, 1, 2]);
    assert_eq!(answer["choices"][2]["message"]["content"], TEXT);
    assert_eq!(answer["usage"]["completion_tokens"], 9);
    let body = r#"{"prompt": ["a", "b"], "max_tokens": 3, "n": 2}"#;
    let answer = post(&server, "/v1/completions", body).json();
    assert_eq!(answer["choices"].as_array().unwrap().len(), 4);
    assert_eq!(answer["choices"][3]["index"], 3);
    assert_eq!(answer["choices"][3]["text"], TEXT);
    assert_eq!(answer["usage"]["completion_tokens"], 12);
}

#[test]
fn the_choices_of_a_batch_are_numbered_on_and_every_prompt_has_its_row() {
    let server = server(&[]);
    let body = r#"{"prompt": ["a", "b"], "max_tokens": 3, "n": 2, "stream": true}"#;
    let events = post(&server, "/v1/completions", body).stream();
    for index in 0..4 {
        let text: String =
            choice(&events, index).map(|choice| choice["text"].as_str().unwrap()).collect();
        assert_eq!(text, TEXT);
    }
    assert_eq!(rows(&server), [(0, 6), (1, 6)]);
}

#[test]
fn a_chat_tells_the_probabilities_of_its_tokens() {
    let server = server(&[]);
    let question = r#", "logprobs": true, "top_logprobs": 2"#;
    let whole = post(&server, "/v1/chat/completions", &chat(question)).json();
    let content = &whole["choices"][0]["logprobs"]["content"];
    assert_eq!(content.as_array().unwrap().len(), 3);
    assert_eq!((&content[1]["token"], &content[1]["logprob"]), (&json!(" year"), &json!(-0.5)));
    assert_eq!(content[1]["top_logprobs"].as_array().unwrap().len(), 2);
    let streamed = [question, ", \"stream\": true"].concat();
    let events = post(&server, "/v1/chat/completions", &chat(&streamed)).stream();
    let appended = events.iter().filter_map(|event| {
        event["choices"][0]["logprobs"]["content"].as_array().map(|content| content[0].clone())
    });
    assert_eq!(&Value::Array(appended.collect()), content);
}

#[test]
fn a_completion_tells_the_probabilities_of_its_tokens() {
    let server = server(&[]);
    let body = r#"{"prompt": "a", "max_tokens": 3, "logprobs": 2"#;
    let whole = post(&server, "/v1/completions", &format!("{body}}}")).json();
    let appended = &whole["choices"][0]["logprobs"];
    assert_eq!(appended["tokens"], json!([" time", " year", " work"]));
    assert_eq!(appended["token_logprobs"], json!([-0.5, -0.5, -0.5]));
    assert_eq!(appended["text_offset"], json!([0, 5, 10]));
    assert_eq!(appended["top_logprobs"][0], json!({" time": -0.5, " year": -1.5}));
    let events = post(&server, "/v1/completions", &format!("{body}, \"stream\": true}}")).stream();
    assert_eq!(events[2]["choices"][0]["logprobs"]["tokens"], json!([" work"]));
    assert_eq!(events[2]["choices"][0]["logprobs"]["text_offset"], json!([10]));
}

#[test]
fn responses_announce_their_message_and_number_their_events() {
    let body = r#"{"model": "m", "input": "a b", "max_output_tokens": 2, "stream": true}"#;
    let response = post(&server(&[]), "/v1/responses", body);
    let events = response.unmarked();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let names: Vec<&str> =
        response.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names, kinds);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
    }
    let item = &events[2]["item"];
    assert_eq!((&item["type"], &item["role"]), (&json!("message"), &json!("assistant")));
    assert_eq!((&item["status"], &item["content"]), (&json!("in_progress"), &json!([])));
    for event in &events[3..8] {
        assert_eq!(event["item_id"], item["id"], "{event}");
        assert_eq!((&event["output_index"], &event["content_index"]), (&json!(0), &json!(0)));
    }
    assert_eq!(events[5]["delta"], " year");
    assert_eq!(events[6]["text"], " time year");
    let done = &events[9]["response"];
    assert_eq!((&done["status"], &done["output"][0]), (&json!("completed"), &events[8]["item"]));
    assert_eq!(done["output"][0]["content"][0], events[7]["part"]);
    let whole = post(&server(&[]), "/v1/responses", &body.replace("true", "false")).json();
    assert_eq!((&whole["output"], &whole["usage"]), (&done["output"], &done["usage"]));
}

#[track_caller]
fn refused(server: &MockServer, path: &str, body: &str) -> (u16, Value) {
    let response = post(server, path, body);
    let error = response.json()["error"].clone();
    assert_eq!(error["type"], "invalid_request_error", "{error}");
    assert!(error["message"].is_string(), "{error}");
    (response.status, json!([error["param"], error["code"]]))
}

#[test]
fn a_request_without_its_prompt_is_refused_as_openai_does() {
    let server = server(&[]);
    for (path, name) in [
        ("/v1/chat/completions", "messages"),
        ("/v1/completions", "prompt"),
        ("/v1/embeddings", "input"),
        ("/v1/responses", "input"),
    ] {
        let missing = (400, json!([name, "missing_required_parameter"]));
        assert_eq!(refused(&server, path, r#"{"model": "m"}"#), missing, "{path}");
    }
    assert_eq!(rows(&server), [], "what is refused has no output");
}

#[test]
fn more_choices_and_probabilities_than_openai_allows_are_refused() {
    let server = server(&[]);
    let refused = |rest: &str| refused(&server, "/v1/chat/completions", &chat(rest));
    assert_eq!(refused(r#", "n": 0"#), (400, json!(["n", "invalid_value"])));
    assert_eq!(refused(r#", "n": 129"#), (400, json!(["n", "invalid_value"])));
    let top = r#", "logprobs": true, "top_logprobs": 21"#;
    assert_eq!(refused(top), (400, json!(["top_logprobs", "invalid_value"])));
}

#[test]
fn unknown_models_are_refused_only_if_that_is_asked_for() {
    let named = |name: &str| chat(&format!(r#", "model": "{name}""#));
    let lenient = server(&[]);
    assert_eq!(post(&lenient, "/v1/chat/completions", &named("other")).status, 200);
    let strict = start(|spec| spec.strict_model = true);
    assert_eq!(post(&strict, "/v1/chat/completions", &named("mock")).status, 200);
    assert_eq!(post(&strict, "/v1/chat/completions", &chat("")).status, 200);
    let unknown = (404, json!(["model", "model_not_found"]));
    assert_eq!(refused(&strict, "/v1/chat/completions", &named("other")), unknown);
}

#[test]
fn one_model_is_found_by_its_name() {
    let server = start(|spec| spec.model = "org/m".into());
    let listed = get(&server, "/v1/models").json()["data"][0].clone();
    assert_eq!(get(&server, "/v1/models/org/m").json(), listed);
    assert_eq!(get(&server, "/v1/models/org%2Fm").json(), listed);
    let unknown = get(&server, "/v1/models/m");
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.json()["error"]["code"], "model_not_found");
    assert!(get(&server, "/version").json()["version"].is_string());
}

/// Returns the value of this Prometheus metric.
fn value(server: &MockServer, name: &str) -> u64 {
    let metrics = get(server, "/metrics");
    assert!(metrics.head.contains("content-type: text/plain; version=0.0.4"), "{metrics:?}");
    let line = format!("{name}{{model_name=\"mock\"}} ");
    metrics.body.lines().find_map(|text| text.strip_prefix(&line)).unwrap().parse().unwrap()
}

#[test]
fn prometheus_is_told_what_was_really_done() {
    let server = start(|spec| spec.tokens_per_chunk = 2.try_into().unwrap());
    assert_eq!(value(&server, "vllm:generation_tokens_total"), 0);
    post(&server, "/v1/chat/completions", &chat(r#", "n": 2, "stream": true"#));
    post(&server, "/v1/chat/completions", &chat(""));
    post(&server, "/v1/embeddings", r#"{"input": "a b"}"#);
    post(&server, "/v1/completions", r#"{"model": "refused"}"#);
    for family in ["vllm", "sglang"] {
        assert_eq!(value(&server, &format!("{family}:generation_tokens_total")), 9);
        assert_eq!(value(&server, &format!("{family}:prompt_tokens_total")), 6);
    }
    assert_eq!(value(&server, "vllm:num_requests_running"), 0);
    assert_eq!(value(&server, "sglang:num_queue_reqs"), 0);
}

#[test]
fn prometheus_is_told_how_many_run_and_how_many_wait() {
    let server = start(|spec| {
        spec.places = Some(1.try_into().unwrap());
        spec.ttft = Duration::from_secs(3600);
    });
    let ask = |_| {
        let mut socket = connect(&server);
        socket.write_all(&request("POST", "/v1/completions", "", &completion(1))).unwrap();
        socket
    };
    let question: Vec<_> = (0..3).map(ask).collect();
    // The counts show when the server has read the requests of all three connections.
    while value(&server, "vllm:num_requests_waiting") < 2 {
        thread::yield_now();
    }
    assert_eq!(value(&server, "sglang:num_queue_reqs"), 2);
    assert_eq!(value(&server, "sglang:num_running_reqs"), 1);
    drop(question);
}
