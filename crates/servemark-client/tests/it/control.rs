//! The calls around a run.

use std::time::Duration;

use serde_json::json;
use servemark_client::{ClientError, ClientErrorKind, Credentials, ServerControl, Target};
use servemark_core::MonotonicClock;

use crate::support::{RawServer, document};

const SHORT: Duration = Duration::from_millis(50);

fn control(server: &RawServer) -> ServerControl {
    let credentials = Credentials::new().bearer("sk-hunter2").unwrap();
    let target = Target::new(&server.spec(), credentials).unwrap();
    ServerControl::new(target, MonotonicClock::start())
}

fn json_answer(body: &serde_json::Value) -> String {
    document("200 OK", "application/json", &body.to_string())
}

/// Starts a server that answers every request with the request's own text.
async fn mirror() -> RawServer {
    RawServer::start(|mut peer| async move {
        while let Some(request) = peer.request().await {
            peer.send(document("418 Teapot", "text/plain", &request)).await;
        }
    })
    .await
}

#[tokio::test]
async fn ready_at_once() {
    let server = RawServer::answering(json_answer(&json!({}))).await;
    let waited = control(&server).wait_ready("/v1/models", Duration::ZERO).await.unwrap();
    assert!(waited < Duration::from_secs(5));
}

#[tokio::test]
async fn ready_after_a_while() {
    let server = RawServer::start(|mut peer| async move {
        let mut answers = vec![json_answer(&json!({})), document("503 Loading", "text/plain", "")];
        while let (Some(_), Some(answer)) = (peer.request().await, answers.pop()) {
            peer.send(answer).await;
        }
    })
    .await;
    let mut failures = Vec::new();
    let control = control(&server);
    let on_failure = |error: &ClientError| failures.push(error.status());
    let waited = control.wait_ready_reporting("/v1/models", SHORT, on_failure).await.unwrap();
    assert_eq!(failures, [Some(503)]);
    assert!(waited >= SHORT, "the second try is at the deadline, not {waited:?}");
}

#[tokio::test]
async fn a_server_without_a_root_is_ready_when_it_says_so() {
    let server = RawServer::answering(document("404 Not Found", "text/plain", "")).await;
    control(&server).wait_ready("/", Duration::ZERO).await.unwrap();
    let error = control(&server).wait_ready("/v1/models", Duration::ZERO).await.unwrap_err();
    assert!(error.is_timeout());
}

#[tokio::test]
async fn never_ready() {
    let server = RawServer::answering(document("503 Loading", "text/plain", "loading")).await;
    let error = control(&server).wait_ready("/v1/models", SHORT).await.unwrap_err();
    assert!(error.is_timeout());
    let expected = format!("http://{} was not ready within 50ms", server.address());
    assert_eq!(error.to_string(), expected);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "the server answered 503 for /v1/models: loading");
}

#[tokio::test]
async fn models_are_listed() {
    let models = json!({"object": "list", "data": [{"id": "tiny", "owned_by": "us"}, {"id": "b"}]});
    let server = RawServer::answering(json_answer(&models)).await;
    assert_eq!(control(&server).models().await.unwrap(), ["tiny", "b"]);
}

#[tokio::test]
async fn what_sglang_says_of_itself() {
    let info = json!({
        "tokenizer_path": "org/tokenizer",
        "internal_states": [{"avg_spec_accept_length": 2.25}],
    });
    let server = RawServer::answering(json_answer(&info)).await;
    let control = control(&server);
    assert_eq!(control.model_info().await.unwrap().tokenizer(), Some("org/tokenizer"));
    let server_info = control.server_info().await.unwrap();
    assert_eq!((server_info.accept_length(), server_info.value()), (Some(2.25), &info));
    assert_eq!(server.accepted(), 1, "calls share a connection");
}

#[tokio::test]
async fn what_a_server_tells_prometheus_is_text_as_it_is() {
    let text = "vllm:prefix_cache_hits_total 3\n";
    let server = RawServer::answering(document("200 OK", "text/plain", text)).await;
    assert_eq!(control(&server).metrics().await.unwrap(), text);
    let asked = control(&mirror().await).metrics().await.unwrap_err();
    assert!(format!("{asked:?}").contains("GET /metrics"), "{asked:?}");
}

#[tokio::test]
async fn an_answer_that_is_not_json() {
    let server = RawServer::answering(document("200 OK", "text/html", "<html>")).await;
    let error = control(&server).models().await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Decode);
    let url = format!("http://{}/v1/models", server.address());
    let expected =
        format!("{url} did not answer with the JSON that was expected, but with a web page");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[tokio::test]
async fn switches_are_posts_with_the_key_and_errors_do_not_show_it() {
    let server = mirror().await;
    let control = control(&server);
    let flushed = control.flush_cache("/flush_cache?timeout=60.0").await.unwrap_err();
    let started = control.start_profile(Some(&json!({"num_steps": 5}))).await.unwrap_err();
    let stopped = control.stop_profile(Some(&json!({}))).await.unwrap_err();
    for (error, line, end) in [
        (&flushed, "POST /flush_cache?timeout=60.0 HTTP/1.1", "content-length: 0"),
        (&started, "POST /start_profile HTTP/1.1", "{\"num_steps\":5}"),
        (&stopped, "POST /stop_profile HTTP/1.1", "{}"),
    ] {
        assert_eq!(error.status(), Some(418));
        let said = error.to_string();
        assert!(said.contains(line) && said.ends_with(end), "{said}");
        assert!(said.contains("authorization: ***"), "{said}");
    }
    assert!(!format!("{control:?}").contains("hunter2"));
}

#[tokio::test]
async fn an_unauthorized_call_says_where_the_key_comes_from() {
    let server = RawServer::answering(document("401 Unauthorized", "text/plain", "no")).await;
    let error = control(&server).models().await.unwrap_err();
    assert_eq!(error.status(), Some(401));
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("OPENAI_API_KEY") && !shown.contains("hunter2"), "{shown}");
}
