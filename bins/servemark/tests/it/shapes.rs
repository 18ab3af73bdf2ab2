//! First runs against servers that differ from the engines' usual ones: without a list of models,
//! behind a prefix or a key, or with other answers than are asked for.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::thread;

use serde_json::{Value, json};

use super::{servemark, text};

/// A request as a server sees it.
struct SeenRequest {
    path: String,
    key: Option<String>,
    body: Value,
}

/// An answer of a server: a status, a type and a body.
type HttpAnswer = (u16, &'static str, String);

/// Starts a server that answers each request on a connection of its own, and returns its address.
fn server(answer: impl Fn(&SeenRequest) -> HttpAnswer + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answer) = (stream.unwrap(), answer.clone());
            // A client that closes a connection early is no error of the server.
            thread::spawn(move || drop(serve(stream, answer)));
        }
    });
    address
}

fn serve(stream: TcpStream, answer: impl Fn(&SeenRequest) -> HttpAnswer) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut key) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or_default(),
            "authorization" => key = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let (status, kind, body) = answer(&SeenRequest { path, key, body });
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    reader.get_mut().write_all((head + &body).as_bytes())
}

fn json_answer(body: &Value) -> HttpAnswer {
    (200, "application/json", body.to_string())
}

fn refused(status: u16, why: &str) -> HttpAnswer {
    (status, "application/json", json!({"error": {"message": why}}).to_string())
}

fn absent() -> HttpAnswer {
    refused(404, "Not Found")
}

fn list() -> HttpAnswer {
    json_answer(&json!({"object": "list", "data": [{"id": "org/m", "owned_by": "someone"}]}))
}

/// Returns a stream of four tokens, with counts if they are asked for.
fn stream(asked: &SeenRequest) -> HttpAnswer {
    let piece = json!({"choices": [{"index": 0, "delta": {"content": " w"}, "text": " w"}]});
    let mut events = format!("data: {piece}\n\n").repeat(4);
    if asked.body["stream_options"]["include_usage"] == true {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
        events.extend(["data: ", &usage.to_string(), "\n\n"]);
    }
    (200, "text/event-stream", events + "data: [DONE]\n\n")
}

fn explored(url: &str, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let short = ["--json", "--out", "results", "--duration", "1", "--max-streams", "1"];
    let done = servemark(&folder, &[&[url][..], &short, more].concat());
    if done.status.success() {
        assert!(fs::exists(folder.path().join("results/report.html")).unwrap());
    }
    done
}

/// Checks the answer about a server.
#[track_caller]
fn check_found(url: &str, more: &[&str], expected: &Value) {
    let done = explored(url, more);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&found[key], value, "{key}: {found:#}");
    }
    assert!(found["best"]["requests"].as_u64().unwrap() > 0, "{found:#}");
}

