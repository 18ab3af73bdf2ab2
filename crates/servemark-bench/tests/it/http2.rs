//! A complete run over HTTP/2, where streams share a connection and its reads.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use servemark::backends::BackendName;
use servemark::bytes::Bytes;
use servemark::client::{HttpVersion, TargetSpec};
use servemark::core::{ArrivalClock, Connection, NoProgress};
use servemark::metrics::Verdict;
use servemark::plan::{Layout, ServerSpec};
use servemark::tokenizer::TokenizerSpec;
use servemark::{RunContext, Scores, execute};
use tokio::net::TcpListener;

use crate::runs;

/// Starts a chat server on a thread that lives as long as the test process.
fn server() -> SocketAddr {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || runtime.block_on(serve(listener)));
    address
}

async fn serve(listener: TcpListener) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let connection = http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service_fn(chat));
        tokio::spawn(connection);
    }
}

async fn chat(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    assert_eq!(request.version(), Version::HTTP_2);
    let mut response = Response::new(Full::new(Bytes::from_static(CHAT.as_bytes())));
    response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
    Ok(response)
}

#[test]
fn the_audit_says_that_the_stamps_of_shared_connections_are_a_bound() {
    let mut plan = runs::plan(BackendName::VllmChat, &[]);
    let mut target = TargetSpec::new(format!("http://{}", server()).parse().unwrap());
    target.http_version = HttpVersion::Http2;
    plan.server = ServerSpec::At(target);
    plan.model.name = Some("m".to_owned());
    plan.model.tokenizer = Some(TokenizerSpec::new(runs::TOKENIZER));
    plan.scoring.layouts = vec![Layout::Native];
    let run = execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap();
    let mut measured = run.log.measured();
    assert!(measured.clone().all(|record| record.is_success() && record.text == "Hi there"));
    assert!(measured.all(|record| record.connection == Some(Connection::Reused)));
    let audit = &run.audit;
    assert_eq!(audit.reading.answered_by_kernel_bound, 20, "{audit}");
    assert_eq!(audit.reading.arrival_clock, Some(ArrivalClock::KernelBound));
    // On a machine that was too busy, the audit names other causes first.
    let is_of_the_lag = audit.verdict == Verdict::Clean;
    assert!(!is_of_the_lag || audit.to_string().contains("an upper bound"), "{audit}");
    let mut table = Vec::new();
    Scores::of_run(&run, &plan.scoring).write_tables(&mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("the kernel's stamps, an upper bound on HTTP/2"), "{table}");
}

const CHAT: &str = concat!(
    r#"data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"content":" there"},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
);