/// Checks that a server is refused with exit code 4 and these words.
#[track_caller]
fn check_refused(url: &str, words: &[&str]) {
    let done = explored(url, &[]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{errors}");
    for word in words {
        assert!(errors.contains(word), "{word:?} is not in {errors}");
    }
}

#[test]
fn a_server_without_a_list_of_models_is_asked_for_the_named_one() {
    let url = server(|asked| match asked.path.as_str() {
        "/v1/chat/completions" if asked.body["model"] == "mine" => stream(asked),
        _ => absent(),
    });
    check_found(&url, &["--model", "mine"], &json!({"model": "mine", "engine": "unknown"}));
    check_refused(&url, &["404 for /v1/models", "name the model with --model"]);
}

#[test]
fn the_model_of_an_older_tgi_and_ollama_is_found_beside_the_list() {
    let tgi = server(|asked| match asked.path.as_str() {
        "/info" => json_answer(&json!({"model_id": "org/bloom", "version": "1.4.0"})),
        "/v1/chat/completions" => stream(asked),
        _ => absent(),
    });
    check_found(&tgi, &[], &json!({"model": "org/bloom", "engine": "tgi", "version": "1.4.0"}));
    let ollama = server(|asked| match asked.path.as_str() {
        "/api/version" => json_answer(&json!({"version": "0.1.24"})),
        "/api/tags" => json_answer(&json!({"models": [{"name": "llama:7b"}]})),
        "/v1/chat/completions" => stream(asked),
        _ => absent(),
    });
    check_found(
        &ollama,
        &[],
        &json!({"model": "llama:7b", "engine": "ollama", "version": "0.1.24"}),
    );
}

#[test]
fn a_server_behind_a_prefix_is_found_by_the_address_that_openais_clients_have() {
    let url = server(|asked| match asked.path.as_str() {
        "/gateway/v1/models" => list(),
        "/gateway/v1/chat/completions" => stream(asked),
        _ => absent(),
    });
    for end in ["/gateway", "/gateway/v1", "/gateway/v1/"] {
        check_found(
            &format!("http://{url}{end}"),
            &[],
            &json!({"model": "org/m", "tells_usage": true}),
        );
    }
    check_refused(&url, &["give the URL that /v1/models follows"]);
}

#[test]
fn a_key_is_asked_for_and_sent() {
    let url = server(|asked| match asked.path.as_str() {
        _ if asked.key.as_deref() != Some("Bearer sesame") => refused(401, "Invalid API key"),
        "/v1/models" => list(),
        "/v1/chat/completions" => stream(asked),
        _ => absent(),
    });
    check_refused(&url, &["401 for /v1/models: Invalid API key", "OPENAI_API_KEY"]);
    check_found(&url, &["--header", "Authorization=Bearer sesame"], &json!({"model": "org/m"}));
}

#[test]
fn a_server_without_chats_is_asked_for_completions() {
    let url = server(|asked| match asked.path.as_str() {
        "/v1/models" => list(),
        "/v1/completions" => stream(asked),
        "/v1/chat/completions" => refused(400, "the tokenizer has no chat template"),
        _ => absent(),
    });
    check_found(&url, &[], &json!({"route": "/v1/completions", "tells_usage": true}));
}

#[test]
fn a_server_that_knows_no_stream_options_is_asked_without_them() {
    let url = server(|asked| match asked.path.as_str() {
        "/v1/models" => list(),
        "/v1/chat/completions" if asked.body.get("stream_options").is_some() => {
            refused(422, "unknown field stream_options")
        }
        "/v1/chat/completions" => stream(asked),
        _ => absent(),
    });
    check_found(&url, &[], &json!({"route": "/v1/chat/completions", "tells_usage": false}));
}

#[test]
fn a_web_page_in_place_of_metrics_is_no_source_of_metrics() {
    let url = server(|asked| match asked.path.as_str() {
        "/v1/models" => list(),
        "/v1/chat/completions" => stream(asked),
        _ => (200, "text/html", "<!DOCTYPE html><html>Welcome</html>".to_owned()),
    });
    let done = explored(&url, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(!text(&done.stderr).contains("metrics"), "{}", text(&done.stderr));
}

#[test]
fn an_answer_that_is_not_streamed_is_refused() {
    let url = server(|asked| match asked.path.as_str() {
        "/v1/models" => list(),
        "/v1/chat/completions" => {
            json_answer(&json!({"choices": [{"message": {"content": "hi"}}]}))
        }
        _ => absent(),
    });
    check_refused(&url, &["/v1/chat/completions with one document", "--disable-stream"]);
}

#[test]
fn a_model_that_generates_nothing_and_a_limit_of_requests_are_told() {
    let url = server(|asked| match asked.path.as_str() {
        "/v1/models" => list(),
        _ => absent(),
    });
    check_refused(&url, &["the model org/m answers neither", "bench-embedding"]);
    let url = server(|asked| match asked.path.as_str() {
        "/v1/models" => list(),
        "/v1/chat/completions" => refused(429, "Rate limit reached"),
        _ => absent(),
    });
    check_refused(
        &url,
        &["the first request to /v1/chat/completions failed", "429", "Rate limit reached"],
    );
}
